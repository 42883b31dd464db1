/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collector.h - records in, profile out: merges the stack, names what is new in it, and counts it.
 *
 * Must hold: every sample record adds exactly one to the accounts, and every complete or truncated
 * one exactly one sample to the profile.
 */
#ifndef KRAIT_RECORD_SAMPLES_COLLECTOR_H
#define KRAIT_RECORD_SAMPLES_COLLECTOR_H

#include <linux/types.h>

#include "bpf/abi.h"
#include "profile/profile.h"
#include "profile/thread_filter.h"
#include "record/samples/native_part.h"
#include "record/stack/edits.h"

struct anchor_thread;
struct collector;
struct greenlets_stats;
struct native_files;
struct native_places;
struct process;
struct processes;
struct sampler;
struct stack_nodes;
struct thread;
struct mentions;
struct unwinding;

/* Called for each sample that enters the profile, in the order of the records. */
typedef void (*collector_sample_fn)(void *ctx, const struct profile *profile,
				    const struct profile_sample *sample);

struct collector_config {
	const struct event_spec *events; /* in the order of record_sample.event */
	unsigned event_cnt;
	unsigned label; /* enum label_part, for process frames */
	/* Samples that do not match are counted as unwanted (accounts.unwanted). */
	__u64 states; /* a set of profile/states.h; 0: all */
	bool holds_gil; /* only threads that hold it */
	struct thread_filter thread;
	collector_sample_fn on_sample;
	void *on_sample_ctx;
	struct native_part_options natives;
	enum async_mode async; /* how stacks of asyncio tasks look */
	bool lists; /* on_sample looks at collector__nodes() */
};

/* files: borrowed; NULL if native frames are not wanted. NULL on failure. */
struct collector *collector__new(const struct collector_config *config, struct native_files *files);
void collector__free(struct collector *c);

/* As native_part__keep_places(). */
void collector__keep_places(struct collector *c, struct native_places *places);
/* All are borrowed and must outlive their use here. anchors, unwinding: may be NULL. */
void collector__connect(struct collector *c, struct processes *processes, struct sampler *sampler,
			struct anchor_thread *anchors, struct unwinding *unwinding);

void collector__sample(struct collector *c, const struct record_sample *record);
/*
 * Names a suspended task of the process's main thread: record has its chain (SECTION_TASKS);
 * afterwards its comm is the thread's name. Returns its node; 0: not wanted, or no room. Tasks at
 * one node count as one sample.
 */
__u32 collector__task_node(struct collector *c, struct record_sample *record);
/* Returns the number of samples that it has become. */
unsigned collector__put_tasks(struct collector *c, const struct record_sample *record, __u32 node);
void collector__bad_record(struct collector *c);
/* The program has named it, or given it another name. */
void collector__thread_renamed(struct collector *c, struct thread *thread);
void collector__thread_gone(struct collector *c, struct thread *thread);
void collector__process_gone(struct collector *c, struct process *process);
/* As native_part__late_names(). */
struct late_names *collector__late_names(const struct collector *c);
/* Are there native names to ask for again, because they did not come in time? */
bool collector__names_later(const struct collector *c);

/* Threads that config.thread has left out. */
struct mentions collector__unwanted(const struct collector *c);

const struct native_part_stats *collector__native_stats(const struct collector *c);
const struct stacks_stats *collector__stacks_stats(const struct collector *c);
/*
 * Samples of asyncio tasks; those among them that say that tasks or frames are missing (*ret_cut);
 * and samples without tasks that may have had some (*ret_late).
 */
void collector__task_chains(const struct collector *c, __u64 *ret_all, __u64 *ret_cut,
			    __u64 *ret_late);
/* About samples of greenlets. */
const struct greenlets_stats *collector__greenlets(const struct collector *c);
/* Samples of an owner (bpf/share.h) that found no room in the profile. */
__u64 collector__no_room(const struct collector *c, unsigned owner);
struct losses;
const struct losses *collector__losses(const struct collector *c);
struct profile *collector__profile(struct collector *c);
/* The list of the last sample. */
const struct stack_nodes *collector__nodes(const struct collector *c);
/*
 * Samples of the event beyond one per record: off the CPU, a record may become two, waiting and
 * runnable.
 */
__u64 collector__parts(const struct collector *c, unsigned event);
/* Time of the first sample, CLOCK_MONOTONIC; 0: none yet. */
__u64 collector__first_sample_ns(const struct collector *c);
/* Time off the CPU in records that were lost. */
__u64 collector__waits_lost_ns(const struct collector *c);
/* CPU time that no tick found and that the dictionary had no room for. */
/* Takes in the kernel's account of a thread. */
struct record_clock;
void collector__clock(struct collector *c, const struct record_clock *record)
	__attribute__((nonnull));
__u64 collector__unsampled_lost_ns(const struct collector *c);

#endif /* KRAIT_RECORD_SAMPLES_COLLECTOR_H */
