/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sampler.h - the kernel side as an object: programs, maps, perf events, ring buffer.
 *
 * Life: new (load, attach process events) -> track processes -> start (interrupts begin) -> drain,
 * as often as its fd is readable or a timer says -> stop (interrupts end) -> drain until it is drained
 * -> counters -> free. Freeing at any point is safe, and so is being killed: the kernel drops everything with the
 * last file descriptor.
 *
 * Must hold: only this module touches the maps' hashes; records are checked before anyone sees them.
 */
#ifndef KRAIT_SAMPLER_SAMPLER_H
#define KRAIT_SAMPLER_SAMPLER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "abi.h"
#include "sampler/switches.h"
#include "util/error.h"
#include "util/event.h"

struct anchors;
struct owner_books;
struct queue;
struct sampler;

struct sampler_config {
	const struct event_spec *events; /* borrowed; records have their index in here */
	unsigned event_cnt; /* 1 to KRAIT_MAX_EVENTS */
	size_t ring_bytes; /* 0: sized from the number of CPUs */
	bool follow_all; /* every process, not only those tracked or watched and their children */
	__u64 unwind_bytes; /* memory for rows, at most; 0: the usual */
	__u32 audit_every; /* one delta in so many is checked; 0 none */
	bool anchors; /* somebody will read the queue for them: see sampler__queue() */
	__u32 anchor_worth; /* the frames that a record has to have for that: see ring__new() */
	bool whole_time; /* of a clock: ticks that never come count at the next one that does; what no tick finds is told with waits */
	bool states; /* samples say what the thread does with the GIL; always with time off the CPU */
	bool native, kernel; /* also take native frames of user mode, and those of the kernel */
	bool jitter; /* the rate of clocks, all of one frequency, changes around it all the time */
	bool tasks; /* and the asyncio tasks that await the one that a thread runs */
	bool task_names; /* with their names */
	bool greenlets; /* and the parents of the greenlet that a thread runs */
	bool looks; /* somebody will look at threads (sampler__look_at_threads()); always with time off the CPU */
	bool only_looks; /* and nobody wants samples: with looks */
	bool opcodes; /* of the instruction of each frame of Python */
	bool measure; /* COUNTER_OWN_NS is wanted */
};

/* Called in the order in which the kernel wrote the records. */
struct sampler_handler {
	void (*sample)(void *ctx, const struct record_sample *record);
	void (*task)(void *ctx, const struct record_task *record);
	/* data is cut to record->data_size. */
	void (*code)(void *ctx, const struct record_code *record);
	void (*mmap)(void *ctx, const struct record_mmap *record);
	void (*bad_record)(void *ctx);
	/* NULL, or called with each before that, as it came. */
	void (*raw)(void *ctx, const void *data, size_t size);
	void *ctx;
};

/* Loads the programs and follows process events from then on. NULL with *err filled. */
struct sampler *sampler__new(const struct sampler_config *config,
			     const struct sampler_handler *handler, struct error *err);
void sampler__free(struct sampler *s);

/* Starts the perf events, one of each kind on each online CPU. */
int sampler__start(struct sampler *s, struct error *err) __attribute__((warn_unused_result));
void sampler__stop(struct sampler *s);
/* To be called some times a second. Follows CPUs that came online or went, and gives jittering clocks another rate. */
void sampler__follow_cpus(struct sampler *s);

/*
 * From now on: clocks that have a rate get this one, on CPUs that come later, too. Samples say themselves what they
 * stand for. Not with jitter.
 */
void sampler__set_rate(struct sampler *s, __u64 frequency);
/* Python stacks end after so many frames (KRAIT_MAX_FRAMES at most); native frames are left out. */
void sampler__set_detail(struct sampler *s, __u32 frames_max, bool natives);
/* Processes that begin wake nobody up: they are taken with what comes next. */
void sampler__hush(struct sampler *s, bool on);

/* Interrupts after that time, CLOCK_MONOTONIC, are not taken: not even counted. */
void sampler__end_at(struct sampler *s, __u64 end_ns);

/*
 * A thread empties the ring buffer from the start on (reader.h), so records wait here as long as they
 * must. To sleep until there are some: sampler__arm(), and if it says so, poll the descriptor, then
 * sampler__disarm().
 */
int sampler__fd(const struct sampler *s);
bool sampler__arm(struct sampler *s);
void sampler__disarm(struct sampler *s);
/* Hands out records until there are none, or that time has come; true in the second case. */
bool sampler__drain(struct sampler *s, __u64 until_ns);
/* After sampler__stop(): every record has been handed out. */
bool sampler__is_drained(struct sampler *s);
/* For the one who reads CURSOR_ANCHORS. */
struct queue *sampler__queue(struct sampler *s);

/* What the kernel knows of interpreters: where things are in them, and which files have one. */
struct layouts *sampler__layouts(struct sampler *s);
struct known_files *sampler__known_files(struct sampler *s);
struct plain_files *sampler__plain_files(struct sampler *s);

/*
 * Interrupts of the process count and are walked from now on, and so are those of its children. info:
 * runtime_addr, start_ns, owner, layout (of layouts.h, with a user) and flags, PROC_PYTHON among them.
 * -EDQUOT when its owner has its share of processes, -ESRCH when it has gone, -EINVAL without PROC_PYTHON. Starts of processes as same_start() has them.
 */
int sampler__track(struct sampler *s, pid_t pid, const struct proc_info *info)
	__attribute__((warn_unused_result));
/* Follows a process that is not Python: its children, and what it executes. */
int sampler__watch(struct sampler *s, pid_t pid, __u64 start_ns, unsigned owner);
/* Forgets the process, unless the pid is another one's by now. Its threads keep their slots. */
void sampler__untrack(struct sampler *s, pid_t pid, __u64 start_ns);
/* Mappings of code of tracked processes come as records from then on. */
bool sampler__reports_mappings(const struct sampler *s);
/* Interrupts of it that found the ring buffer full; until it exits, when the event says it. */
__u64 sampler__dropped(const struct sampler *s, pid_t pid, __u64 start_ns);
/* The owner of a host uid (bpf/share.h), the same one all the time; and what each owner takes up. */
unsigned sampler__owner(const struct sampler *s, __u32 uid);
const struct owner_books *sampler__owner_books(const struct sampler *s);

/*
 * What the kernel unwinds native stacks with; NULL where none are wanted. A process has one of its spaces
 * (unwind/tables.h), 0 none. 0 or -errno.
 */
struct unwind_tables *sampler__unwind_tables(struct sampler *s);
int sampler__set_space(struct sampler *s, pid_t pid, __u64 start_ns, __u32 space)
	__attribute__((nonnull));

/*
 * Where the asyncio tasks of a tracked process are; NULL: that is not known any more. 0 or -errno. A fork has
 * none of its own.
 */
int sampler__set_tasks(struct sampler *s, pid_t pid, const struct task_layout *layout);

/* The same of its greenlets. */
int sampler__set_greenlets(struct sampler *s, pid_t pid, const struct greenlet_place *place);

/*
 * Gives the sampled thread a slot; without one it is searched for at every sample. *slot: as slots.h
 * has it, KRAIT_NO_SLOT at first. This, the ties and the removals may be called by any thread.
 */
int sampler__add_thread(struct sampler *s, const struct record_sample *record, __u32 *slot);
__u64 sampler__slots_refused(const struct sampler *s, unsigned owner);
/* Gives the slot back, if it is still that thread's. */
void sampler__remove_thread(struct sampler *s, __u32 slot, pid_t tid, __u64 start_ns);

/* The anchors, and the tie of one to a thread that has a slot (KRAIT_NO_ANCHOR: none). */
struct anchors *sampler__anchors(const struct sampler *s);
int sampler__tie_anchor(struct sampler *s, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor);

/*
 * Every thread of the tracked processes, as it is now; the caller frees *ret. Their number, 0 where nobody has asked
 * for looks, or -errno. After sampler__stop() what it says of waits is as it was then.
 */
struct thread_look;
long sampler__look_at_threads(const struct sampler *s, struct thread_look **ret);

/* What the timers of a clock that was sampled have done, on all CPUs together. */
struct sampler_ticks {
	__u64 asked; /* due while it was on; 0 of events that are no clock */
	__u64 delivered; /* whatever ran there */
	__u64 missed_here; /* due right before one that hit a process that is followed, and never came */
};
/* After sampler__stop(). 0 or -errno. */
int sampler__ticks(const struct sampler *s, unsigned event, struct sampler_ticks *ret)
	__attribute__((warn_unused_result));

/* Sums over all CPUs: of one counter (enum counter), of what is counted for one event. 0 or -errno. */
int sampler__counter(const struct sampler *s, __u32 counter, __u64 *ret)
	__attribute__((warn_unused_result));
int sampler__event_counts(const struct sampler *s, unsigned event, struct event_counts *ret)
	__attribute__((warn_unused_result));
/* All 0 where time off the CPU is not asked for. 0 or -errno. */
int sampler__switches_cost(const struct sampler *s, struct switches_cost *ret)
	__attribute__((warn_unused_result));

#endif /* KRAIT_SAMPLER_SAMPLER_H */
