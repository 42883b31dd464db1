/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - one recording: owns the sampler, the processes, the collector and the launched
 * command, and starts and stops them in order. Life: new -> open -> step, until it returns false ->
 * close -> free.
 *
 * A step sleeps until the ring buffer is well filled, a process event comes, a timer is due, a
 * signal arrives, the command ends, or its caller has other things to do; it never spins.
 *
 * Must hold: however a recording ends, what was captured is in the profile, and the accounts
 * balance after session__close().
 */
#ifndef KRAIT_RECORD_RUN_SESSION_H
#define KRAIT_RECORD_RUN_SESSION_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "kernel/sampler/sampler.h"
#include "record/anchors/anchoring.h"
#include "record/samples/census.h"
#include "record/samples/collector.h"
#include "record/samples/residence.h"
#include "record/samples/stack_nodes.h"
#include "record/follow/filter.h"
#include "record/follow/processes.h"
#include "record/stack/stacks.h"

struct refusals;
struct session;

struct session_config {
	bool all;
	struct filter filter; /* on all processes */
	const pid_t *pids; /* or these processes and their descendants */
	size_t pid_cnt;
	bool late_rows; /* see unwinding__read_late() */
	struct prober *prober; /* borrowed, ready to use; NULL: starts its own */
	/* the pids were examined just now: take no descendants, and skip those that have ended */
	bool known;
	/* somebody else's command: the pids are followed, Python or not, and will execute it */
	bool becoming;
	char *const *
		command; /* or this command, NULL-terminated; beside pids only until it ends; NULL: none */
	struct sampler_config sampler;
	struct collector_config collector;
	__u64 duration_ns; /* 0: until a signal, or until everything followed has ended */
	bool says_costs; /* warn of processes of whose time samples take much (record/run/walk_costs.h) */
	bool say_starting; /* say on stderr that krait is starting, if it takes long */
	enum anchor_mode anchors;
	__u64 census_ns; /* between two counts of suspended tasks, if that is an event; 0: none */
	bool sources; /* keep lines that cannot be read later (record/samples/kept_sources.h) */
	bool tables; /* read what processes publish besides their runtimes (record/follow/tables.h) */
	FILE *inputs; /* borrowed: the log of everything that comes from outside; NULL: none */
	const struct priority *priority; /* for a launched command */
	bool knows_starts; /* somebody calls session__start_ticks() */
	/*
	 * NULL, or called from a step for SIGUSR2 and for each signal that would end the recording; true: it does not.
	 * from_terminal: every process of the terminal got it, as for Ctrl-C.
	 */
	bool (*on_signal)(void *ctx, int signal, bool from_terminal);
	void *on_signal_ctx;
};

/*
 * Says which threads session_config.collector.thread has left out: "12 python3, 13 worker-0"; "":
 * none. Returns their number.
 */
unsigned session__say_unwanted(const struct session *s, char *buf, size_t size);

/* Progress so far, over all events. */
struct session_progress {
	__u64 samples, lost; /* lost: as far as known by now */
	unsigned processes; /* currently present */
	/* processes that a look found to be Python, and the CPU time that they had used, unsampled */
	__u64 late, late_ns;
	/* processes that ended before they could be looked at (processes__unseen()) */
	__u64 unseen;
	__u64 names_put_off; /* as native_part_stats */
};

struct session_stats {
	double seconds; /* from the first interrupt enabled to the last */
	double first_sample_seconds; /* from session__new() to the first sample; < 0: none */
	unsigned processes; /* sampled, over the whole recording */
	unsigned unwanted; /* other Python processes, which the filter excludes */
	__u64 samples; /* of all events */
	__u64 mappings_reported; /* by the kernel, instead of being looked up */
	__u64 mappings_ahead; /* likewise, for unwinding only: kernel/sampler/mmap_events.h */
	__u64 thread_steps; /* thread states that the kernel side visited to find threads */
	__u64 not_own; /* of a recorder of krait broker: interrupts of threads with other rights */
	__u64 codes_replaced; /* code objects found with other contents in the same memory (3.8 to 3.11) */
	/*
	 * About time off the CPU: threads that found no room; ns of samples that could not be taken
	 * or sent, and of those whose stack was lost.
	 */
	__u64 waits_refused, waits_missed_ns, waits_lost_ns;
	struct switches_cost switches_cost;
	/* CPU time that no tick found and that the dictionary had no room for */
	__u64 unsampled_lost_ns;
	/* samples of asyncio tasks, and those among them that say that some are missing */
	__u64 task_chains, task_chains_cut;
	__u64 task_chains_late; /* samples taken before it was known where the tasks are */
	struct greenlets_stats greenlets;
	unsigned taskless; /* processes whose Python publishes nothing about its tasks */
	__u32 taskless_version; /* version of the last of these */
	struct census_stats census; /* of suspended tasks */
	struct residence_stats residence; /* of memory */
	struct stacks_stats stacks;
	struct anchoring_stats anchoring;
	struct native_part_stats natives;
	bool child_ended;
	int child_exit_code; /* valid if child_ended */
};

/*
 * For a recording that krait broker may ask of this process: loads its programs (sampler_load_ahead()). Returns 0, or a
 * negative result with *err filled.
 */
int session_load_ahead(const struct session_config *config, struct error *err)
	__attribute__((warn_unused_result, nonnull));
/* NULL with *err filled. *config and what it points to stay valid until free. */
struct session *session__new(const struct session_config *config, struct error *err);
/* Starts sampling, then lets the command go. Returns 0, or a negative result with *err filled. */
int session__open(struct session *s, struct error *err) __attribute__((warn_unused_result));
/*
 * Sleeps until something comes, or timeout_ns at most, then takes in what has come, for a moment at
 * most. False when the recording is over: time, a signal, the end of everything followed,
 * session__end().
 */
bool session__step(struct session *s, __u64 timeout_ns) __attribute__((warn_unused_result));
/* A step also ends when this descriptor is readable; < 0: none. */
void session__watch(struct session *s, int fd);
/*
 * The container that a tracked process runs in, "docker 0123456789ab"; "": none or unknown.
 * Printable.
 */
void session__container(struct session *s, pid_t pid, char *buf, size_t size);
/*
 * After session__close(): when the one process began that has had that pid in the recording, in clock ticks since boot. 0:
 * several processes have had it, or it is not known.
 */
__u64 session__start_ticks(struct session *s, pid_t pid);
/* After session__open(): stops sampling, and takes in all that is left. */
void session__close(struct session *s);
/* After session__close(), if source lines are wanted: reads them, which may take seconds. */
void session__read_sources(struct session *s);
/* After session__close(): did writing the log of inputs succeed? Returns 0 or -errno. */
int session__end_inputs(struct session *s) __attribute__((warn_unused_result));
/*
 * Between two steps, with config.sampler.looks: takes a sample of the first event, with weight 1,
 * of each thread that is off the CPU and stays off meanwhile. Returns the number of threads looked
 * at, or -errno.
 */
long session__look(struct session *s);
/*
 * Between two steps, if time off the CPU is an event: takes a sample of each wait that has lasted
 * at least that long, from its beginning until now. When such a wait ends, another sample covers all of
 * it. Returns the number of threads looked at, or -errno.
 */
long session__look_at_waits(struct session *s, __u64 shortest_ns);
/* Are there rows of already mapped native code yet to be read? Until then stacks may end early. */
bool session__lacks_rows(const struct session *s);
/*
 * Files whose rows have been read so far: if the number has grown, a stack that ended early may be
 * complete next time.
 */
__u64 session__rows_read(struct session *s);
/*
 * Between two steps: changes the clocks' rate, the depth at which Python stacks end, whether native
 * frames are taken (if the session takes them at all), and from which length on every wait has a
 * stack of its own; 0: no change.
 */
void session__set_detail(struct session *s, __u64 frequency, __u32 frames_max, bool natives,
			 __u64 wait_ns);
/*
 * Between two steps: looks at new processes later (processes__spare()), so that short-lived ones
 * cost next to nothing. 0: at once; at most SESSION_SPARING_MAX.
 */
#define SESSION_SPARING_MAX PROCESSES_SPARING_MAX
void session__spare(struct session *s, unsigned steps);
/*
 * Between two steps, while on: postpones almost everything that can wait. It looks at a process
 * only because of its samples, plus one a second (processes__starve()), reads no rows and symbols
 * of new files (unwinding__starve(), native_files__starve()), and lets nobody wake krait.
 */
void session__starve(struct session *s, bool on);
/* What names of one owner (bpf/share.h) have cost so far. */
struct session_names {
	__u64 ns; /* of finding out the names of code objects */
	__u64 bytes; /* of names and line tables, where they were new */
	__u64 left_out; /* frames that got none, since they were closed */
};
void session__names(const struct session *s, unsigned owner, struct session_names *ret);
/*
 * Between two steps: of the owner's processes, closed: code objects that are not known yet are not
 * read, and shown as MARK_LEFT_OUT; frames_max: where stacks end, if earlier than others', 0: like
 * others'.
 */
void session__bound_owner(struct session *s, unsigned owner, bool closed, __u32 frames_max);
/* "user 1000" */
void session__owner_name(const struct session *s, unsigned owner, char *buf, size_t size);
/* Frees the memory of helpers that have been idle that long; 0: of all that are not at work. */
void session__rest(struct session *s, __u64 idle_ns);
/* The current delay before new processes are looked at; 0: none. */
__u64 session__look_delay_ns(const struct session *s);
/* Run time of the programs in the kernel, with config.sampler.measure. */
__u64 session__kernel_ns(const struct session *s);
/* From a callback: ends the recording as if its time were over. */
void session__end(struct session *s);
void session__free(struct session *s);

const struct losses *session__losses(const struct session *s);
struct profile *session__profile(struct session *s);
/*
 * From collector.on_sample, with collector.lists: the list of the last sample that has one. Time that no
 * tick found has none.
 */
const struct stack_nodes *session__list(const struct session *s);
/* When the first interrupt was enabled, CLOCK_MONOTONIC. */
__u64 session__began_ns(const struct session *s);
/*
 * An event's accounts so far, and after session__close() those of the whole recording. Interrupts
 * whose records are still on their way are in `interrupts`, but under no reason yet.
 */
void session__accounts(const struct session *s, unsigned event, struct accounts *ret);
void session__progress(const struct session *s, struct session_progress *ret);
void session__stats(const struct session *s, struct session_stats *ret);
/* Warns where room ran out: whose samples were lost for that, and the remedy. */
void session__warn_of_shortages(const struct session *s);
/* Python processes that are not sampled so far, and why (record/follow/refusals.h). */
const struct refusals *session__refusals(const struct session *s);

#endif /* KRAIT_RECORD_RUN_SESSION_H */
