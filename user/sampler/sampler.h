/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sampler.h - the kernel side as an object: programs, maps, perf events, ring buffer.
 *
 * Life: new (load, attach process events) -> track processes -> start (interrupts begin) -> drain,
 * as often as its fd is readable or a timer says -> stop (interrupts end) -> drain -> counters ->
 * free. Freeing at any point is safe, and so is being killed: the kernel drops everything with the
 * last file descriptor.
 *
 * Must hold: only this module touches the maps' hashes; records are checked before anyone sees them.
 */
#ifndef KRAIT_SAMPLER_SAMPLER_H
#define KRAIT_SAMPLER_SAMPLER_H

#include <linux/types.h>
#include <stddef.h>
#include <sys/types.h>

#include "abi.h"
#include "util/error.h"

struct anchors;
struct sampler;

struct sampler_config {
	__u32 event_type; /* PERF_TYPE_* */
	__u64 event_config; /* PERF_COUNT_* */
	const char *event_name; /* for messages */
	__u64 frequency; /* Hz; 0: use period */
	__u64 period; /* events, ns for cpu-clock */
	size_t ring_bytes; /* 0: sized from the number of CPUs */
	__u32 audit_every; /* one delta in so many is checked; 0 none */
};

/* Called in the order in which the kernel wrote the records. */
struct sampler_handler {
	void (*sample)(void *ctx, const struct event_sample *event, const struct frame *frames);
	void (*task)(void *ctx, const struct event_task *event);
	/* data is cut to event->data_size. */
	void (*code)(void *ctx, const struct event_code *event);
	void (*bad_record)(void *ctx);
	void *ctx;
};

/* Loads the programs and follows process events from then on. NULL with *err filled. */
struct sampler *sampler__new(const struct sampler_config *config,
			     const struct sampler_handler *handler, struct error *err);
void sampler__free(struct sampler *s);

/* Starts the perf events, one on each online CPU. */
int sampler__start(struct sampler *s, struct error *err) __attribute__((warn_unused_result));
void sampler__stop(struct sampler *s);

/* Readable when much is waiting or a process event came. */
int sampler__fd(const struct sampler *s);
/* Hands out all records that are waiting. Their number, or -errno. */
int sampler__drain(struct sampler *s);

/*
 * Interrupts of the process count and are walked from now on. flags: enum proc_flag. -ENOSPC when
 * a map is full.
 */
int sampler__track(struct sampler *s, pid_t pid, __u64 start_ticks, __u64 runtime_addr,
		   const struct py_offsets *offsets, __u32 flags)
	__attribute__((warn_unused_result));
/* Forgets the process and its threads. The interrupts that the ring had no room for go to *dropped. */
void sampler__untrack(struct sampler *s, pid_t pid, __u64 *ret_dropped);

/* Gives the thread a slot; without one it is searched for at every sample. */
int sampler__add_thread(struct sampler *s, pid_t pid, pid_t tid, __u64 start_ns);
void sampler__remove_thread(struct sampler *s, pid_t tid, __u64 start_ns);

/* The anchors, and the tie of one to a thread that has a slot (KRAIT_NO_ANCHOR: none). */
struct anchors *sampler__anchors(struct sampler *s);
int sampler__tie_anchor(struct sampler *s, pid_t tid, __u64 start_ns, __u32 anchor);

/* Sums over all CPUs. */
int sampler__counters(const struct sampler *s, __u64 ret[COUNTER_CNT]);

#endif /* KRAIT_SAMPLER_SAMPLER_H */
