/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - one recording: owns the sampler, the processes, the collector and the launched
 * command, in their order of start and stop. Life: new -> open -> step, until it says no -> close -> free.
 *
 * A step sleeps until the ring buffer is well filled, a process event comes, a timer is due, a signal
 * arrives, the command ends, or its caller has other things to do; it never spins.
 *
 * Must hold: however a recording ends, what was captured is in the profile, and the accounts
 * balance after session__close().
 */
#ifndef KRAIT_SESSION_SESSION_H
#define KRAIT_SESSION_SESSION_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "sampler/sampler.h"
#include "session/anchoring.h"
#include "session/census.h"
#include "session/collector.h"
#include "session/greenlet_chains.h"
#include "follow/filter.h"
#include "follow/processes.h"
#include "stack/stacks.h"

struct session;

struct session_config {
	bool all;
	struct filter filter; /* of all */
	const pid_t *pids; /* or these, and their descendants */
	size_t pid_cnt;
	bool late_rows; /* as unwinding__read_late() */
	struct prober *prober; /* borrowed, one that is ready; NULL: it starts its own */
	bool known; /* they were looked at just now: without descendants, and who has ended since is passed over */
	char *const *command; /* or this one, NULL-terminated; NULL none */
	struct sampler_config sampler;
	struct collector_config collector;
	__u64 duration_ns; /* 0: until a signal, or the end of all that is followed */
	bool say_starting; /* on stderr, where that takes long */
	enum anchor_mode anchors;
	bool task_names; /* of asyncio tasks, in their stacks */
	bool opcodes; /* of the instruction of each frame of Python */
	__u64 census_ns; /* between two counts of suspended tasks, where that is an event; 0 none */
	bool greenlets; /* the parents of those that run (session/greenlet_chains.h) */
	bool tables; /* what processes publish beside their runtimes is wanted (follow/tables.h) */
	FILE *inputs; /* borrowed: where all that comes from outside is logged; NULL not wanted */
	const struct priority *priority; /* that a launched command shall have */
	/* NULL, or: SIGHUP ends nothing, and calls this, from a step. */
	void (*on_hangup)(void *ctx);
	void *on_hangup_ctx;
};

/* So far, of all events: how much there is, not what it says. */
struct session_progress {
	__u64 samples, lost; /* lost: as far as that is known by now */
	unsigned processes; /* that are there */
	__u64 late,
		late_ns; /* Python that a look has found, and the CPU time that it had used: not sampled */
	__u64 unseen; /* processes that have ended before it was their turn to be looked at (processes__unseen()) */
	__u64 names_put_off; /* frames without names while nothing could be read */
};

struct session_stats {
	double seconds; /* from the first interrupt enabled to the last */
	double first_sample_seconds; /* from session__new() to the first sample; < 0 none */
	unsigned processes; /* sampled in all */
	unsigned unwanted; /* other Python processes, which the filter leaves out */
	__u64 samples; /* of all events */
	__u64 mappings_reported; /* by the kernel, instead of being looked up */
	__u64 mappings_ahead; /* the same, for unwinding only: mmap_events.h */
	__u64 thread_steps; /* thread states that the kernel side looked at to find threads */
	/*
	 * Of time off the CPU: threads that found no room; ns of samples that could not be taken or sent, and of those whose
	 * stack was lost.
	 */
	__u64 waits_refused, waits_missed_ns, waits_lost_ns;
	struct switches_cost switches_cost;
	__u64 unsampled_lost_ns; /* of CPU time that no tick found: what the dictionary had no room for */
	__u64 task_chains,
		task_chains_cut; /* samples of asyncio tasks; of them those that say that some are missing */
	__u64 task_chains_late; /* samples that came before it was known where the tasks are */
	struct greenlet_chains_stats greenlets;
	unsigned taskless; /* processes whose Python publishes nothing of its tasks */
	__u32 taskless_version; /* of the one that came last */
	struct census_stats census; /* of suspended tasks */
	struct stacks_stats stacks;
	struct anchoring_stats anchoring;
	struct native_part_stats natives;
	bool child_ended;
	int child_exit_code; /* valid if child_ended */
};

/* NULL with *err filled. *config and what it points to stay valid until free. */
struct session *session__new(const struct session_config *config, struct error *err);
/* Begins to sample; then the command goes. 0, or a negative result with *err filled. */
int session__open(struct session *s, struct error *err) __attribute__((warn_unused_result));
/*
 * Takes in what has come, for a moment at most, after having slept until something came, or timeout_ns at
 * most. False when it is over: by its time, a signal, the end of all that is followed, session__end().
 */
bool session__step(struct session *s, __u64 timeout_ns) __attribute__((warn_unused_result));
/* A step ends as soon as the descriptor can be read, too; < 0: none. */
void session__watch(struct session *s, int fd);
/*
 * The container that a tracked process runs in, "docker 0123456789ab"; "" none, or not known. Printable.
 */
void session__container(struct session *s, pid_t pid, char *buf, size_t size);
/* After session__open(): samples no more, and takes in all that is left. */
void session__close(struct session *s);
/* After session__close(), where source lines are wanted: reads them, which may take seconds. */
void session__read_sources(struct session *s);
/* After session__close(): how writing the log of inputs went. 0 or -errno. */
int session__end_inputs(struct session *s) __attribute__((warn_unused_result));
/*
 * Between two steps, where config.sampler.looks: a sample of the first event, with the weight 1, of each thread that is off the
 * CPU and stays there meanwhile. How many were looked at, or -errno.
 */
long session__look(struct session *s);
/*
 * Between two steps, where time off the CPU is an event: a sample of each wait that has lasted for so long, from its begin
 * until now. There is one of the whole wait when it is over. How many were looked at, or -errno.
 */
long session__look_at_waits(struct session *s, __u64 shortest_ns);
/* Rows of native code that is there already are still to be read: stacks may end early until then. */
bool session__lacks_rows(const struct session *s);
/* Files whose rows were read so far: if there are more than before, a stack that ended early may not any more. */
__u64 session__rows_read(const struct session *s);
/*
 * Between two steps: at which rate the clocks go on, after how many frames Python stacks end, whether native
 * frames are taken (where the session takes them at all).
 */
void session__set_detail(struct session *s, __u64 frequency, __u32 frames_max, bool natives);
/*
 * Between two steps: processes that begin are looked at later (processes__spare()), so that those that end soon cost next
 * to nothing. 0 at once, up to SESSION_SPARING_MAX.
 */
#define SESSION_SPARING_MAX PROCESSES_SPARING_MAX
void session__spare(struct session *s, unsigned steps);
/*
 * Between two steps, while that is on: next to nothing is looked at that can wait. No process but for its samples' sake, and one a second
 * (processes__starve()), no rows and no symbols of files that have not been read (unwinding__starve(),
 * native_files__starve()), and nobody wakes krait.
 */
void session__starve(struct session *s, bool on);
/* Gives back the memory of helpers that have had nothing to do for so long; 0: of all that are not at work. */
void session__rest(struct session *s, __u64 idle_ns);
/* What that is now; 0 they are looked at at once. */
__u64 session__look_delay_ns(const struct session *s);
/* How long the programs in the kernel have run, with config.sampler.measure. */
__u64 session__kernel_ns(const struct session *s);
/* From a callback: nothing more is wanted; the recording ends as if its time were over. */
void session__end(struct session *s);
void session__free(struct session *s);

const struct losses *session__losses(const struct session *s);
struct profile *session__profile(struct session *s);
/* When the first interrupt was enabled, CLOCK_MONOTONIC. */
__u64 session__began_ns(const struct session *s);
/*
 * The accounts of an event: of all until now, and after session__close() those of the whole recording. Interrupts of which
 * the records are still on their way are in interrupts, and in no reason yet.
 */
void session__accounts(const struct session *s, unsigned event, struct accounts *ret);
void session__progress(const struct session *s, struct session_progress *ret);
void session__stats(const struct session *s, struct session_stats *ret);
/* Where room ended: whose samples were lost for that, and the remedy. */
void session__warn_of_shortages(const struct session *s);
/* Python processes that are not sampled, so far. */
__u64 session__refused_cnt(const struct session *s);
/* Python processes that were there but not sampled, one line per reason. */
void session__print_refused(const struct session *s, FILE *out);

#endif /* KRAIT_SESSION_SESSION_H */
