/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/otlp_sink.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/resources.h"
#include "output/otlp/otlp.h"
#include "agent/export/exporter.h"
#include "profile/window.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/text/metrics_text.h"

/* ---- window facts ------------------------------------------------------------------------------ */

/*
 * Facts about a whole window besides its samples, as attributes of its profiles:
 * its number, how all interrupts of the host ended in it, and how the agent sampled.
 */

#define WINDOW_FACTS_MAX 96
#define WINDOW_FACT_KEY_MAX 64

/* Must outlive the use of the attributes. */
struct window_facts {
	struct otlp_attribute list[WINDOW_FACTS_MAX];
	char keys[WINDOW_FACTS_MAX][WINDOW_FACT_KEY_MAX];
	unsigned cnt;
};

static void put(struct window_facts *f, const char *event, const char *outcome, const char *name,
		__u64 number)
{
	char *key = f->keys[f->cnt];

	if (f->cnt == WINDOW_FACTS_MAX)
		return;
	snprintf(key, WINDOW_FACT_KEY_MAX, "krait.window.%s%s%s%s%s", event, *event ? "." : "",
		 outcome, *name ? "." : "", name);
	for (char *c = key; *c; c++) {
		if (isspace((unsigned char)*c))
			*c = '_';
	}
	f->list[f->cnt++] =
		(struct otlp_attribute){ .key = key, .kind = OTLP_NUMBER, .number = (__s64)number };
}

/* Only reasons that occurred; the totals of outcomes always. */
static void put_accounts(struct window_facts *f, const char *event, const struct accounts *a)
{
	put(f, event, "interrupts", "", a->interrupts);
	for (enum outcome o = 0; o < OUTCOME_CNT; o++)
		put(f, event, outcome_name(o), "", accounts_total(a, o));
	for_each_reason(r) {
		if (a->reasons[r] && r != REASON_PYTHON)
			put(f, event, outcome_name(reason_outcome(r)), reason_name(r),
			    a->reasons[r]);
	}
	if (a->ticks_missed)
		put(f, event, "ticks", "missed", a->ticks_missed);
}

static void put_price(struct window_facts *f, const struct window_price *p)
{
	put(f, "", "rate", "", p->frequency);
	put(f, "", "frames_max", "", p->frames_max);
	put(f, "", "natives", "", p->natives);
	if (p->wait_ns)
		put(f, "", "wait_ns", "", p->wait_ns);
	put(f, "budget", "level", "", p->level);
	if (p->stalled)
		put(f, "budget", "stalled", "", 1);
	if (p->look_delay_ns)
		put(f, "budget", "look_delay_ns", "", p->look_delay_ns);
	if (p->starved_ns)
		put(f, "budget", "starved_ns", "", p->starved_ns);
	if (p->unseen)
		put(f, "processes", "unseen", "", p->unseen);
	if (p->names_put_off)
		put(f, "names", "put_off", "", p->names_put_off);
	if (p->names_left_out)
		put(f, "names", "left_out", "", p->names_left_out);
	put(f, "own", "cpu_ns", "", p->cpu_ns);
	put(f, "own", "kernel_ns", "", p->kernel_ns);
	put(f, "own", "server_ns", "", p->server_ns);
	put(f, "own", "rss_bytes", "", p->rss_bytes);
}

static void window_facts_fill(struct window_facts *f, const struct window *w)
{
	memset(f, 0, sizeof(*f));
	put(f, "", "number", "", w->number);
	put_price(f, &w->price);
	if (w->samples.dropped)
		put(f, "", "samples", "dropped", w->samples.dropped);
	for (unsigned i = 0; i < w->profile->event_cnt && i < KRAIT_MAX_EVENTS; i++) {
		const struct event_spec *event = &profile__counts(w->profile, i)->event;

		put_accounts(f, event_is_off_cpu(event) ? "off_cpu" : "cpu", &w->accounts[i]);
	}
}

/* ---- otlp sink --------------------------------------------------------------------------------- */

/* Collectors accept 4 MiB over gRPC. */
#define BODY_MAX (2500U << 10)

struct otlp_sink_stats {
	__u64 bodies, bytes, samples;
	__u64 failed, failed_samples; /* could not be encoded, or written */
};

struct otlp_sink {
	struct exporter *exporter;
	int dir; /* -1: none */
	struct resources *resources;
	struct window_facts facts; /* of the last window */
	struct otlp_sink_stats stats;
};

/* ---- files ------------------------------------------------------------------------------------ */

static int write_all(int fd, const __u8 *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * The file gets its name when it is complete. Anyone who may write to the folder may have put
 * something under that name.
 */
static int write_file(const struct otlp_sink *o, const struct window *w, unsigned part,
		      const struct otlp_body *body)
{
	char name[64], unfinished[72];
	cleanup_close int fd = -1;
	int err;

	snprintf(name, sizeof(name), "window-%08llu-%u.otlp", (unsigned long long)w->number, part);
	snprintf(unfinished, sizeof(unfinished), ".%s.new", name);
	if (unlinkat(o->dir, unfinished, 0) && errno != ENOENT)
		return -errno;
	fd = openat(o->dir, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, body->bytes.data, body->bytes.len);
	if (!err && renameat(o->dir, unfinished, o->dir, name))
		err = -errno;
	if (err)
		unlinkat(o->dir, unfinished, 0);
	return err;
}

/* ---- windows ---------------------------------------------------------------------------------- */

static struct otlp_attributes resource_of(void *ctx, int pid, __u32 image)
{
	struct otlp_sink *o = ctx;

	return resources__of(o->resources, pid, image);
}

static void take_failure(struct otlp_sink *o, __u64 samples, int err)
{
	o->stats.failed++;
	o->stats.failed_samples += samples;
	log_warn(NULL,
		 "%llu samples of a window could not be written as OTLP and are "
		 "lost: %s",
		 (unsigned long long)samples, strerror(-err));
}

static int push(struct otlp_sink *o, const struct window *w, const struct otlp_body *body)
{
	struct export_batch batch = {
		.kind = EXPORT_OTLP_PROFILES,
		.from_unix_ns = w->from_ns + (__u64)w->wall_offset_ns,
		.to_unix_ns = w->to_ns + (__u64)w->wall_offset_ns,
		.samples = body->samples,
		.body = body->bytes.data,
		.len = body->bytes.len,
	};

	memcpy(batch.id, body->id, sizeof(batch.id));
	return exporter__push(o->exporter, &batch);
}

static bool build_id_of(void *ctx, const char *file, char *buf, size_t size)
{
	const struct otlp_sink *o = ctx;

	return resources__build_id(o->resources, file, buf, size);
}

static void put_body(struct otlp_sink *o, const struct window *w, unsigned part,
		     const struct otlp_body *body)
{
	int err = o->dir >= 0 ? write_file(o, w, part, body) : 0;

	if (err)
		log_warn(NULL, "a window could not be written: %s", strerror(-err));
	if (o->exporter && push(o, w, body))
		err = -EMSGSIZE;
	if (err) {
		take_failure(o, body->samples, err);
		return;
	}
	o->stats.bodies++;
	o->stats.bytes += body->bytes.len;
	o->stats.samples += body->samples;
}

/* So a missing window means that it was lost on its way, not that there was nothing in it. */
static void put_empty(struct otlp_sink *o, const struct window *w,
		      const struct otlp_options *options)
{
	const struct otlp_attributes own = resources__own(o->resources);
	struct otlp_body body;
	int err = otlp_encode_empty(&body, w, &own, options);

	if (err)
		take_failure(o, 0, err);
	else
		put_body(o, w, 0, &body);
	if (!err)
		bytes_free(&body.bytes);
}

static void on_window(void *ctx, const struct window *w)
{
	struct otlp_sink *o = ctx;
	struct otlp_options options = {
		.resource = resource_of,
		.build_id = build_id_of,
		.resource_ctx = o,
		.bytes_max = BODY_MAX,
	};
	__u32 at = 0;

	if (!o->exporter && o->dir < 0)
		return;
	window_facts_fill(&o->facts, w);
	options.profile = (struct otlp_attributes){ o->facts.list, o->facts.cnt };
	if (!w->samples.cnt)
		put_empty(o, w, &options);
	for (unsigned part = 0; at < w->samples.cnt; part++) {
		struct otlp_body body;
		int err = otlp_encode(&body, w, &at, &options);

		if (err) {
			take_failure(o, w->samples.cnt - at, err);
			return;
		}
		put_body(o, w, part, &body);
		bytes_free(&body.bytes);
	}
}

/* ---- life ------------------------------------------------------------------------------------- */

static int open_dir(struct otlp_sink *o, const char *dir, struct error *err)
{
	if (mkdir(dir, 0700) && errno != EEXIST)
		return error_set(err, errno, EXIT_CODE_OUTPUT, "cannot make %s: %s", dir,
				 strerror(errno));
	o->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->dir < 0)
		return error_set(err, errno, EXIT_CODE_OUTPUT, "cannot open %s: %s", dir,
				 strerror(errno));
	return 0;
}

struct otlp_sink *otlp_sink__new(const struct otlp_sink_config *config, struct error *err)
{
	struct otlp_sink *o = calloc(1, sizeof(*o));

	if (!o) {
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	o->exporter = config->exporter;
	o->resources = config->resources;
	o->dir = -1;
	if (config->dir && open_dir(o, config->dir, err)) {
		otlp_sink__free(o);
		return NULL;
	}
	return o;
}

void otlp_sink__free(struct otlp_sink *o)
{
	if (!o)
		return;
	if (o->dir >= 0)
		close(o->dir);
	free(o);
}

void otlp_sink__set_exporter(struct otlp_sink *o, struct exporter *exporter)
{
	o->exporter = exporter;
}

struct agent_sink otlp_sink__sink(struct otlp_sink *o)
{
	return (struct agent_sink){ .name = "otlp", .window = on_window, .ctx = o };
}

void otlp_sink__metrics(const struct otlp_sink *o, FILE *out)
{
	metrics_number(out, "krait_otlp_bodies_total", "counter",
		       "OTLP bodies that were made of windows.", o->stats.bodies);
	metrics_number(out, "krait_otlp_bytes_total", "counter",
		       "Bytes of OTLP bodies before they are compressed.", o->stats.bytes);
	metrics_number(out, "krait_otlp_samples_total", "counter", "Samples in OTLP bodies.",
		       o->stats.samples);
	metrics_number(out, "krait_otlp_failed_total", "counter",
		       "OTLP bodies that could not be made, or written to --otlp-dir.",
		       o->stats.failed);
	metrics_number(out, "krait_otlp_failed_samples_total", "counter",
		       "Samples of OTLP bodies that could not be made or written: they are lost.",
		       o->stats.failed_samples);
}
