/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/prober_hands.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/worker/worker.h"
#include "process/proc/proc.h"

/* ---- requests ---------------------------------------------------------------------------------- */

void calls_init(struct calls *q)
{
	*q = (struct calls){ .end = &q->first };
}

void calls_add(struct calls *q, struct call *c)
{
	c->next = NULL;
	*q->end = c;
	q->end = &c->next;
	q->cnt++;
}

struct call *calls_take(struct calls *q)
{
	struct call *c = q->first;

	if (!c)
		return NULL;
	q->first = c->next;
	q->cnt--;
	if (!q->first)
		q->end = &q->first;
	return c;
}

void calls_put_back(struct calls *q, struct calls *from)
{
	if (!from->first)
		return;
	*from->end = q->first;
	if (!q->first)
		q->end = from->end;
	q->first = from->first;
	q->cnt += from->cnt;
	calls_init(from);
}

unsigned calls_forget(struct calls *q, const void *ctx)
{
	unsigned cnt = 0;

	for (struct call *c = q->first; c; c = c->next) {
		if (!c->done || c->ctx != ctx)
			continue;
		c->done = NULL;
		cnt++;
	}
	return cnt;
}

bool calls_has(const struct calls *q, const void *ctx)
{
	for (const struct call *c = q->first; c; c = c->next)
		if (c->done && c->ctx == ctx)
			return true;
	return false;
}

void calls_drop(struct calls *q)
{
	struct call *c;

	while ((c = calls_take(q)))
		free(c);
}

uid_t call_owner(struct call *c)
{
	if (!c->has_owner)
		c->owner = proc_owner(c->request.pid);
	c->has_owner = true;
	return c->owner;
}

/* ---- processes --------------------------------------------------------------------------------- */

bool hand_start(struct prober *p, struct hand *h, enum prober_lane lane)
{
	struct error err;

	h->worker = worker__start("prober", &err);
	if (!h->worker && !p->failed)
		log_warn("prober", "%s", err.text);
	p->failed = !h->worker;
	if (h->worker)
		log_debug("prober", "process %d looks at others", (int)worker__pid(h->worker));
	h->aside = false;
	h->lane = lane;
	judge_begin(&h->judge);
	if (h->worker)
		__atomic_add_fetch(p->alive_cnt, 1, __ATOMIC_RELAXED);
	return h->worker;
}

unsigned hands_unstarted(const struct prober *p)
{
	unsigned alive = __atomic_load_n(p->alive_cnt, __ATOMIC_RELAXED), cnt = 0;

	for (unsigned i = 0; i < p->hand_max; i++)
		cnt += !p->hands[i].worker;
	if (alive >= PROBERS_ALIVE_MAX)
		return 0;
	return cnt < PROBERS_ALIVE_MAX - alive ? cnt : PROBERS_ALIVE_MAX - alive;
}

unsigned hands_spare(const struct prober *p)
{
	unsigned cnt = hands_unstarted(p);

	for (unsigned i = 0; i < p->hand_max; i++)
		cnt += p->hands[i].worker && !p->hands[i].sent.cnt;
	return cnt;
}

void call_finish(struct prober *p, struct call *c, int result, const void *data, size_t len,
		 int fds[PROBE_FDS_MAX])
{
	int none[PROBE_FDS_MAX] = { -1, -1, -1 };

	p->pending -= c->done != NULL;
	if (p->tap && c->done)
		p->tap(p->tap_ctx, &c->request, result, data, len, fds);
	if (c->done)
		c->done(c->ctx, result, data, len, fds ? fds : none);
	for (unsigned i = 0; fds && i < PROBE_FDS_MAX; i++)
		cleanup_close_(&fds[i]);
	free(c);
}

/* Lets parked requests go on if nobody keeps a prober waiting any more: send_waiting() decides. */
static void unpark(struct prober *p)
{
	for (int lane = 0; lane < PROBER_LANES; lane++)
		calls_put_back(&p->waiting[lane], &p->parked[lane]);
}

/* Dismisses the prober; what it has not begun will be asked again. */
static void dismiss(struct prober *p, struct hand *h)
{
	worker__abandon(h->worker);
	h->worker = NULL;
	__atomic_sub_fetch(p->alive_cnt, 1, __ATOMIC_RELAXED);
	calls_put_back(&p->waiting[h->lane], &h->sent);
	unpark(p);
}

/* Its first request gets no answer. */
static void give_up(struct prober *p, struct hand *h, int result)
{
	struct call *c = calls_take(&h->sent);

	log_debug("prober", "process %d: %s", (int)c->request.pid,
		  result == -ETIMEDOUT ? "reading it does not come back" : "its prober has died");
	if (c->request.op == PROBE_SOURCE)
		offenders_note_file(&p->offenders, call_owner(c));
	else
		offenders_note(&p->offenders, call_owner(c));
	dismiss(p, h);
	call_finish(p, c, result, NULL, 0, NULL);
}

/* ---- answers ---------------------------------------------------------------------------------- */

/* Puts the received descriptors where they belong. False if their number is wrong. */
static bool sort_fds(const struct probe_answer *a, int *came, unsigned cnt, int ret[PROBE_FDS_MAX])
{
	unsigned used = 0;

	for (unsigned i = 0; i < PROBE_FDS_MAX; i++) {
		ret[i] = -1;
		if (a->fds & 1U << i && used < cnt)
			ret[i] = came[used++];
	}
	while (used < cnt)
		close(came[--cnt]);
	return (unsigned)__builtin_popcount(a->fds) == cnt;
}

bool hand_take_answer(struct prober *p, struct hand *h)
{
	const struct probe_answer *a = &p->message.head;
	int came[PROBE_FDS_MAX], fds[PROBE_FDS_MAX] = { -1, -1, -1 };
	unsigned cnt = PROBE_FDS_MAX;
	ssize_t n =
		channel_recv(worker__fd(h->worker), &p->message, sizeof(p->message), came, &cnt, 0);
	struct call *c;
	bool good;

	if (n == -ETIMEDOUT)
		return false;
	if (n == sizeof(*a) && a->op == PROBE_ALIVE && !cnt) {
		judge_alive(&h->judge, p->patience_ns[h->lane], clock_monotonic_ns());
		return true;
	}
	good = n >= (ssize_t)sizeof(*a) && sort_fds(a, came, cnt, fds) && h->sent.first &&
	       a->op == h->sent.first->request.op && a->len == (size_t)n - sizeof(*a);
	if (!good) {
		for (unsigned i = 0; i < PROBE_FDS_MAX; i++)
			cleanup_close_(&fds[i]);
		if (h->sent.first)
			give_up(p, h, -EIO);
		else
			dismiss(p, h);
		return false;
	}
	c = calls_take(&h->sent);
	judge_begin(&h->judge);
	if (h->aside)
		dismiss(p, h);
	else if (c->slow)
		unpark(p);
	call_finish(p, c, a->result, p->message.bytes, a->len, fds);
	return h->worker;
}

/* ---- slow ones --------------------------------------------------------------------------------- */

bool hands_make_room(struct prober *p)
{
	struct hand *oldest = NULL;
	struct call *c;

	if (hands_spare(p))
		return true;
	for (unsigned i = 0; i < p->hand_max; i++) {
		struct hand *h = &p->hands[i];

		if (h->worker && h->aside &&
		    (!oldest || h->judge.begin_ns < oldest->judge.begin_ns))
			oldest = h;
	}
	if (!oldest)
		return false;
	if (oldest->sent.first->again || call_is_alone(oldest->sent.first)) {
		give_up(p, oldest, -ETIMEDOUT);
		return true;
	}
	c = calls_take(&oldest->sent);
	c->again = true;
	dismiss(p, oldest);
	calls_add(&p->parked[oldest->lane], c);
	return true;
}

void hand_set_aside(struct prober *p, struct hand *h)
{
	struct call *c = calls_take(&h->sent);

	calls_put_back(&p->waiting[h->lane], &h->sent);
	calls_add(&h->sent, c);
	h->aside = true;
}

__u64 hand_judge(struct prober *p, struct hand *h, __u64 now_ns)
{
	struct call *c = h->worker ? h->sent.first : NULL;

	if (!c)
		return 0;
	switch (judge_look(&h->judge, worker__pid(h->worker), p->patience_ns[h->lane], now_ns)) {
	case JUDGE_HUNG:
		give_up(p, h, -ETIMEDOUT);
		return 0;
	case JUDGE_SLOW:
		if (c->request.op == PROBE_PREPARE)
			break;
		c->slow = true;
		if (h->sent.cnt > 1 && !h->aside && hands_make_room(p))
			hand_set_aside(p, h);
		break;
	case JUDGE_FINE:
		break;
	}
	return h->judge.next_ns;
}
