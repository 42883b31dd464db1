/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/pprof_pull.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pprof_body.h"
#include "agent/resources.h"
#include "agent/serve/server.h"
#include "base/system/clock.h"

#define DEFAULT_SECONDS 30U
/* Time for the samples of the last moment to arrive. */
#define GRACE_NS (NS_PER_SEC / 5)

struct question {
	__u64 id;
	struct profile *profile; /* shares the session's dictionary; NULL: free */
	__u64 from_ns, to_ns;
	int pid; /* 0: all */
	char service[128]; /* "": all */
};

struct pprof_pull {
	struct server *server;
	struct resources *resources;
	const struct profile *profile; /* the session's */
	struct question list[PPROF_PULL_PLACES];
	unsigned waiting;
};

struct pprof_pull *pprof_pull__new(struct server *server, struct resources *resources)
{
	struct pprof_pull *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->server = server;
	p->resources = resources;
	return p;
}

void pprof_pull__connect(struct pprof_pull *p, const struct profile *profile)
{
	p->profile = profile;
}

static void answer_text(struct pprof_pull *p, __u64 id, unsigned status, const char *text)
{
	(void)!server__answer(p->server, id, status, "text/plain; charset=utf-8", text,
			      strlen(text));
}

static void forget(struct pprof_pull *p, struct question *q)
{
	profile__free(q->profile);
	*q = (struct question){ 0 };
	p->waiting--;
}

void pprof_pull__free(struct pprof_pull *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < PPROF_PULL_PLACES; i++) {
		if (!p->list[i].profile)
			continue;
		answer_text(p, p->list[i].id, 503, "krait agent is ending\n");
		forget(p, &p->list[i]);
	}
	free(p);
}

/* ---- questions -------------------------------------------------------------------------------- */

/* A number from 1 to most; if absent, the default. 0: invalid. */
static unsigned number_of(const char *query, const char *name, unsigned usual, unsigned most)
{
	char text[16], *end;
	int len = server_query_value(query, name, text, sizeof(text));
	unsigned long value;

	if (len == -ENOENT)
		return usual;
	if (len <= 0)
		return 0;
	value = strtoul(text, &end, 10);
	return *end || *text == '-' || value > most ? 0 : (unsigned)value;
}

/* False: the query is invalid. */
static bool parse(struct question *q, const char *query, __u64 now_ns)
{
	unsigned seconds = number_of(query, "seconds", DEFAULT_SECONDS, PPROF_PULL_SECONDS_MAX);
	unsigned pid = number_of(query, "pid", 1, 4194304);
	int len = server_query_value(query, "service", q->service, sizeof(q->service));

	q->from_ns = now_ns;
	q->to_ns = now_ns + seconds * NS_PER_SEC;
	q->pid = strstr(query, "pid=") ? (int)pid : 0;
	if (len == -ENOENT)
		q->service[0] = '\0';
	return seconds && pid && (len == -ENOENT || len > 0);
}

/* ---- answers ---------------------------------------------------------------------------------- */

static bool is_wanted(struct pprof_pull *p, const struct question *q,
		      const struct profile_sample *s)
{
	if (s->time_ns < q->from_ns || s->time_ns >= q->to_ns || (q->pid && s->pid != q->pid))
		return false;
	return !*q->service ||
	       !strcmp(resources__service(p->resources, s->pid, s->image, NULL, NULL), q->service);
}

static void on_sample(void *ctx, const struct profile *profile, const struct profile_sample *s)
{
	struct pprof_pull *p = ctx;

	for (unsigned i = 0, left = p->waiting; i < PPROF_PULL_PLACES && left; i++) {
		struct question *q = &p->list[i];

		left -= q->profile != NULL;
		if (q->profile && is_wanted(p, q, s))
			profile__count(q->profile, s->event, s->node, s->period);
	}
}

/* Takes everything the profile has; losses of the whole host are reported elsewhere. */
static void take_accounts(struct profile *p)
{
	for (unsigned i = 0; i < p->event_cnt; i++) {
		struct counts *c = profile__counts(p, i);

		c->accounts = (struct accounts){ .interrupts = c->samples,
						 .reasons[REASON_PYTHON] = c->samples };
	}
}

static void answer(struct pprof_pull *p, struct question *q)
{
	struct pprof_body body;
	int err;

	take_accounts(q->profile);
	err = pprof_body_make(&body, q->profile, p->resources, q->from_ns, q->to_ns,
			      clock_wall_offset_ns());
	if (err) {
		answer_text(p, q->id, 500, "the profile cannot be written: out of memory\n");
		return;
	}
	err = server__answer(p->server, q->id, 200, "application/octet-stream", body.data,
			     body.len);
	if (err == -EMSGSIZE)
		answer_text(p, q->id, 500, "the profile is too large: ask for fewer seconds\n");
	free(body.data);
}

/* ---- who asks --------------------------------------------------------------------------------- */

/*
 * A free place, or that of the client that has had the most seconds, which is answered now. NULL:
 * nobody has had enough.
 */
static struct question *free_place(struct pprof_pull *p, __u64 now_ns)
{
	struct question *first = NULL;

	for (unsigned i = 0; i < PPROF_PULL_PLACES; i++) {
		struct question *q = &p->list[i];

		if (!q->profile)
			return q;
		if (!first || q->from_ns < first->from_ns)
			first = q;
	}
	if (now_ns < first->from_ns + PPROF_PULL_OWN_SECONDS * NS_PER_SEC)
		return NULL;
	if (now_ns < first->to_ns)
		first->to_ns = now_ns;
	answer(p, first);
	forget(p, first);
	return first;
}

void pprof_pull__take(struct pprof_pull *p, const struct server_request *request, __u64 now_ns)
{
	struct question asked = { .id = request->id }, *q;

	if (!parse(&asked, request->query, now_ns)) {
		answer_text(
			p, request->id, 400,
			"seconds=1 to 300 (default 30); pid=NUMBER or service=NAME choose a part\n");
		return;
	}
	q = p->profile ? free_place(p, now_ns) : NULL;
	if (!q) {
		answer_text(p, request->id, 503, "too many requests at once; try again later\n");
		return;
	}
	*q = asked;
	q->profile = pprof_profile_new(p->profile);
	if (q->profile)
		p->waiting++;
	else
		answer_text(p, request->id, 503, "out of memory\n");
}

static void on_step(void *ctx, __u64 now_ns)
{
	struct pprof_pull *p = ctx;

	for (unsigned i = 0; i < PPROF_PULL_PLACES && p->waiting; i++) {
		struct question *q = &p->list[i];

		if (!q->profile || now_ns < q->to_ns + GRACE_NS)
			continue;
		answer(p, q);
		forget(p, q);
	}
}

struct agent_sink pprof_pull__sink(struct pprof_pull *p)
{
	return (struct agent_sink){
		.name = "pprof pull", .sample = on_sample, .step = on_step, .ctx = p
	};
}
