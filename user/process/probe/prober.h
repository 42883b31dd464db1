/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober.h - krait's side of its probers: their requests, and what becomes of probers that hang.
 *
 * Requests of one lane are answered in order, except those for owners who keep a prober waiting
 * now: they come last, and never take the last prober. If a request is not answered soon it is set
 * aside together with its prober, and the lane goes on with another one, so a process that keeps
 * its readers waiting delays nobody else. If an answer never comes the request is given up, and its
 * process should be left alone. A prober that merely waits for a processor is never blamed.
 *
 * A request may be carried out twice (a prober that was set aside goes on until it is ended),
 * except writes: only one is pending at a time, and it is never repeated.
 *
 * After a few hung requests the other processes of the same owner are no longer looked at: each
 * costs a process of ours that the kernel may never be able to end. Root's processes are always
 * looked at.
 *
 * Must hold: nothing waits for a prober but prober__wait(), and only as long as requested. Not for
 * use by several threads at once: each has its own.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBER_H
#define KRAIT_PROCESS_PROBE_PROBER_H

#include <linux/types.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "process/probe/probe.h"

struct prober;

enum prober_lane {
	PROBER_LATER, /* there may be many at once: looks at processes */
	PROBER_NOW, /* somebody waits for the answer */
	PROBER_LANES
};

/* Live probers of one struct prober, including those set aside. */
#define PROBERS_MAX 3U
/* The same over all that share a limit. */
#define PROBERS_ALIVE_MAX 4U
/* A prober that has slept this long over a request is slow: nobody waits for that answer. */
#define PROBER_PATIENCE_NS 100000000ULL
/* The same for PROBER_LATER, where going on with others loses nothing. */
#define PROBER_LOOK_PATIENCE_NS 10000000ULL
/* Nobody waits longer than this for any answer, even if it only lacks a processor. */
#define PROBER_WAIT_NS 1000000000ULL
/* The same for a list of threads. */
#define PROBER_LIST_WAIT_NS 15000000000ULL
/* An answer that has not come by then, without any progress, never comes. */
#define PROBER_HUNG_NS 2000000000ULL
/* The same with progress, or for lack of a processor. */
#define PROBER_HUNG_AT_ALL_NS 30000000000ULL

/*
 * Gets an answer: result as that of the function it stands for, data and descriptors as in probe.h.
 * Use take_fd() to keep a descriptor; the others are closed afterwards. Without an answer data is
 * NULL and
 *  -ETIMEDOUT  it will not come: leave the process alone
 *  -EUSERS     nobody was asked: other processes of its owner hung
 *  -EIO        the prober died of it
 *  -EAGAIN     there is no prober and none can be started
 */
typedef void (*probe_done_fn)(void *ctx, int result, const void *data, size_t len,
			      int fds[PROBE_FDS_MAX]);

/* worker_max: 1 to PROBERS_MAX. NULL: out of memory. Starts no prober yet. */
struct prober *prober__new(unsigned worker_max) __attribute__((warn_unused_result));
/* Sets how long others have to wait for a slow request, whatever the lane. */
void prober__hurry(struct prober *p, __u64 patience_ns) __attribute__((nonnull));
/*
 * All that count their live probers in *alive_cnt may have PROBERS_ALIVE_MAX together. Call before
 * the first request. Borrowed; they may belong to several threads.
 */
void prober__share(struct prober *p, unsigned *alive_cnt) __attribute__((nonnull));
/* The tap gets every answer from then on, before the requester does. fds: borrowed; may be NULL. */
typedef void (*probe_tap_fn)(void *ctx, const struct probe_request *r, int result, const void *data,
			     size_t len, const int fds[PROBE_FDS_MAX]);
void prober__tap(struct prober *p, probe_tap_fn fn, void *ctx) __attribute__((nonnull(1)));
/* Starts the first one; identify: including what needs rights that krait is about to give up. */
void prober__prepare(struct prober *p, bool identify) __attribute__((nonnull));
/* Ends them; no callback is called any more. */
void prober__free(struct prober *p);

/*
 * Asks. The descriptors are borrowed until done is called or forgotten. Returns 0, -ENOMEM,
 * -EUSERS: done will not be called.
 */
int prober__ask(struct prober *p, enum prober_lane lane, const struct probe_request *r,
		const int *fds, unsigned fd_cnt, probe_done_fn done, void *ctx)
	__attribute__((warn_unused_result, nonnull(1, 3, 6)));
/* No callback with that ctx is called any more. */
void prober__forget(struct prober *p, const void *ctx) __attribute__((nonnull));

/* Takes answers, gives up what hangs, sends what waits. Returns when to call it again; 0: any time. */
__u64 prober__step(struct prober *p) __attribute__((nonnull));
/* The same after something has come, or after timeout_ms. */
void prober__wait(struct prober *p, int timeout_ms) __attribute__((nonnull));
/* Fills in what to poll for: at most PROBERS_MAX. Returns their number. */
unsigned prober__poll(const struct prober *p, struct pollfd fds[PROBERS_MAX])
	__attribute__((nonnull));

/* Is the request with that ctx slow, through no fault of ours? */
bool prober__is_slow(const struct prober *p, const void *ctx) __attribute__((nonnull));
/* Is it slow because others of its owner are? */
bool prober__is_parked(const struct prober *p, const void *ctx) __attribute__((nonnull));
/* Are there requests that will be answered soon? */
bool prober__others_wait(const struct prober *p) __attribute__((nonnull));
/* Are we called from a prober's answer? PROBER_LATER's answers wait until that is over. */
bool prober__is_nested(const struct prober *p) __attribute__((nonnull));
/* Is that pid one of our probers? */
bool prober__is_ours(const struct prober *p, pid_t pid) __attribute__((nonnull));
/* Unanswered requests that somebody waits for. */
unsigned prober__pending(const struct prober *p) __attribute__((nonnull));
/* Requests that keep a prober waiting now. */
unsigned prober__slow_cnt(const struct prober *p) __attribute__((nonnull));
/* Processes that have hung so far. */
unsigned prober__hung_cnt(const struct prober *p) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PROBE_PROBER_H */
