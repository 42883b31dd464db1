/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sampler.h - the kernel side as an object: programs, maps, perf events, ring buffer.
 *
 * Life: new (load, attach process events) -> track processes -> start (interrupts begin) -> drain,
 * whenever its fd is readable or a timer fires -> stop (interrupts end) -> drain until it is
 * drained -> counters -> free. Freeing at any point is safe, and so is being killed: the kernel
 * drops everything with the last file descriptor.
 *
 * Must hold: only this module accesses the hash maps; records are checked before anyone sees them.
 */
#ifndef KRAIT_KERNEL_SAMPLER_SAMPLER_H
#define KRAIT_KERNEL_SAMPLER_SAMPLER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "kernel/sampler/ride.h"
#include "kernel/sampler/switches.h"
#include "base/system/error.h"
#include "base/system/event.h"

struct anchors;
struct known_files;
struct layouts;
struct owner_books;
struct plain_files;
struct queue;
struct sampler;
struct unwind_tables;

#define SAMPLER_UNWIND_BYTES (64ULL << 20)

/* Of the ring buffer if somebody wants so many; want 0: for this number of CPUs. */
size_t sampler_ring_bytes(size_t want);

struct sampler_config {
	const struct event_spec *events; /* borrowed; records have their index in this array */
	unsigned event_cnt; /* 1 to KRAIT_MAX_EVENTS */
	size_t ring_bytes; /* about: see sampler_ring_bytes() */
	bool follow_all; /* every process, not only those tracked or watched and their children */
	__u64 unwind_bytes; /* most memory for rows; 0: SAMPLER_UNWIND_BYTES */
	__u32 audit_every; /* one delta in this many is checked; 0: none */
	bool anchors; /* somebody will read the queue for anchors: see struct sampler_parts */
	__u32 anchor_worth; /* frames that a record must have for that: see ring__new() */
	/*
	 * clocks account for all time: a tick also stands for those before it that never came, and
	 * what no tick found is reported with waits
	 */
	bool whole_time;
	/* samples say how the thread stands to the GIL; always on with time off the CPU */
	bool states;
	bool native, kernel; /* take native frames of user mode; take frames of the kernel */
	bool jitter; /* the rates of clocks, which all have the same frequency, wander further */
	/*
	 * of a process's time that its samples may take, in thousandths: if they would take more, its threads get fewer,
	 * each of which stands for more; 0: as many as there are ticks. Of clocks only.
	 */
	__u32 budget_permille;
	bool tasks; /* take the asyncio tasks that await the thread's running one */
	bool task_names; /* include their names */
	bool greenlets; /* take the parents of the thread's current greenlet */
	/* somebody will call sampler__look_at_threads(); always on with time off the CPU */
	bool looks;
	bool only_looks; /* with looks: nobody wants samples */
	bool opcodes; /* record the instruction of each Python frame */
	bool measure; /* count COUNTER_OWN_NS */
	/* Only threads while they have one of these file system ids; user_cnt 0: all. */
	const uid_t *users; /* borrowed */
	size_t user_cnt; /* at most KRAIT_MAX_USERS */
	/*
	 * Another program's events (ride.h) instead of own ones; cnt 0: none. There is one event, and a record's period is
	 * the time of that program's sample by the clock that it chose; 0: the kernel does not say it in time.
	 */
	struct ride ride;
};

/* Called in the order in which the kernel wrote the records. NULL: nobody wants those. */
struct sampler_handler {
	void (*sample)(void *ctx, const struct record_sample *record);
	void (*task)(void *ctx, const struct record_task *record);
	/* data is truncated to record->data_size. */
	void (*code)(void *ctx, const struct record_code *record);
	void (*mmap)(void *ctx, const struct record_mmap *record);
	void (*clock)(void *ctx, const struct record_clock *record);
	void (*bad_record)(void *ctx);
	/* Called first, with each record as it came. */
	void (*raw)(void *ctx, const void *data, size_t size);
	void *ctx;
};

/*
 * Loads programs and maps for the next sampler__new() of this process, and attaches nothing. That takes them if its settings
 * are the same but for rates and whose threads it samples; else it loads its own. Returns 0, or a negative result with *err
 * filled.
 */
int sampler_load_ahead(const struct sampler_config *config, struct error *err)
	__attribute__((warn_unused_result, nonnull));

/* Loads the programs and follows process events from then on. NULL with *err filled. */
struct sampler *sampler__new(const struct sampler_config *config,
			     const struct sampler_handler *handler, struct error *err);
void sampler__free(struct sampler *s);

/* Starts the perf events, one of each kind on each online CPU. */
int sampler__start(struct sampler *s, struct error *err) __attribute__((warn_unused_result));
/*
 * Ends the recording: no interrupt comes from now on, but a thread that comes back within SWITCH_GRACE_NS still gets the
 * stack of the wait that it was in at the end. For who reads the stacks of all other open waits before sampler__stop().
 */
void sampler__end(struct sampler *s);
void sampler__stop(struct sampler *s);
/*
 * Has all records moved that are in the ring now. When they are, sampler__has_moved() says so, and sampler__drain() hands
 * out all of them.
 */
void sampler__move(struct sampler *s);
bool sampler__has_moved(const struct sampler *s);
/*
 * Call a few times a second. Follows CPUs that come online or go, and lets the rates of clocks
 * wander.
 */
void sampler__follow_cpus(struct sampler *s);

/*
 * From now on clocks with a rate get this one, also on CPUs that come later. Samples themselves say
 * what they stand for. Not with jitter.
 */
void sampler__set_rate(struct sampler *s, __u64 frequency);
/*
 * Ends Python stacks after that many frames (at most KRAIT_MAX_FRAMES); turns native frames on or
 * off.
 */
void sampler__set_detail(struct sampler *s, __u32 frames_max, bool natives, __u64 wait_ns);
/* While on, new processes do not wake us: they are read together with what comes next. */
void sampler__hush(struct sampler *s, bool on);

/* Interrupts after that time, CLOCK_MONOTONIC, are ignored: not even counted. */
void sampler__end_at(struct sampler *s, __u64 end_ns);

/* What it consists of, for who needs one part. They live as long as it does. */
struct sampler_parts {
	/*
	 * A thread empties the ring buffer from the start on (reader.h), so records can wait here as
	 * long as necessary; CURSOR_MAIN is read by sampler__drain(), CURSOR_ANCHORS by who wants it.
	 */
	struct queue *queue;
	/* What the kernel knows about interpreters: their layouts, and which files contain one. */
	struct layouts *layouts;
	struct known_files *known_files;
	struct plain_files *plain_files;
	struct owner_books *books; /* owners of uids (bpf/share.h), and what each uses */
	struct anchors *anchors;
	/*
	 * The kernel's tables for unwinding; NULL if native stacks are not wanted. A process has one of
	 * their spaces (native/rows/tables.h).
	 */
	struct unwind_tables *tables;
};
const struct sampler_parts *sampler__parts(const struct sampler *s) __attribute__((nonnull));

/* Hands out records until there are none, or until that time; true in the second case. */
bool sampler__drain(struct sampler *s, __u64 until_ns);
/*
 * From now on interrupts of the process and its children count and are walked. info: runtime_addr,
 * start_ns, owner, layout (of layouts.h, with a user) and flags, including PROC_PYTHON. -EDQUOT:
 * its owner has its share of processes, -ESRCH: it has gone, -EINVAL: without PROC_PYTHON. Process
 * starts as for same_start().
 */
int sampler__track(struct sampler *s, pid_t pid, const struct proc_info *info)
	__attribute__((warn_unused_result));
/* Follows a process that is not Python: its children, and what it executes. */
int sampler__watch(struct sampler *s, pid_t pid, __u64 start_ns, unsigned owner);
/* Forgets the process, unless another has the pid by now. Its threads keep their slots. */
void sampler__untrack(struct sampler *s, pid_t pid, __u64 start_ns);
/* Do mappings of code in tracked processes come as records from then on? */
bool sampler__reports_mappings(const struct sampler *s);
/* Where the kernel has put krait's own code: see programs_code(). fn is called for what is loaded later, too. */
void sampler__code(struct sampler *s, void (*fn)(void *ctx, __u64 start, __u32 size), void *ctx);
/*
 * The process's interrupts that found the ring buffer full; until it exits, when the exit event has
 * the number.
 */
__u64 sampler__dropped(const struct sampler *s, pid_t pid, __u64 start_ns);
/*
 * What the interrupts of the process take, on average, in ns; *ret_cnt: of how many that is known. Returns 0 or
 * -errno.
 */
int sampler__walk_ns(const struct sampler *s, pid_t pid, __u64 start_ns, __u64 *ret, __u64 *ret_cnt)
	__attribute__((warn_unused_result, nonnull));
/*
 * Of the owner's processes: closed: the kernel sends no snapshots of code objects; frames_max: where
 * stacks end, if that is earlier than others', 0: like others'.
 */
void sampler__bound_owner(struct sampler *s, unsigned owner, bool closed, __u32 frames_max);

/* Gives the process one of the tables' spaces; 0: none. Returns 0 or -errno. */
int sampler__set_space(struct sampler *s, pid_t pid, __u64 start_ns, __u32 space)
	__attribute__((nonnull));

/*
 * Sets where the asyncio tasks of a tracked process are; NULL: unknown from now on. Returns 0 or
 * -errno. A fork starts without.
 */
int sampler__set_tasks(struct sampler *s, pid_t pid, const struct task_layout *layout);

/* The same for its greenlets. */
int sampler__set_greenlets(struct sampler *s, pid_t pid, const struct greenlet_place *place);

/*
 * Gives the sampled thread a slot; without one every sample searches for its thread state. *slot:
 * from slots.h, initially KRAIT_NO_SLOT. This, the ties and the removals may be called by any
 * thread.
 */
int sampler__add_thread(struct sampler *s, const struct record_sample *record, __u32 *slot);
__u64 sampler__slots_refused(const struct sampler *s, unsigned owner);
/* Returns the slot, if it still belongs to that thread. */
void sampler__remove_thread(struct sampler *s, __u32 slot, pid_t tid, __u64 start_ns);

/* Ties an anchor to a thread with a slot (KRAIT_NO_ANCHOR: none). */
int sampler__tie_anchor(struct sampler *s, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor);

/*
 * Every thread of the tracked processes, as it is now; the caller frees *ret. Returns their number,
 * 0 if looks were not requested, or -errno. After sampler__stop() the state of waits is that of the
 * stop.
 */
struct thread_look;
long sampler__look_at_threads(const struct sampler *s, struct thread_look **ret);

/*
 * Has the clock of each thread of the tracked processes come as a record, behind the samples so far.
 * Records of threads that begin to be sampled at an exec, and of those that end, come by themselves.
 * Does nothing where no event's every tick becomes a sample, or the kernel has no iterators.
 */
void sampler__read_clocks(const struct sampler *s);

/* What the timers of a sampled clock have done, over all CPUs. */
struct sampler_ticks {
	__u64 asked; /* due while it was on; 0 for events that are not clocks */
	__u64 missed; /* due while a thread of a tracked process ran, but never came */
};
/* After sampler__stop(). Returns 0 or -errno. */
int sampler__ticks(const struct sampler *s, unsigned event, struct sampler_ticks *ret)
	__attribute__((warn_unused_result));

/* Sums over all CPUs: of one counter (enum counter), or of one event's counts. Returns 0 or -errno. */
int sampler__counter(const struct sampler *s, __u32 counter, __u64 *ret)
	__attribute__((warn_unused_result));
int sampler__event_counts(const struct sampler *s, unsigned event, struct event_counts *ret)
	__attribute__((warn_unused_result));
/* All 0 if time off the CPU is not wanted. Returns 0 or -errno. */
int sampler__switches_cost(const struct sampler *s, struct switches_cost *ret)
	__attribute__((warn_unused_result));

#endif /* KRAIT_KERNEL_SAMPLER_SAMPLER_H */
