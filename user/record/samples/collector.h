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
#include "bpf/share.h"
#include "profile/losses.h"
#include "profile/profile.h"
#include "profile/thread_filter.h"
#include "record/samples/counting.h"
#include "record/samples/native_part.h"
#include "record/samples/stack_nodes.h"
#include "record/stack/edits.h"

struct anchor_thread;
struct collector;
struct kept_sources;
struct native_files;
struct native_places;
struct process;
struct processes;
struct sampler;
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
	bool lists; /* on_sample looks at the list of that sample (collector_parts.nodes) */
};

/* files: borrowed; NULL if native frames are not wanted. NULL on failure. */
struct collector *collector__new(const struct collector_config *config, struct native_files *files);
void collector__free(struct collector *c);

/* Source lines are kept; borrowed. */
void collector__keep_sources(struct collector *c, struct kept_sources *sources);
/* As native_part__keep_places(). */
void collector__keep_places(struct collector *c, struct native_places *places);
/* All are borrowed and must outlive their use here. anchors, unwinding: may be NULL. */
void collector__connect(struct collector *c, struct processes *processes, struct sampler *sampler,
			struct anchor_thread *anchors, struct unwinding *unwinding);

/* Returns the node at which it counts, or would if it stood for anything; 0: nowhere. */
__u32 collector__sample(struct collector *c, const struct record_sample *record);
/* Counts a sample that krait makes itself. */
void collector__put_made(struct collector *c, const struct profile_sample *sample)
	__attribute__((nonnull));
/*
 * A node below that of the process's main thread, which *ret_thread is then, for a mark; below another node. 0: no room.
 */
__u32 collector__mark_node(struct collector *c, struct process *p, const char *mark,
			   struct thread **ret_thread) __attribute__((nonnull));
__u32 collector__child(struct collector *c, unsigned owner, __u32 node, const char *mark)
	__attribute__((nonnull));
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
/* Threads that config.thread has left out. */
struct mentions collector__unwanted(const struct collector *c);

/* Takes in the kernel's account of a thread. */
struct record_clock;
void collector__clock(struct collector *c, const struct record_clock *record)
	__attribute__((nonnull));

/* What it consists of, for who reads one part. */
struct collector_parts {
	struct profile *profile;
	struct stacks *stacks;
	struct losses losses;
	__u64 no_room[OWNER_CNT]; /* samples of an owner (bpf/share.h) that found no room in the profile */
	struct counting counting;
	struct stack_nodes nodes; /* includes the native part, which the collector owns */
};
const struct collector_parts *collector__parts(const struct collector *c) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_COLLECTOR_H */
