/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_hands.h - the processes that a struct prober has, and its requests: for prober.c, its owner,
 * prober_hands.c, what becomes of each process, and prober_turns.c, which request goes to which and when.
 */
#ifndef KRAIT_TARGET_PROBER_HANDS_H
#define KRAIT_TARGET_PROBER_HANDS_H

#include "target/prober_calls.h"
#include "target/prober_judge.h"

struct worker;

/* Requests that one prober has at once: it need not wait for krait between two. */
#define WINDOW 8

/* One prober. */
struct hand {
	struct worker *worker; /* NULL: there is none */
	bool aside; /* it has one request left, and gets no more */
	enum prober_lane lane;
	struct calls sent;
	struct judge judge; /* of the first of those */
};

struct prober {
	unsigned hand_max;
	unsigned own_cnt,
		*alive_cnt; /* probers alive, of all who share the bound; own_cnt: alone */
	unsigned pending;
	__u64 patience_ns[PROBER_LANES];
	struct calls waiting[PROBER_LANES];
	struct calls parked[PROBER_LANES]; /* of owners who keep a prober waiting now */
	struct hand hands[PROBERS_MAX];
	struct offenders offenders;
	unsigned depth; /* of steps within steps: an answer makes somebody ask and wait */
	bool failed; /* the last one could not be started, and that was said */
	probe_tap_fn tap; /* NULL none */
	void *tap_ctx;
	struct probe_message message;
};

/* Is that one sleeping over its first request? */
static inline bool hand_keeps_waiting(const struct hand *h)
{
	return h->worker && h->sent.first && h->sent.first->slow;
}

/* Starts it for that lane, if it can be. */
bool hand_start(struct prober *p, struct hand *h, enum prober_lane lane);
/* One of its answers. False: there is none now, or it has ended. */
bool hand_take_answer(struct prober *p, struct hand *h);
/* Does it go on, is it slow, does it hang? When to look at it again, 0 never. */
__u64 hand_judge(struct prober *p, struct hand *h, __u64 now_ns);
/* The others that it was sent need not wait for the first: it gets no more. */
void hand_set_aside(struct prober *p, struct hand *h);

/* How many more probers may be started. */
unsigned hands_unstarted(const struct prober *p);
/* Those, and the ones that have nothing to do. */
unsigned hands_spare(const struct prober *p);
/*
 * Makes room for other requests: the one that has kept a prober waiting longest gives way. It is asked again when
 * nobody else waits, unless it must not be done twice. Returns whether there is a spare prober.
 */
bool hands_make_room(struct prober *p);

/* The request has this answer; nobody is called for one that was forgotten. The descriptors are closed. */
void call_finish(struct prober *p, struct call *c, int result, const void *data, size_t len,
		 int fds[PROBE_FDS_MAX]);
/* Is it of an owner whose processes are not looked at any more? */
bool call_is_refused(const struct prober *p, struct call *c);
/* Sends what may be sent now. */
void calls_send_waiting(struct prober *p, enum prober_lane lane);

#endif /* KRAIT_TARGET_PROBER_HANDS_H */
