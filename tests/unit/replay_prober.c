/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_prober.c - probers whose answers are in the log (replay.h). Replaces process/probe/prober.c, so
 * it has every function of prober.h.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <errno.h>

#include "replay_outside.h"
#include "process/probe/prober.h"
#include "base/system/clock.h"

struct call {
	struct call *next;
	enum prober_lane lane;
	struct probe_request request;
	probe_done_fn done;
	void *ctx;
	__u64 asked_ns;
};

struct prober {
	struct call *calls; /* in the order of requests */
	unsigned depth;
	unsigned hung_cnt;
};

struct prober *prober__new(unsigned worker_max)
{
	return calloc(1, sizeof(struct prober));
}

void prober__free(struct prober *p)
{
	struct call *next;

	for (struct call *c = p ? p->calls : NULL; c; c = next) {
		next = c->next;
		free(c);
	}
	free(p);
}

void prober__hurry(struct prober *p, __u64 patience_ns)
{
}

void prober__share(struct prober *p, unsigned *alive_cnt)
{
}

void prober__tap(struct prober *p, probe_tap_fn fn, void *ctx)
{
}

void prober__prepare(struct prober *p, bool identify)
{
}

int prober__ask(struct prober *p, enum prober_lane lane, const struct probe_request *r,
		const int *fds, unsigned fd_cnt, probe_done_fn done, void *ctx)
{
	struct call **end = &p->calls, *c;

	/* Scripts say what is in memory: it is read piece by piece. */
	if (r->op == PROBE_TRAIL && !replay_log_answer(replay_outside(), r))
		return -ENOENT;
	c = calloc(1, sizeof(*c));
	while (*end)
		end = &(*end)->next;
	*c = (struct call){ NULL, lane, *r, done, ctx, replay_now_ns() };
	*end = c;
	return 0;
}

void prober__forget(struct prober *p, const void *ctx)
{
	for (struct call **at = &p->calls; *at;) {
		struct call *c = *at;

		if (c->ctx != ctx) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}

/* Returns when its answer arrives, and which; 0: never. */
static __u64 arrival(const struct call *c, struct replay_answer **ret)
{
	*ret = replay_log_answer(replay_outside(), &c->request);
	if (!*ret)
		return 0;
	/*
	 * A file is the same whenever it is opened, and the request may have gone to another
	 * process.
	 */
	if (c->request.op == PROBE_FILE || c->request.op == PROBE_DEBUG)
		return c->asked_ns;
	return (*ret)->time_ns > c->asked_ns ? (*ret)->time_ns : c->asked_ns;
}

/* Returns the call whose answer arrives first, among those that may be answered here; NULL: none. */
static struct call *first_answered(struct prober *p, struct replay_answer **ret, __u64 *ret_ns)
{
	struct call *first = NULL;
	struct replay_answer *answer;

	for (struct call *c = p->calls; c; c = c->next) {
		__u64 ns = p->depth && c->lane != PROBER_NOW ? 0 : arrival(c, &answer);

		if (!ns || (first && ns >= *ret_ns))
			continue;
		first = c;
		*ret = answer;
		*ret_ns = ns;
	}
	return first;
}

/*
 * An opened process gets an empty file: only a prober would read it. For an inspected process the
 * executable is omitted, so that nothing is learned from missing files.
 */
static void stand_in(const struct replay_answer *a, enum probe_op op, int fds[PROBE_FDS_MAX])
{
	for (unsigned i = 0; i < PROBE_FDS_MAX; i++) {
		bool list = op == PROBE_MAPS, is_file = i == PROBE_FDS_MAX - 1;

		fds[i] = -1;
		if (a->head.fds & 1U << i && !(is_file && op == PROBE_IDENTIFY))
			fds[i] = replay_stand_in(a->data, list ? a->len : 0,
						 is_file ? &a->head.file : NULL);
	}
}

static void finish(struct prober *p, struct call *c, struct replay_answer *a)
{
	const bool list = c->request.op == PROBE_MAPS;
	int fds[PROBE_FDS_MAX];

	for (struct call **at = &p->calls; *at; at = &(*at)->next) {
		if (*at == c) {
			*at = c->next;
			break;
		}
	}
	stand_in(a, c->request.op, fds);
	a->used = true;
	p->depth++;
	p->hung_cnt += !a->head.answered;
	c->done(c->ctx, a->head.result, a->head.answered ? a->data : NULL, list ? 0 : a->len, fds);
	p->depth--;
	for (unsigned i = 0; i < PROBE_FDS_MAX; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(c);
}

__u64 prober__step(struct prober *p)
{
	struct replay_answer *answer;
	struct call *c;
	__u64 ns = 0;

	while ((c = first_answered(p, &answer, &ns)) && ns <= replay_now_ns())
		finish(p, c, answer);
	return c ? ns : 0;
}

/* Advances the time to the next event. */
void prober__wait(struct prober *p, int timeout_ms)
{
	__u64 end_ns = replay_now_ns() + (__u64)timeout_ms * NS_PER_MS;
	unsigned before = prober__pending(p);

	for (;;) {
		__u64 next_ns = prober__step(p);

		if (prober__pending(p) != before || replay_now_ns() >= end_ns)
			return;
		replay_advance(next_ns && next_ns < end_ns ? next_ns : end_ns);
	}
}

unsigned prober__poll(const struct prober *p, struct pollfd fds[PROBERS_MAX])
{
	return 0;
}

static bool is_slow(const struct call *c)
{
	__u64 patience_ns = c->lane == PROBER_NOW ? PROBER_PATIENCE_NS : PROBER_LOOK_PATIENCE_NS;

	return replay_now_ns() - c->asked_ns >= patience_ns;
}

bool prober__is_slow(const struct prober *p, const void *ctx)
{
	for (const struct call *c = p->calls; c; c = c->next)
		if (c->ctx == ctx && is_slow(c))
			return true;
	return false;
}

bool prober__is_parked(const struct prober *p, const void *ctx)
{
	return false;
}

bool prober__others_wait(const struct prober *p)
{
	for (const struct call *c = p->calls; c; c = c->next)
		if (!is_slow(c))
			return true;
	return false;
}

bool prober__is_nested(const struct prober *p)
{
	return p->depth;
}

bool prober__is_ours(const struct prober *p, pid_t pid)
{
	return false;
}

unsigned prober__pending(const struct prober *p)
{
	unsigned cnt = 0;

	for (const struct call *c = p->calls; c; c = c->next)
		cnt++;
	return cnt;
}

unsigned prober__slow_cnt(const struct prober *p)
{
	unsigned cnt = 0;

	for (const struct call *c = p->calls; c; c = c->next)
		cnt += is_slow(c);
	return cnt;
}

unsigned prober__hung_cnt(const struct prober *p)
{
	return p->hung_cnt;
}
