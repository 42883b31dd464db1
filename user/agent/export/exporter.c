/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/exporter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/export/export_protocol.h"
#include "agent/export/export_queue.h"
#include "agent/export/setup.h"
#include "agent/export/spool_place.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/memory_file.h"
#include "base/system/resident.h"
#include "base/worker/channel.h"
#include "base/worker/worker.h"

/* ---- export destination ------------------------------------------------------------------------ */

/*
 * A copy of a destination's configuration that owns its texts, so that it
 * outlives the options it came from.
 */

static char *copy_text(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;

	*failed |= text && !copy;
	return copy;
}

/* *failed is set if memory ran out; the result can be freed all the same. */
static void export_destination_copy(struct exporter_destination *to,
				    const struct exporter_destination *from, bool *failed)
{
	char **headers = calloc(from->header_cnt + 1, sizeof(*headers));

	*to = *from;
	to->url = copy_text(from->url, failed);
	to->token_file = copy_text(from->token_file, failed);
	to->ca_file = copy_text(from->ca_file, failed);
	to->cert_file = copy_text(from->cert_file, failed);
	to->key_file = copy_text(from->key_file, failed);
	to->proxy = copy_text(from->proxy, failed);
	*failed |= !headers;
	for (unsigned i = 0; headers && i < from->header_cnt; i++)
		headers[i] = copy_text(from->headers[i], failed);
	to->headers = (const char *const *)headers;
}

/* All zero: does nothing. */
static void export_destination_free(struct exporter_destination *d)
{
	const char *const texts[] = { d->url,	    d->token_file, d->ca_file,
				      d->cert_file, d->key_file,   d->proxy };

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free((void *)texts[i]);
	for (unsigned i = 0; d->headers && i < d->header_cnt; i++)
		free((void *)d->headers[i]);
	free((void *)d->headers);
}

/* ---- export totals ----------------------------------------------------------------------------- */

/*
 * Adds up what successive workers have counted.
 */

static void add_counts(struct exporter_destination_stats *total,
		       const struct exporter_destination_stats *d)
{
	total->delivered += d->delivered;
	total->delivered_samples += d->delivered_samples;
	total->delivered_bytes += d->delivered_bytes;
	total->rejected += d->rejected;
	total->rejected_samples += d->rejected_samples;
	total->partial_rejected += d->partial_rejected;
	total->dropped += d->dropped;
	total->dropped_samples += d->dropped_samples;
	total->tries += d->tries;
	total->failed_tries += d->failed_tries;
	if (d->last_success_unix_ns)
		total->last_success_unix_ns = d->last_success_unix_ns;
}

/* Takes a destination's current state. */
static void take_state(struct exporter_destination_stats *ret,
		       const struct exporter_destination_stats *d)
{
	ret->pending = d->pending;
	ret->pending_samples = d->pending_samples;
	ret->pending_bytes = d->pending_bytes;
	ret->in_memory = d->in_memory;
	ret->in_memory_samples = d->in_memory_samples;
	ret->oldest_pending_unix_ns = d->oldest_pending_unix_ns;
	ret->wait_ms = d->wait_ms;
	ret->last_status = d->last_status;
	memcpy(ret->last_error, d->last_error, sizeof(ret->last_error));
	ret->last_error[sizeof(ret->last_error) - 1] = '\0';
}

/* Adds what only grows; takes states from last, except its counts of losses. */
static void export_totals_add(struct exporter_stats *total, const struct exporter_stats *last)
{
	total->spool_torn += last->spool_torn;
	total->spool_spoilt += last->spool_spoilt;
	total->spool_errors += last->spool_errors;
	total->worker_cpu_ns += last->worker_cpu_ns;
	if (last->destination_cnt) {
		total->spool_bytes = last->spool_bytes;
		total->spool_memory_bytes = last->spool_memory_bytes;
		total->spool_disk_full = last->spool_disk_full;
	}
	for (unsigned i = 0; i < last->destination_cnt; i++) {
		add_counts(&total->destinations[i], &last->destinations[i]);
		take_state(&total->destinations[i], &last->destinations[i]);
	}
	if (last->destination_cnt > total->destination_cnt)
		total->destination_cnt = last->destination_cnt;
}

/* Merges the worker's reports into stats that krait has counted. */
static void export_totals_merge(struct exporter_stats *ret, const struct exporter_stats *before,
				const struct exporter_stats *said)
{
	export_totals_add(ret, before);
	export_totals_add(ret, said);
}

/* ---- exporter ---------------------------------------------------------------------------------- */

#define MODULE "export"
/* How long to wait for a worker to report that libcurl is missing. */
#define READY_NS (20 * NS_PER_SEC)
/*
 * Pause after a worker's first end, and the most that it doubles to while each worker lives no
 * longer than that.
 */
#define RESTART_NS (2 * NS_PER_SEC)
#define RESTART_MAX_NS (64 * NS_PER_SEC)
#define LOOK_EVERY_NS (10 * NS_PER_SEC)

struct exporter {
	struct exporter_config config; /* a copy that owns its texts */
	struct exporter_destination destinations[EXPORT_DESTINATIONS_MAX];
	struct setup setup;
	struct bytes packed; /* what the worker was last told */
	struct spool_files files;
	int lock;
	struct worker *worker;
	bool is_ready;
	__s32 ready_err;
	__u64 started_ns, looked_ns, ended_ns, restart_ns /* after ended_ns */;
	struct export_queue queue;
	__u64 next_number; /* of the next batch */
	struct exporter_stats own; /* counted by krait */
	struct exporter_stats said; /* reported by this worker */
	struct exporter_stats before; /* reported by earlier workers */
	bool is_last; /* its report has come */
};

/* ---- batches ---------------------------------------------------------------------------------- */

static void send_queued(struct exporter *e)
{
	if (e->is_ready)
		export_queue_send(&e->queue, worker__fd(e->worker));
}

int exporter__push(struct exporter *e, const struct export_batch *b)
{
	__u64 dropped = e->queue.dropped;
	int err = 0;

	e->own.pushed++;
	e->own.pushed_samples += b->samples;
	if (b->len > EXPORT_BODY_MAX)
		err = -EMSGSIZE;
	else if (!b->len || b->kind >= EXPORT_KIND_CNT ||
		 (b->query && strlen(b->query) > EXPORT_QUERY_MAX))
		err = -EINVAL;
	if (err || export_queue_add(&e->queue, b, ++e->next_number)) {
		e->own.refused++;
		e->own.refused_samples += b->samples;
		return err;
	}
	if (e->queue.dropped && !dropped)
		log_warn(MODULE, "the exporter cannot keep up: batches are lost");
	send_queued(e);
	return 0;
}

/* ---- the worker -------------------------------------------------------------------------------- */

static int send_order(struct exporter *e, const struct export_order_message *m, const int *fds,
		      unsigned cnt)
{
	return channel_send(worker__fd(e->worker), m, sizeof(*m), fds, cnt);
}

static int send_setup(struct exporter *e)
{
	const struct export_order_message m = { .order = EXPORT_SETUP };
	cleanup_close int fd = memory_file("krait-setup", e->packed.data, e->packed.len);

	return fd < 0 ? fd : send_order(e, &m, &fd, 1);
}

static int send_files(struct exporter *e)
{
	bool on_disk = e->files.disk[0] >= 0;
	const int *groups[] = { e->files.disk, e->files.memory };
	struct export_order_message m = { .order = EXPORT_FILE };
	int err = 0;

	for (unsigned g = on_disk ? 0 : 1; g < 2; g++) {
		for (unsigned i = 0; i < SPOOL_SEGMENTS && !err; i += CHANNEL_FDS_MAX) {
			m.number = g * SPOOL_SEGMENTS + i;
			err = send_order(e, &m, groups[g] + i, CHANNEL_FDS_MAX);
		}
	}
	m.number = 2 * SPOOL_SEGMENTS;
	return err ? err : send_order(e, &m, &e->files.cursors, 1);
}

static int start_worker(struct exporter *e, struct error *err)
{
	int r;

	e->started_ns = clock_monotonic_ns();
	e->is_ready = false;
	e->ready_err = 0;
	e->worker = worker__start("exporter", err);
	if (!e->worker)
		return -EAGAIN;
	e->own.worker_starts++;
	r = send_setup(e);
	if (!r)
		r = send_files(e);
	return r ? error_set(err, -r, EXIT_CODE_KERNEL, "cannot set up the exporter: %s",
			     strerror(-r)) :
		   0;
}

static void lose_worker(struct exporter *e)
{
	e->ended_ns = clock_monotonic_ns();
	if (e->ended_ns - e->started_ns > RESTART_MAX_NS || !e->restart_ns)
		e->restart_ns = RESTART_NS;
	else if (e->restart_ns < RESTART_MAX_NS)
		e->restart_ns *= 2;
	worker__abandon(e->worker);
	e->worker = NULL;
	e->is_ready = false;
	export_totals_add(&e->before, &e->said);
	memset(&e->said, 0, sizeof(e->said));
	export_queue_unsend(&e->queue);
}

static void take_word(struct exporter *e, const struct export_word_message *m)
{
	switch (m->word) {
	case EXPORT_READY:
		e->is_ready = !m->err;
		e->ready_err = m->err;
		break;
	case EXPORT_TAKEN:
		export_queue_taken(&e->queue, m->number);
		break;
	case EXPORT_REPORT:
		e->said = m->stats;
		if (e->said.destination_cnt > EXPORT_DESTINATIONS_MAX)
			e->said.destination_cnt = 0;
		e->is_last = m->last;
		break;
	case EXPORT_SAID:
		log_line(m->level <= LOG_LEVEL_DEBUG ? m->level : LOG_LEVEL_ERROR, MODULE, "%.*s",
			 (int)sizeof(m->text) - 1, m->text);
		break;
	}
}

/* Takes everything it has said so far; waits for the first message at most that long. */
static void listen_to(struct exporter *e, int timeout_ms)
{
	struct export_word_message m;

	for (unsigned i = 0; i < 256 && e->worker; i++) {
		int err = channel_take(worker__fd(e->worker), &m, sizeof(m), NULL,
				       i ? 0 : timeout_ms);

		if (err == -ETIMEDOUT)
			break;
		if (err)
			lose_worker(e);
		else
			take_word(e, &m);
	}
}

static int wait_until_ready(struct exporter *e, struct error *err)
{
	__u64 end_ns = clock_monotonic_ns() + READY_NS;

	while (e->worker && !e->is_ready && !e->ready_err && clock_monotonic_ns() < end_ns)
		listen_to(e, 100);
	if (e->is_ready)
		return 0;
	if (e->ready_err == -ENOSYS)
		return error_set(err, ENOSYS, EXIT_CODE_KERNEL,
				 "cannot send profiles without libcurl.so.4 (Debian: libcurl4)");
	return error_set(err, e->ready_err ? -e->ready_err : EIO, EXIT_CODE_KERNEL,
			 "the exporter does not start: %s",
			 e->ready_err ? strerror(-e->ready_err) :
			 e->worker    ? "it does not answer" :
					"it has ended");
}

/* ---- life -------------------------------------------------------------------------------------- */

/* Files named in the configuration are read again later, so it must be kept. */
static int keep_config(struct exporter *e, const struct exporter_config *config, struct error *err)
{
	bool failed = false;

	e->config = *config;
	e->config.destinations = e->destinations;
	for (unsigned i = 0; i < config->destination_cnt; i++)
		export_destination_copy(&e->destinations[i], &config->destinations[i], &failed);
	e->queue.limit = e->setup.memory_limit;
	setup_pack(&e->setup, &e->packed);
	if (failed || e->packed.failed)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	return 0;
}

static void free_exporter(struct exporter *e)
{
	worker__abandon(e->worker);
	export_queue_free(&e->queue);
	spool_place_close(&e->files, e->lock);
	setup_free(&e->setup);
	for (unsigned i = 0; i < EXPORT_DESTINATIONS_MAX; i++)
		export_destination_free(&e->destinations[i]);
	if (e->packed.data)
		explicit_bzero(e->packed.data, e->packed.len);
	bytes_free(&e->packed);
	free(e);
}

struct exporter *exporter__start(const struct exporter_config *config, struct error *err)
{
	struct exporter *e = calloc(1, sizeof(*e));
	int r;

	if (!e) {
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	e->lock = -1;
	memset(&e->files, 0xff, sizeof(e->files));
	e->looked_ns = clock_monotonic_ns();
	r = setup_make(&e->setup, config, err);
	if (!r)
		r = keep_config(e, config, err);
	if (!r)
		r = spool_place_open(&e->files, &e->lock, config->spool_dir, err);
	if (!r)
		r = start_worker(e, err);
	if (!r)
		r = wait_until_ready(e, err);
	if (!r)
		return e;
	free_exporter(e);
	return NULL;
}

/*
 * Tokens and certificates may be replaced while krait runs; one that cannot be read counts as
 * unchanged.
 */
void exporter__reload(struct exporter *e)
{
	struct bytes packed = { 0 };
	struct setup setup;
	struct error err;

	e->looked_ns = clock_monotonic_ns();
	if (setup_make(&setup, &e->config, &err)) {
		log_warn(MODULE, "%s; what was read before stays in use", err.text);
		return;
	}
	setup_pack(&setup, &packed);
	if (!packed.failed &&
	    (packed.len != e->packed.len || memcmp(packed.data, e->packed.data, packed.len) != 0)) {
		struct bytes old = e->packed;
		struct setup old_setup = e->setup;

		e->packed = packed;
		e->setup = setup;
		packed = old;
		setup = old_setup;
		if (e->worker && !send_setup(e))
			log_info(MODULE,
				 "tokens or certificates have changed; krait uses the new ones");
	}
	setup_free(&setup);
	if (packed.data)
		explicit_bzero(packed.data, packed.len);
	bytes_free(&packed);
}

static void restart(struct exporter *e, __u64 now_ns)
{
	struct error err;

	if (now_ns - e->ended_ns < e->restart_ns)
		return;
	if (start_worker(e, &err)) {
		log_warn(MODULE, "%s", err.text);
		lose_worker(e);
	} else {
		log_warn(MODULE, "the exporter has ended, and krait restarts it");
	}
}

void exporter__step(struct exporter *e)
{
	__u64 now_ns = clock_monotonic_ns();

	listen_to(e, 0);
	if (!e->worker)
		restart(e, now_ns);
	if (now_ns - e->looked_ns >= LOOK_EVERY_NS)
		exporter__reload(e);
	send_queued(e);
}

void exporter__stats(const struct exporter *e, struct exporter_stats *ret)
{
	*ret = e->own;
	ret->queued = e->queue.cnt;
	ret->queue_dropped = e->queue.dropped;
	ret->queue_dropped_samples = e->queue.dropped_samples;
	ret->spool_on_disk = e->files.disk[0] >= 0;
	ret->spool_limit = ret->spool_on_disk ? e->setup.disk_limit : e->setup.memory_limit;
	if (e->worker)
		ret->worker_rss_bytes = resident_bytes(worker__pid(e->worker));
	export_totals_merge(ret, &e->before, &e->said);
	ret->destination_cnt = e->setup.destination_cnt;
	for (unsigned i = 0; i < ret->destination_cnt; i++)
		snprintf(ret->destinations[i].name, sizeof(ret->destinations[i].name), "%s",
			 e->setup.destinations[i].name);
}

/* Reports what will never be sent, because it was in memory. */
static void say_what_is_left(const struct exporter_stats *s)
{
	for (unsigned i = 0; i < s->destination_cnt; i++) {
		const struct exporter_destination_stats *d = &s->destinations[i];

		if (d->pending > d->in_memory)
			log_info(MODULE, "%s: %" PRIu64 " batches stay in the spool", d->name,
				 (uint64_t)(d->pending - d->in_memory));
		if (d->in_memory)
			log_warn(MODULE,
				 "%s: %" PRIu64 " batches with %" PRIu64
				 " samples could not be sent and are lost (%s)",
				 d->name, (uint64_t)d->in_memory, (uint64_t)d->in_memory_samples,
				 s->spool_on_disk ? "the spool's disk was full" :
						    "a spool would keep them");
	}
	if (s->queued)
		log_warn(MODULE, "%" PRIu64 " batches never reached the exporter and are lost",
			 (uint64_t)s->queued);
}

static int ms_until(__u64 end_ns)
{
	__u64 now_ns = clock_monotonic_ns();
	__u64 ms = now_ns < end_ns ? (end_ns - now_ns) / 1000000 : 0;

	return ms > 100 ? 100 : (int)ms;
}

void exporter__stop(struct exporter *e, __u64 timeout_ns, struct exporter_stats *ret)
{
	struct export_order_message m = { .order = EXPORT_STOP };
	__u64 end_ns = clock_monotonic_ns() + timeout_ns;
	struct exporter_stats stats;

	if (!e)
		return;
	while (e->worker && e->queue.cnt && ms_until(end_ns)) {
		send_queued(e);
		listen_to(e, ms_until(end_ns));
	}
	/* Its last report may take a little longer than its last attempt. */
	m.timeout_ns = end_ns > clock_monotonic_ns() ? end_ns - clock_monotonic_ns() : 0;
	end_ns += 2 * NS_PER_SEC;
	if (e->worker && send_order(e, &m, NULL, 0))
		lose_worker(e);
	e->is_last = false;
	while (e->worker && !e->is_last && ms_until(end_ns))
		listen_to(e, ms_until(end_ns));
	exporter__stats(e, &stats);
	say_what_is_left(&stats);
	if (ret)
		*ret = stats;
	free_exporter(e);
}
