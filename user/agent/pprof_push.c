/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/pprof_push.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/pprof_body.h"
#include "agent/resources.h"
#include "agent/export/exporter.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/data/vec.h"

/* A run of a window's samples that belong to one image of one process. */
struct run {
	__u32 first, cnt;
	char service[128];
	bool claimed; /* the process has chosen the name itself: */
	__u32 uid; /* then whose it is; else 0 */
};

struct pprof_push {
	struct exporter *exporter;
	struct resources *resources;
	char host[128];
	struct run *runs; /* of a window, sorted by service */
	__u32 run_cnt, run_cap;
};

struct pprof_push *pprof_push__new(struct exporter *exporter, struct resources *resources,
				   const char *host)
{
	struct pprof_push *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->exporter = exporter;
	p->resources = resources;
	snprintf(p->host, sizeof(p->host), "%s", host);
	return p;
}

void pprof_push__free(struct pprof_push *p)
{
	if (p)
		free(p->runs);
	free(p);
}

/* ---- services --------------------------------------------------------------------------------- */

static bool is_same_image(const struct stored_sample *a, const struct stored_sample *b)
{
	return a->pid == b->pid && a->image == b->image;
}

/* Pyroscope's names and labels are words; any other character becomes "_". */
static void put_word(char *buf, size_t size, const char *text)
{
	size_t len = 0;

	for (; *text && len + 1 < size; text++)
		buf[len++] = isalnum((unsigned char)*text) || strchr("-_.:/@", *text) ? *text : '_';
	buf[len] = '\0';
}

/* Whoever claims a service's name is merged only with processes of the same user that do, too. */
static void name_run(const struct pprof_push *p, struct run *r, const struct stored_sample *s)
{
	uid_t uid;

	put_word(r->service, sizeof(r->service),
		 resources__service(p->resources, s->pid, s->image, &uid, &r->claimed));
	r->uid = r->claimed ? uid : 0;
}

static int list_runs(struct pprof_push *p, const struct window *w)
{
	p->run_cnt = 0;
	for (__u32 i = 0; i < w->samples.cnt; i++) {
		if (i && is_same_image(&w->samples.list[i], &w->samples.list[i - 1])) {
			p->runs[p->run_cnt - 1].cnt++;
			continue;
		}
		if (vec_reserve(p->runs, p->run_cap, p->run_cnt + 1))
			return -ENOMEM;
		p->runs[p->run_cnt] = (struct run){ .first = i, .cnt = 1 };
		name_run(p, &p->runs[p->run_cnt], &w->samples.list[i]);
		p->run_cnt++;
	}
	return 0;
}

static int by_service(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	int order = strcmp(x->service, y->service);

	if (!order)
		order = (x->claimed > y->claimed) - (x->claimed < y->claimed);
	if (!order)
		order = (x->uid > y->uid) - (x->uid < y->uid);
	return order ? order : (x->first > y->first) - (x->first < y->first);
}

/* ---- bodies ----------------------------------------------------------------------------------- */

static void escape(char *buf, size_t size, const char *text)
{
	size_t len = 0;

	for (; *text && len + 4 < size; text++) {
		if (isalnum((unsigned char)*text) || strchr("-_.~", *text))
			buf[len++] = *text;
		else
			len += (size_t)sprintf(buf + len, "%%%02X", (unsigned char)*text);
	}
	buf[len] = '\0';
}

static bool is_same_service(const struct run *a, const struct run *b)
{
	return !strcmp(a->service, b->service) && a->claimed == b->claimed && a->uid == b->uid;
}

static int push_body(struct pprof_push *p, const struct window *w, const struct run *run,
		     __u64 samples, const struct pprof_body *body)
{
	struct export_batch batch = {
		.kind = EXPORT_PPROF,
		.from_unix_ns = w->from_ns + (__u64)w->wall_offset_ns,
		.to_unix_ns = w->to_ns + (__u64)w->wall_offset_ns,
		.samples = samples,
		.body = body->data,
		.len = body->len,
	};
	char host[128], user[24] = "", name[320], escaped[1024], query[1280];

	if (getrandom(batch.id, sizeof(batch.id), 0) != sizeof(batch.id))
		return -EIO;
	put_word(host, sizeof(host), p->host);
	if (run->claimed)
		snprintf(user, sizeof(user), ",uid=%u", run->uid);
	snprintf(name, sizeof(name), "%s{host=%s%s}", run->service, host, user);
	escape(escaped, sizeof(escaped), name);
	snprintf(query, sizeof(query), "name=%s&from=%llu&until=%llu&format=pprof&spyName=krait",
		 escaped, (unsigned long long)(batch.from_unix_ns / NS_PER_SEC),
		 (unsigned long long)((batch.to_unix_ns + NS_PER_SEC - 1) / NS_PER_SEC));
	batch.query = query;
	return exporter__push(p->exporter, &batch);
}

static void count_run(struct profile *profile, const struct window *w, const struct run *r)
{
	for (__u32 i = r->first; i < r->first + r->cnt; i++)
		profile__count(profile, w->samples.list[i].event, w->samples.list[i].node,
			       w->samples.list[i].weight);
}

/* The runs from first to end belong to one service, by the claims of one user at most. */
static int push_service(struct pprof_push *p, const struct window *w, __u32 first, __u32 end,
			__u64 samples)
{
	struct profile *profile = pprof_profile_new(w->profile);
	struct pprof_body body;
	int err = profile ? 0 : -ENOMEM;

	for (__u32 i = first; i < end && !err; i++)
		count_run(profile, w, &p->runs[i]);
	for (unsigned i = 0; !err && i < profile->event_cnt; i++) {
		struct counts *c = profile__counts(profile, i);

		c->accounts = (struct accounts){ .interrupts = c->samples,
						 .reasons[REASON_PYTHON] = c->samples };
	}
	if (!err)
		err = pprof_body_make(&body, profile, p->resources, w->from_ns, w->to_ns,
				      w->wall_offset_ns);
	profile__free(profile);
	if (err)
		return err;
	err = push_body(p, w, &p->runs[first], samples, &body);
	free(body.data);
	return err;
}

static void say_lost(__u64 samples, int err)
{
	log_warn(NULL, "%llu samples of a window could not be written as pprof and are lost: %s",
		 (unsigned long long)samples, strerror(-err));
}

static void on_window(void *ctx, const struct window *w)
{
	struct pprof_push *p = ctx;
	int err = list_runs(p, w);
	__u32 end;

	if (err) {
		say_lost(w->samples.cnt, err);
		return;
	}
	if (p->run_cnt)
		qsort(p->runs, p->run_cnt, sizeof(*p->runs), by_service);
	for (__u32 i = 0; i < p->run_cnt; i = end) {
		__u64 samples = 0;

		for (end = i; end < p->run_cnt && is_same_service(&p->runs[i], &p->runs[end]);
		     end++)
			samples += p->runs[end].cnt;
		err = push_service(p, w, i, end, samples);
		if (err)
			say_lost(samples, err);
	}
}

struct agent_sink pprof_push__sink(struct pprof_push *p)
{
	return (struct agent_sink){ .name = "pprof push", .window = on_window, .ctx = p };
}
