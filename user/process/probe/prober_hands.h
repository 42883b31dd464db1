/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_hands.h - the processes of a struct prober, and its requests: shared by prober.c, its
 * owner, prober_hands.c, which handles each process, and prober_turns.c, which decides which
 * request goes where and when.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBER_HANDS_H
#define KRAIT_PROCESS_PROBE_PROBER_HANDS_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/probe/prober.h"
#include "process/probe/prober_judge.h"

struct worker;

/* An unanswered request. */
struct call {
	struct call *next;
	probe_done_fn done; /* NULL: forgotten */
	void *ctx;
	int fds[PROBE_FDS_MAX];
	unsigned fd_cnt;
	uid_t owner; /* of the process; call_owner() */
	bool has_owner;
	bool slow; /* it has kept a prober waiting */
	bool again; /* it was given up once, to make room */
	struct probe_request request;
};

/* A queue of them. */
struct calls {
	struct call *first, **end;
	unsigned cnt;
};

void calls_init(struct calls *q);
void calls_add(struct calls *q, struct call *c);
/* The first one, or NULL. */
struct call *calls_take(struct calls *q);
/* Moves all of from before what is there. */
void calls_put_back(struct calls *q, struct calls *from);
/* Forgets all with that ctx: they call nobody any more. Returns their number. */
unsigned calls_forget(struct calls *q, const void *ctx);
bool calls_has(const struct calls *q, const void *ctx);
/* Frees them without calling anybody. */
void calls_drop(struct calls *q);

/* Whose process it is: looked up when it matters, which is seldom. */
uid_t call_owner(struct call *c);

/* Must nothing else be asked while it is pending? A repeated write may come late, over another's. */
static inline bool call_is_alone(const struct call *c)
{
	return c->request.op == PROBE_ANCHOR_WRITE || c->request.op == PROBE_PREPARE;
}

/* Pending requests per prober: it need not wait for krait between two. */
#define WINDOW 8

/* One prober. */
struct hand {
	struct worker *worker; /* NULL: none */
	bool aside; /* it has one request left, and gets no more */
	enum prober_lane lane;
	struct calls sent;
	struct judge judge; /* of its first request */
};

struct prober {
	unsigned hand_max;
	/* Live probers: ours, and those of all who share the limit. */
	unsigned own_cnt, *alive_cnt;
	unsigned pending;
	__u64 patience_ns[PROBER_LANES];
	struct calls waiting[PROBER_LANES];
	struct calls parked[PROBER_LANES]; /* for owners who keep a prober waiting now */
	struct hand hands[PROBERS_MAX];
	struct offenders offenders;
	unsigned depth; /* nested steps: an answer makes somebody ask and wait */
	bool failed; /* the last start failed, and that was logged */
	probe_tap_fn tap; /* may be NULL */
	void *tap_ctx;
	struct probe_message message;
};

/* Is that one sleeping over its first request? */
static inline bool hand_keeps_waiting(const struct hand *h)
{
	return h->worker && h->sent.first && h->sent.first->slow;
}

/* Starts it for that lane, if possible. */
bool hand_start(struct prober *p, struct hand *h, enum prober_lane lane);
/* Takes one of its answers. False: there is none now, or it has ended. */
bool hand_take_answer(struct prober *p, struct hand *h);
/* Does it progress, is it slow, does it hang? Returns when to look at it again; 0: never. */
__u64 hand_judge(struct prober *p, struct hand *h, __u64 now_ns);
/* Sets it aside: its other requests need not wait for the first, and it gets no more. */
void hand_set_aside(struct prober *p, struct hand *h);

/* How many more probers may be started. */
unsigned hands_unstarted(const struct prober *p);
/* Those, plus the idle ones. */
unsigned hands_spare(const struct prober *p);
/*
 * Makes room for other requests: the one that has kept a prober waiting longest gives way. It is
 * asked again when nobody else waits, unless it must not be repeated. Returns whether there is a
 * spare prober.
 */
bool hands_make_room(struct prober *p);

/* Passes the answer on, unless the request was forgotten. Closes the descriptors. */
void call_finish(struct prober *p, struct call *c, int result, const void *data, size_t len,
		 int fds[PROBE_FDS_MAX]);
/* Is it for an owner whose processes are no longer looked at? */
bool call_is_refused(const struct prober *p, struct call *c);
/* Sends what may be sent now. */
void calls_send_waiting(struct prober *p, enum prober_lane lane);

#endif /* KRAIT_PROCESS_PROBE_PROBER_HANDS_H */
