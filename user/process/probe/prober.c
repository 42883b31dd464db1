/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/prober.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "process/probe/prober_hands.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/worker/worker.h"

__u64 prober__step(struct prober *p)
{
	__u64 soonest = 0, now_ns = clock_monotonic_ns();

	p->depth++;
	for (unsigned i = 0; i < p->hand_max; i++) {
		struct hand *h = &p->hands[i];
		__u64 next_ns;

		/* One level of nesting is enough: answers that nobody waits for come later. */
		if (p->depth > 1 && h->lane != PROBER_NOW)
			continue;
		while (h->worker && hand_take_answer(p, h))
			;
		next_ns = hand_judge(p, h, now_ns);
		if (next_ns && (!soonest || next_ns < soonest))
			soonest = next_ns;
	}
	for (int lane = 0; lane < PROBER_LANES; lane++)
		calls_send_waiting(p, lane);
	p->depth--;
	return soonest ? soonest : p->pending ? now_ns + p->patience_ns[PROBER_NOW] : 0;
}

unsigned prober__poll(const struct prober *p, struct pollfd fds[PROBERS_MAX])
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < p->hand_max; i++)
		if (p->hands[i].worker && (!p->depth || p->hands[i].lane == PROBER_NOW))
			fds[cnt++] = (struct pollfd){ worker__fd(p->hands[i].worker), POLLIN, 0 };
	return cnt;
}

void prober__wait(struct prober *p, int timeout_ms)
{
	__u64 end_ns = clock_monotonic_ns() + (__u64)timeout_ms * 1000000, next_ns, now_ns;
	struct pollfd fds[PROBERS_MAX];
	unsigned before = p->pending;

	do {
		next_ns = prober__step(p);
		now_ns = clock_monotonic_ns();
		if (p->pending != before || now_ns >= end_ns)
			return;
		if (!next_ns || next_ns > end_ns)
			next_ns = end_ns;
		poll(fds, prober__poll(p, fds),
		     next_ns > now_ns ? (int)((next_ns - now_ns) / 1000000) + 1 : 0);
	} while (p->pending);
}

/* ---- all of them ------------------------------------------------------------------------------ */

struct prober *prober__new(unsigned worker_max)
{
	struct prober *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->patience_ns[PROBER_LATER] = PROBER_LOOK_PATIENCE_NS;
	p->patience_ns[PROBER_NOW] = PROBER_PATIENCE_NS;
	p->alive_cnt = &p->own_cnt;
	p->hand_max = worker_max < PROBERS_MAX ? worker_max : PROBERS_MAX;
	for (int lane = 0; lane < PROBER_LANES; lane++) {
		calls_init(&p->waiting[lane]);
		calls_init(&p->parked[lane]);
	}
	for (unsigned i = 0; i < PROBERS_MAX; i++)
		calls_init(&p->hands[i].sent);
	return p;
}

static void on_prepared(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
}

void prober__hurry(struct prober *p, __u64 patience_ns)
{
	for (int lane = 0; lane < PROBER_LANES; lane++)
		p->patience_ns[lane] = patience_ns;
}

void prober__share(struct prober *p, unsigned *alive_cnt)
{
	p->alive_cnt = alive_cnt;
}

void prober__tap(struct prober *p, probe_tap_fn fn, void *ctx)
{
	p->tap = fn;
	p->tap_ctx = ctx;
}

void prober__prepare(struct prober *p, bool identify)
{
	const struct probe_request r = { .op = PROBE_PREPARE, .want_parser = identify };

	if (!prober__ask(p, PROBER_LATER, &r, NULL, 0, on_prepared, p))
		prober__step(p);
}

void prober__free(struct prober *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < PROBERS_MAX; i++) {
		if (p->hands[i].worker)
			__atomic_sub_fetch(p->alive_cnt, 1, __ATOMIC_RELAXED);
		worker__abandon(p->hands[i].worker);
		calls_drop(&p->hands[i].sent);
	}
	for (int lane = 0; lane < PROBER_LANES; lane++) {
		calls_drop(&p->waiting[lane]);
		calls_drop(&p->parked[lane]);
	}
	free(p);
}

int prober__ask(struct prober *p, enum prober_lane lane, const struct probe_request *r,
		const int *fds, unsigned fd_cnt, probe_done_fn done, void *ctx)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->done = done;
	c->ctx = ctx;
	c->fd_cnt = !fds ? 0 : fd_cnt < PROBE_FDS_MAX ? fd_cnt : PROBE_FDS_MAX;
	c->request = *r;
	if (call_is_refused(p, c)) {
		free(c);
		return -EUSERS;
	}
	if (fds)
		memcpy(c->fds, fds, c->fd_cnt * sizeof(*fds));
	/* A single prober has no lanes: it is not meant for many requests. */
	calls_add(&p->waiting[p->hand_max == 1 ? PROBER_LATER : lane], c);
	p->pending++;
	return 0;
}

void prober__forget(struct prober *p, const void *ctx)
{
	for (int lane = 0; lane < PROBER_LANES; lane++) {
		p->pending -= calls_forget(&p->waiting[lane], ctx);
		p->pending -= calls_forget(&p->parked[lane], ctx);
	}
	for (unsigned i = 0; i < p->hand_max; i++)
		p->pending -= calls_forget(&p->hands[i].sent, ctx);
}

bool prober__is_slow(const struct prober *p, const void *ctx)
{
	for (unsigned i = 0; i < p->hand_max; i++) {
		const struct call *c = p->hands[i].sent.first;

		if (c && c->done && c->ctx == ctx && c->slow)
			return true;
	}
	return prober__is_parked(p, ctx);
}

bool prober__is_parked(const struct prober *p, const void *ctx)
{
	return calls_has(&p->parked[PROBER_LATER], ctx) || calls_has(&p->parked[PROBER_NOW], ctx);
}

bool prober__others_wait(const struct prober *p)
{
	for (unsigned i = 0; i < p->hand_max; i++) {
		const struct hand *h = &p->hands[i];

		if (h->worker && h->sent.cnt > hand_keeps_waiting(h))
			return true;
	}
	return p->waiting[PROBER_LATER].cnt || p->waiting[PROBER_NOW].cnt;
}

unsigned prober__slow_cnt(const struct prober *p)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < p->hand_max; i++)
		cnt += hand_keeps_waiting(&p->hands[i]);
	return cnt;
}

bool prober__is_nested(const struct prober *p)
{
	return p->depth;
}

bool prober__is_ours(const struct prober *p, pid_t pid)
{
	for (unsigned i = 0; i < p->hand_max; i++)
		if (p->hands[i].worker && worker__pid(p->hands[i].worker) == pid)
			return true;
	return false;
}

unsigned prober__pending(const struct prober *p)
{
	return p->pending;
}

unsigned prober__hung_cnt(const struct prober *p)
{
	return p->offenders.hung;
}
