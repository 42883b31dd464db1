/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.h - what is counted: the kernel's perf events, by the names that perf gives them.
 *
 * Known are the hardware, hardware cache and software events of linux/perf_event.h, and raw ones.
 * A tracepoint is none of them: the kernel lets only another kind of BPF program see it.
 */
#ifndef KRAIT_UTIL_EVENT_H
#define KRAIT_UTIL_EVENT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define EVENT_NAME_MAX 128

struct event_spec {
	char name[EVENT_NAME_MAX]; /* as it was asked for, modifiers included */
	__u32 type; /* PERF_TYPE_* */
	__u64 config;
	__u64 frequency; /* samples a second and CPU; or, if 0, */
	__u64 period; /* events for each sample, ns for clocks */
	bool exclude_user, exclude_kernel;
	__u8 precise; /* precise_ip */
};

/*
 * A name of len bytes, "faults", "cycles:u", "L1-dcache-load-misses", "r01c0". Rate and period are 0.
 * 0; -EINVAL unknown; -EOPNOTSUPP a tracepoint or an event of a named PMU.
 */
int event_parse(struct event_spec *ret, const char *text, size_t len)
	__attribute__((warn_unused_result));

/* Its periods are nanoseconds, and all samples weigh the same. */
bool event_is_clock(const struct event_spec *event);

/* Its periods are nanoseconds off the CPU, which differ from sample to sample. No perf event: bpf/switch.bpf.c. */
bool event_is_off_cpu(const struct event_spec *event);

/* "offcpu-time", perf's own name for it; waits of that length are all there, shorter ones are sampled. */
#define EVENT_OFF_CPU "offcpu-time"
void event_off_cpu(struct event_spec *ret, __u64 threshold_ns);

/* "waiting-tasks": suspended asyncio tasks, counted now and then (session/census.h). No perf event. */
#define EVENT_TASKS "waiting-tasks"
bool event_is_tasks(const struct event_spec *event);
void event_tasks(struct event_spec *ret);

/* Its periods are nanoseconds of a thread's life: on a CPU, off it, or both. */
bool event_is_time(const struct event_spec *event);

/* "wall-clock": time on and off the CPU as one measure. No perf event, but a sum of two. */
#define EVENT_WALL "wall-clock"
void event_wall(struct event_spec *ret);

/* The shortest period of a clock that the kernel keeps to (perf_swevent_init_hrtimer()). */
#define EVENT_CLOCK_MIN_NS 10000

/* "cpu-clock", the event of all recordings that do not ask for another. */
void event_default(struct event_spec *ret);

#endif /* KRAIT_UTIL_EVENT_H */
