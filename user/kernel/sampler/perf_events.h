/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_events.h - the interrupts: perf events on each online CPU, with a BPF program attached.
 *
 * CPUs come and go: one that goes offline takes its events with it, and one that comes online gets
 * new ones.
 *
 * Even with -p, other tasks are interrupted, too. Measured (2-core VM, kernel 6.18, 2026-11-22):
 * the program's part of an interrupt of a foreign task is 0.1 to 0.25 us, the whole interrupt 1.5
 * to 3.5 us, which at 997 Hz is 0.3 % of each CPU. Inherited events of the target's threads would
 * spare the other CPUs that. But they cost the target 0.08 us more at every switch of threads (4 %
 * of a switch, and a contended GIL switches all the time). Nor can they be attached to a running
 * process without gaps or duplicates: a thread found in a second look at /proc/PID/task may or may
 * not have inherited its creator's event, and nothing tells which.
 *
 * Must hold: after perf_events__free() no further interrupt runs the program.
 */
#ifndef KRAIT_KERNEL_SAMPLER_PERF_EVENTS_H
#define KRAIT_KERNEL_SAMPLER_PERF_EVENTS_H

#include <linux/types.h>

struct bpf_program;
struct error;
struct perf_events;
struct sampler_config;

/* Borrowed. */
struct perf_event_programs {
	const struct bpf_program *event, *fault, *tracepoint, *code;
	int filters_fd; /* the map of tracepoints' filters */
	int group_fd; /* the map of events that the leaders of their groups read */
};

/* Opens and enables them. NULL with *err filled. */
struct perf_events *perf_events__new(const struct sampler_config *config,
				     const struct perf_event_programs *programs, struct error *err);
void perf_events__free(struct perf_events *events);
/* Call from time to time: reads one line of sysfs and acts if it has changed. */
void perf_events__follow_cpus(struct perf_events *events);

/*
 * Call a few times a second: from time to time gives each timer of a clock another rate and phase,
 * at random around the configured rate, so that no program keeps in step with it for long. The
 * number of ticks is that of the configured rate.
 */
void perf_events__wander(struct perf_events *events);

/* Returns the highest rate that the kernel allows (perf_event_max_sample_rate); 0: it does not say. */
long perf_events_max_rate(void);

/* Changes the rate of each clock that has one. */
void perf_events__set_rate(struct perf_events *events, __u64 frequency);

/*
 * A clock's ticks that were due on all CPUs, from each one's start until until_ns
 * (CLOCK_MONOTONIC).
 */
__u64 perf_events__ticks(const struct perf_events *events, unsigned index, __u64 until_ns);

#endif /* KRAIT_KERNEL_SAMPLER_PERF_EVENTS_H */
