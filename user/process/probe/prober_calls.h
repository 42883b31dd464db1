/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_calls.h - queues of unanswered requests to probers.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBER_CALLS_H
#define KRAIT_PROCESS_PROBE_PROBER_CALLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/probe/prober.h"

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

#endif /* KRAIT_PROCESS_PROBE_PROBER_CALLS_H */
