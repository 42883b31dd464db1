/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober.h - krait's side of its probers: what they are asked, and what becomes of those that hang.
 *
 * Requests of one lane are answered in their order, but for those of owners who keep a prober waiting
 * now: they come last, and never take the last prober. One that is not answered soon is set aside with its
 * prober, and the lane goes on with another one: a process that keeps its readers waiting keeps nobody
 * else waiting. One that does not come back at all is given up, and its process is to be left alone. A
 * prober that only waits for a processor is not judged.
 *
 * A request may be carried out twice (a prober that was set aside goes on until it is ended), but for
 * writes: one is out alone, and is never asked again.
 *
 * After a few of those the other processes of the same owner are not looked at any more: each costs
 * a process of ours that the kernel may never be able to end. Root's always are.
 *
 * Must hold: nothing waits for a prober but prober__wait(), and that no longer than it is asked to.
 * Not for several threads at once: each has its own.
 */
#ifndef KRAIT_TARGET_PROBER_H
#define KRAIT_TARGET_PROBER_H

#include <linux/types.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "target/probe.h"

struct prober;

enum prober_lane {
	PROBER_LATER, /* may be many at once: looks at processes */
	PROBER_NOW, /* somebody waits for the answer */
	PROBER_LANES
};

/* Probers of one struct prober that are alive, those set aside included. */
#define PROBERS_MAX 3U
/* The same of all that share a bound. */
#define PROBERS_ALIVE_MAX 4U
/* A prober that has slept that long over a request is slow: nobody waits for that answer. */
#define PROBER_PATIENCE_NS 100000000ULL
/* The same of PROBER_LATER, where nothing is lost by going on with others. */
#define PROBER_LOOK_PATIENCE_NS 10000000ULL
/* Nor for any answer longer than that, be it for want of a processor. */
#define PROBER_WAIT_NS 1000000000ULL
/* The same of a list of threads. */
#define PROBER_LIST_WAIT_NS 15000000000ULL
/* One that has not come by then, without any progress, does not come. */
#define PROBER_HUNG_NS 2000000000ULL
/* The same with progress, or for want of a processor. */
#define PROBER_HUNG_AT_ALL_NS 30000000000ULL

/*
 * An answer: result as that of the function it stands for, data and descriptors as probe.h says, the
 * latter to be taken by take_fd() or closed afterwards. Without an answer data is NULL and
 *  -ETIMEDOUT  it does not come: the process is to be left alone
 *  -EUSERS     nobody was asked: other processes of its owner did not come back
 *  -EIO        the prober has died of it
 *  -EAGAIN     there is no prober and none can be started
 */
typedef void (*probe_done_fn)(void *ctx, int result, const void *data, size_t len,
			      int fds[PROBE_FDS_MAX]);

/* worker_max: 1 to PROBERS_MAX. NULL: out of memory. Starts nothing yet. */
struct prober *prober__new(unsigned worker_max) __attribute__((warn_unused_result));
/* Others have to wait for one that is slow no longer than that, whatever the lane. */
void prober__hurry(struct prober *p, __u64 patience_ns) __attribute__((nonnull));
/*
 * All that count their probers there have PROBERS_ALIVE_MAX together; before the first request. Borrowed;
 * they may belong to several threads.
 */
void prober__share(struct prober *p, unsigned *alive_cnt) __attribute__((nonnull));
/* Every answer from then on, before whoever has asked gets it. fds: borrowed, NULL none. */
typedef void (*probe_tap_fn)(void *ctx, const struct probe_request *r, int result, const void *data,
			     size_t len, const int fds[PROBE_FDS_MAX]);
void prober__tap(struct prober *p, probe_tap_fn fn, void *ctx) __attribute__((nonnull(1)));
/* Starts the first one; identify: with what needs rights that krait is about to give up. */
void prober__prepare(struct prober *p, bool identify) __attribute__((nonnull));
/* Ends them; nobody is called any more. */
void prober__free(struct prober *p);

/*
 * Asks. The descriptors are borrowed until done is called, or forgotten. 0, -ENOMEM, -EUSERS: it will not
 * be called.
 */
int prober__ask(struct prober *p, enum prober_lane lane, const struct probe_request *r,
		const int *fds, unsigned fd_cnt, probe_done_fn done, void *ctx)
	__attribute__((warn_unused_result, nonnull(1, 3, 6)));
/* Nobody is called with that ctx any more. */
void prober__forget(struct prober *p, const void *ctx) __attribute__((nonnull));

/* Takes what has come, gives up what hangs, asks what waits. When to call it again, 0 whenever. */
__u64 prober__step(struct prober *p) __attribute__((nonnull));
/* The same after something has come, or timeout_ms. */
void prober__wait(struct prober *p, int timeout_ms) __attribute__((nonnull));
/* What to poll for: at most PROBERS_MAX. How many. */
unsigned prober__poll(const struct prober *p, struct pollfd fds[PROBERS_MAX])
	__attribute__((nonnull));

/* Is the request with that ctx one that is not answered soon, through no fault of ours? */
bool prober__is_slow(const struct prober *p, const void *ctx) __attribute__((nonnull));
/* Is it so because others of its owner are not? */
bool prober__is_parked(const struct prober *p, const void *ctx) __attribute__((nonnull));
/* Are there requests that will be answered soon? */
bool prober__others_wait(const struct prober *p) __attribute__((nonnull));
/* Called from a prober's answer: those of PROBER_LATER do not come before that is over. */
bool prober__is_nested(const struct prober *p) __attribute__((nonnull));
/* Is that one of these processes? */
bool prober__is_ours(const struct prober *p, pid_t pid) __attribute__((nonnull));
/* Requests without an answer that somebody waits for. */
unsigned prober__pending(const struct prober *p) __attribute__((nonnull));
/* Requests that keep a prober waiting now. */
unsigned prober__slow_cnt(const struct prober *p) __attribute__((nonnull));
/* Processes that did not come back, so far. */
unsigned prober__hung_cnt(const struct prober *p) __attribute__((nonnull));

#endif /* KRAIT_TARGET_PROBER_H */
