/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_events.h - the interrupts: perf events on each online CPU, with a BPF program attached.
 *
 * CPUs come and go: one that went takes its events along, and one that comes gets new ones.
 *
 * Also for -p: other tasks are interrupted, too. Measured (2-core VM, kernel 6.18, 2026-11-22): the
 * program's part of an interrupt that is none of ours is 0.1 to 0.25 us, the whole interrupt 1.5 to
 * 3.5 us, which at 997 Hz is 0.3 % of each CPU. Events of the target's threads that their children
 * inherit would spare the other CPUs that, but cost the target 0.08 us more at every switch of threads
 * (4 % of a switch, with which a contended GIL is busy), and cannot be given to a running process
 * without gaps or doubles: a thread that is found in a second look at /proc/PID/task has inherited its
 * creator's event, or has not, and nothing tells which.
 *
 * Must hold: after perf_events__free() no further interrupt runs the program.
 */
#ifndef KRAIT_SAMPLER_PERF_EVENTS_H
#define KRAIT_SAMPLER_PERF_EVENTS_H

#include <linux/types.h>

struct bpf_program;
struct error;
struct perf_events;
struct sampler_config;

/* Opens and enables them. NULL with *err filled. */
struct perf_events *perf_events__new(const struct sampler_config *config,
				     const struct bpf_program *program, struct error *err);
void perf_events__free(struct perf_events *events);
/* Call from time to time: reads one line of sysfs and acts if it has changed. */
void perf_events__follow_cpus(struct perf_events *events);

/* Call from time to time: each clock continues at a new random rate around the configured one. */
void perf_events__jitter(struct perf_events *events);

/* Each clock that has a rate goes on with this one. */
void perf_events__set_rate(struct perf_events *events, __u64 frequency);

/* Ticks that were due of a clock, on all CPUs, from the start of each until then (CLOCK_MONOTONIC). */
__u64 perf_events__ticks(const struct perf_events *events, unsigned index, __u64 until_ns);

#endif /* KRAIT_SAMPLER_PERF_EVENTS_H */
