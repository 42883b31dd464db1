/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parts.h - what a session consists of: assembly.c makes and frees it, session.c runs it, ending.c
 * ends it, looks.c queries it for waiting threads, figures.c for what it has counted.
 */
#ifndef KRAIT_RECORD_RUN_PARTS_H
#define KRAIT_RECORD_RUN_PARTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "record/run/pid_starts.h"
#include "record/run/session.h"
#include "record/run/signals.h"
#include "record/run/walk_costs.h"

struct accounts;
struct anchor_thread;
struct census;
struct child;
struct collector;
struct descriptors;
struct input_writer;
struct kept_sources;
struct modules;
struct native_files;
struct native_places;
struct perf_mappings;
struct prober;
struct processes;
struct residence;
struct resting_memory;
struct sampler;
struct starting;

struct session {
	const struct session_config *config;
	struct modules *modules; /* NULL: native frames are not wanted */
	struct native_files *native_files; /* NULL likewise */
	struct native_places *places; /* NULL: source lines are not wanted */
	struct collector *collector;
	struct sampler *sampler;
	struct prober *prober;
	unsigned probers_alive; /* including those of the anchors' thread */
	struct processes *processes;
	struct anchor_thread *anchors; /* NULL: not wanted */
	struct unwinding *unwinding; /* NULL: no native stacks */
	struct perf_mappings *mappings; /* NULL: the sampler reports them, or nobody does */
	struct input_writer *inputs; /* NULL: not logged */
	struct pid_starts ended; /* processes, with config->knows_starts */
	struct child *child;
	struct signals signals;
	struct starting *starting;
	struct descriptors *descriptors;
	bool starving; /* session__starve() */
	int watched_fd; /* the caller's; -1: none */
	struct rlimit old_files; /* the limit before it was raised: the command gets it back */
	struct walk_costs walk_costs;
	__u64 created_ns, started_ns, stopped_ns, upkept_ns, events_dropped, thread_steps,
		codes_replaced, not_own;
	__u64 named_ns; /* when native names were last requested */
	__u64 clocked_ns; /* when threads' clocks were last read */
	unsigned clocked_cnt; /* processes seen by then */
	__u64 retry_ns; /* when to look at a process again; 0: never */
	struct kept_sources *sources; /* NULL: not wanted */
	struct census *census; /* of suspended tasks; NULL: none */
	struct residence *residence; /* of memory; NULL: not wanted */
	unsigned touched; /* number of its event */
	struct resting_memory *waits; /* waits open at the last look; NULL: there was none */
	__u64 open_waits; /* waits still open at the end */
	__u64 waits_refused, waits_missed_ns; /* as in struct session_stats */
	struct switches_cost switches_cost;
	__u64 end_ns; /* when to stop; 0: at a signal or an end */
	bool unwanted; /* session__end() */
	bool signalled;
	int signal; /* that ended it; 0: none */
	bool from_terminal; /* the command got it, too */
	bool stopped_child;
};

/* The handler for the session's records. */
struct sampler_handler session_handler(struct session *s) __attribute__((nonnull));
/* All parts exist: connects them to each other. */
void session_connect(struct session *s) __attribute__((nonnull));

/*
 * Stops sampling, takes in what is left and closes the books. For session__close(), and for a
 * command that cannot start.
 */
void session_finish(struct session *s) __attribute__((nonnull));

/* Takes in all records that are in the ring now, unless they keep coming. */
void session_take_in(struct session *s) __attribute__((nonnull));

/*
 * Threads that are off the CPU when a recording ends: the kernel side takes the stack of a wait when
 * the thread comes back, which is too late for these; some have slept all along. Call after
 * sampler__end(), with all records taken in: stops the sampler, and passes a sample for each such
 * wait, up to end_ns, to the collector. event, threshold_ns: of the time off the CPU, as in switch.h.
 * Returns their number. Must hold: each wait is counted once, by the kernel side or here.
 */
__u64 session_take_open_waits(struct session *s, unsigned event, __u64 threshold_ns, __u64 end_ns)
	__attribute__((nonnull));

/*
 * The length of the recording, in whole milliseconds: what a capture keeps, so that all that show it agree.
 */
__u64 session_length_ns(const struct session *s) __attribute__((nonnull));

/* Fills in how many ticks of the event's clock were requested, and how many came. */
void session_note_ticks(const struct session *s, unsigned event, struct accounts *a)
	__attribute__((nonnull));

#endif /* KRAIT_RECORD_RUN_PARTS_H */
