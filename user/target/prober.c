/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/prober.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "target/prober_judge.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/log.h"
#include "worker/worker.h"

/* Requests that one prober has at once: it need not wait for krait between two. */
#define WINDOW 8

struct call {
	struct call *next;
	probe_done_fn done; /* NULL: forgotten */
	void *ctx;
	int fds[PROBE_FDS_MAX];
	unsigned fd_cnt;
	uid_t owner; /* of the process */
	bool slow;
	struct probe_request request;
};

struct queue {
	struct call *first, **end;
	unsigned cnt;
};

/* One prober. */
struct hand {
	struct worker *worker; /* NULL: there is none */
	bool aside; /* it has one request left, and gets no more */
	enum prober_lane lane;
	struct queue sent;
	struct judge judge; /* of the first of those */
};

struct prober {
	unsigned hand_max;
	unsigned pending;
	__u64 patience_ns;
	struct queue waiting[PROBER_LANES];
	struct hand hands[PROBERS_MAX];
	struct offenders offenders;
	unsigned depth; /* of steps within steps: an answer makes somebody ask and wait */
	bool failed; /* the last one could not be started, and that was said */
	struct probe_message message;
};

/* ---- queues ---------------------------------------------------------------------------------- */

static void queue_init(struct queue *q)
{
	*q = (struct queue){ .end = &q->first };
}

static void queue_add(struct queue *q, struct call *c)
{
	c->next = NULL;
	*q->end = c;
	q->end = &c->next;
	q->cnt++;
}

static struct call *queue_take(struct queue *q)
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

/* All of from, in front of what is there. */
static void queue_put_back(struct queue *q, struct queue *from)
{
	if (!from->first)
		return;
	*from->end = q->first;
	if (!q->first)
		q->end = from->end;
	q->first = from->first;
	q->cnt += from->cnt;
	queue_init(from);
}

/* ---- ends ------------------------------------------------------------------------------------- */

static void finish(struct prober *p, struct call *c, int result, const void *data, size_t len,
		   int fds[PROBE_FDS_MAX])
{
	int none[PROBE_FDS_MAX] = { -1, -1, -1 };

	p->pending -= c->done != NULL;
	if (c->done)
		c->done(c->ctx, result, data, len, fds ? fds : none);
	for (unsigned i = 0; fds && i < PROBE_FDS_MAX; i++)
		cleanup_close_(&fds[i]);
	free(c);
}

/* The prober goes; what it has not begun is asked again. */
static void dismiss(struct prober *p, struct hand *h)
{
	worker__abandon(h->worker);
	h->worker = NULL;
	queue_put_back(&p->waiting[h->lane], &h->sent);
}

/* The first request of that one has no answer. */
static void give_up(struct prober *p, struct hand *h, int result)
{
	struct call *c = queue_take(&h->sent);

	log_debug("prober", "process %d: %s", (int)c->request.pid,
		  result == -ETIMEDOUT ? "reading it does not come back" : "its prober has died");
	offenders_note(&p->offenders, c->owner);
	dismiss(p, h);
	finish(p, c, result, NULL, 0, NULL);
}

/* ---- answers ---------------------------------------------------------------------------------- */

/* Puts the descriptors that came where they belong. False where their number is wrong. */
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

/* One answer of that prober. False: there is none now. */
static bool take_answer(struct prober *p, struct hand *h)
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
	c = queue_take(&h->sent);
	judge_begin(&h->judge);
	if (h->aside)
		dismiss(p, h);
	finish(p, c, a->result, p->message.bytes, a->len, fds);
	return h->worker;
}

/* ---- requests --------------------------------------------------------------------------------- */

static struct hand *hand_of(struct prober *p, enum prober_lane lane)
{
	struct hand *unused = NULL;

	for (unsigned i = 0; i < p->hand_max; i++) {
		struct hand *h = &p->hands[i];

		if (h->worker && !h->aside && h->lane == lane)
			return h;
		if (!h->worker)
			unused = h;
	}
	return unused;
}

static bool start(struct prober *p, struct hand *h, enum prober_lane lane)
{
	struct error err;

	h->worker = worker__start("prober", &err);
	if (!h->worker && !p->failed)
		log_warn("prober", "%s", err.text);
	p->failed = !h->worker;
	h->aside = false;
	h->lane = lane;
	return h->worker;
}

static void send_waiting(struct prober *p, enum prober_lane lane)
{
	struct queue *waiting = &p->waiting[lane];
	struct hand *h = waiting->cnt ? hand_of(p, lane) : NULL;

	if (!h)
		return;
	if (!h->worker && !start(p, h, lane)) {
		finish(p, queue_take(waiting), -EAGAIN, NULL, 0, NULL);
		return;
	}
	while (waiting->first && h->sent.cnt < WINDOW) {
		struct call *c = waiting->first;

		if (!c->done || offenders_has(&p->offenders, c->owner)) {
			finish(p, queue_take(waiting), -EUSERS, NULL, 0, NULL);
			continue;
		}
		/* It has enough to do, or has died: its answers will tell. */
		if (channel_send(worker__fd(h->worker), &c->request, sizeof(c->request), c->fds,
				 c->fd_cnt))
			return;
		if (!h->sent.cnt)
			judge_begin(&h->judge);
		queue_add(&h->sent, queue_take(waiting));
	}
}

/* ---- judgement -------------------------------------------------------------------------------- */

/* Room for a prober that takes over: one that was set aside before has had its time. */
static bool make_room(struct prober *p)
{
	for (unsigned i = 0; i < p->hand_max; i++)
		if (!p->hands[i].worker)
			return true;
	for (unsigned i = 0; i < p->hand_max; i++) {
		if (!p->hands[i].aside)
			continue;
		give_up(p, &p->hands[i], -ETIMEDOUT);
		return true;
	}
	return false;
}

/* Others need not wait for that one. */
static void set_aside(struct prober *p, struct hand *h)
{
	struct call *c;

	if (h->aside || (h->sent.cnt == 1 && !p->waiting[h->lane].cnt && h->lane != PROBER_NOW))
		return;
	if (!make_room(p))
		return;
	c = queue_take(&h->sent);
	queue_put_back(&p->waiting[h->lane], &h->sent);
	queue_add(&h->sent, c);
	h->aside = true;
}

/* When to look at it again, 0 never. */
static __u64 judge(struct prober *p, struct hand *h, __u64 now_ns)
{
	if (!h->worker || !h->sent.cnt)
		return 0;
	switch (judge_look(&h->judge, worker__pid(h->worker), p->patience_ns, now_ns)) {
	case JUDGE_HUNG:
		give_up(p, h, -ETIMEDOUT);
		return 0;
	case JUDGE_SLOW:
		h->sent.first->slow = true;
		set_aside(p, h);
		break;
	case JUDGE_FINE:
		break;
	}
	return h->judge.next_ns;
}

__u64 prober__step(struct prober *p)
{
	__u64 soonest = 0, now_ns = clock_monotonic_ns();

	p->depth++;
	for (unsigned i = 0; i < p->hand_max; i++) {
		struct hand *h = &p->hands[i];
		__u64 next_ns;

		/* One level is enough: what nobody waits for now comes later. */
		if (p->depth > 1 && h->lane != PROBER_NOW)
			continue;
		while (h->worker && take_answer(p, h))
			;
		next_ns = judge(p, h, now_ns);
		if (next_ns && (!soonest || next_ns < soonest))
			soonest = next_ns;
	}
	for (int lane = 0; lane < PROBER_LANES; lane++)
		send_waiting(p, lane);
	p->depth--;
	return soonest ? soonest : p->pending ? now_ns + p->patience_ns : 0;
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
	p->patience_ns = PROBER_PATIENCE_NS;
	p->hand_max = worker_max < PROBERS_MAX ? worker_max : PROBERS_MAX;
	for (int lane = 0; lane < PROBER_LANES; lane++)
		queue_init(&p->waiting[lane]);
	for (unsigned i = 0; i < PROBERS_MAX; i++)
		queue_init(&p->hands[i].sent);
	return p;
}

static void on_prepared(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
}

void prober__hurry(struct prober *p, __u64 patience_ns)
{
	p->patience_ns = patience_ns;
}

void prober__prepare(struct prober *p, bool identify)
{
	const struct probe_request r = { .op = PROBE_PREPARE, .want_parser = identify };

	if (!prober__ask(p, PROBER_LATER, &r, NULL, 0, on_prepared, p))
		prober__step(p);
}

static void drop_all(struct queue *q)
{
	struct call *c;

	while ((c = queue_take(q)))
		free(c);
}

void prober__free(struct prober *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < PROBERS_MAX; i++) {
		worker__abandon(p->hands[i].worker);
		drop_all(&p->hands[i].sent);
	}
	for (int lane = 0; lane < PROBER_LANES; lane++)
		drop_all(&p->waiting[lane]);
	free(p);
}

int prober__ask(struct prober *p, enum prober_lane lane, const struct probe_request *r,
		const int *fds, unsigned fd_cnt, probe_done_fn done, void *ctx)
{
	uid_t owner = offenders_owner(r->pid);
	struct call *c;

	if (offenders_has(&p->offenders, owner))
		return -EUSERS;
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->done = done;
	c->ctx = ctx;
	c->owner = owner;
	c->slow = false;
	c->fd_cnt = fd_cnt < PROBE_FDS_MAX ? fd_cnt : PROBE_FDS_MAX;
	c->request = *r;
	if (c->fd_cnt)
		memcpy(c->fds, fds, c->fd_cnt * sizeof(*fds));
	/* A single one has no lanes: it is not there for many requests. */
	queue_add(&p->waiting[p->hand_max == 1 ? PROBER_LATER : lane], c);
	p->pending++;
	return 0;
}

static void forget_in(struct prober *p, struct queue *q, const void *ctx)
{
	for (struct call *c = q->first; c; c = c->next) {
		if (!c->done || c->ctx != ctx)
			continue;
		c->done = NULL;
		p->pending--;
	}
}

void prober__forget(struct prober *p, const void *ctx)
{
	for (int lane = 0; lane < PROBER_LANES; lane++)
		forget_in(p, &p->waiting[lane], ctx);
	for (unsigned i = 0; i < p->hand_max; i++)
		forget_in(p, &p->hands[i].sent, ctx);
}

bool prober__is_slow(const struct prober *p, const void *ctx)
{
	for (unsigned i = 0; i < p->hand_max; i++) {
		const struct call *c = p->hands[i].sent.first;

		if (c && c->done && c->ctx == ctx && c->slow)
			return true;
	}
	return false;
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
