/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mmap_events.h - which processes have mapped code, where the kernel takes no probe (lifecycle.bpf.c,
 * process_mmap): perf's own records of mappings, of a dummy event on each CPU.
 *
 * Only code is recorded (attr.mmap without attr.mmap_data), of every process of the machine: what is executed
 * makes a handful of records, so those who wait on the descriptor do so with pauses.
 *
 * They come ahead of the ring's records, which wait for their turn: what is done with them must be right for those,
 * too.
 *
 * Must hold: what the kernel had no room for is reported as a loss, never as nothing; so is what was mapped before
 * a CPU that has come online had its event.
 */
#ifndef KRAIT_SAMPLER_MMAP_EVENTS_H
#define KRAIT_SAMPLER_MMAP_EVENTS_H

#include <linux/types.h>
#include <sys/types.h>

struct mmap_events;

/* NULL and errno: the kernel does not let us. */
struct mmap_events *mmap_events__new(void);
void mmap_events__free(struct mmap_events *e);

/* Has CPUs come or gone? Then those that are online have events from now on, and no others. */
void mmap_events__follow_cpus(struct mmap_events *e);
/* The same with these. */
void mmap_events__set_cpus(struct mmap_events *e, const int *cpus, int cnt);

/* Is readable when there are records. */
int mmap_events__fd(const struct mmap_events *e);
/* Calls back with the process of each record; 0 means that some were lost. Returns how many calls. */
unsigned mmap_events__read(struct mmap_events *e, void (*mapped)(void *ctx, pid_t pid), void *ctx);

#endif /* KRAIT_SAMPLER_MMAP_EVENTS_H */
