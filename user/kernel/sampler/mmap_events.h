/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mmap_events.h - which processes have mapped code, on kernels that accept no probe for it
 * (lifecycle.bpf.c, process_mmap): perf's own mapping records, from a dummy event on each CPU.
 *
 * Only code is recorded (attr.mmap without attr.mmap_data), for every process of the machine: each
 * exec makes a handful of records, so code that polls the descriptor should pause in between.
 *
 * They come ahead of the ring buffer's records, which wait for their turn, so whatever is done with
 * them must also be right for those.
 *
 * Must hold: records that the kernel had no room for are reported as lost, never ignored; so are
 * mappings on a CPU that has come online, from before it had its event.
 */
#ifndef KRAIT_KERNEL_SAMPLER_MMAP_EVENTS_H
#define KRAIT_KERNEL_SAMPLER_MMAP_EVENTS_H

#include <linux/types.h>
#include <sys/types.h>

struct mmap_events;

/* NULL and errno: the kernel does not let us. */
struct mmap_events *mmap_events__new(void);
void mmap_events__free(struct mmap_events *e);

/*
 * Have CPUs come or gone? Then those that are online have events from now on, and no others. A CPU that could not have
 * its event yet is asked again at each call.
 */
void mmap_events__follow_cpus(struct mmap_events *e);
/* The same with these. */
void mmap_events__set_cpus(struct mmap_events *e, const int *cpus, int cnt);

/* Is readable when there are records. */
int mmap_events__fd(const struct mmap_events *e);
/*
 * Calls back with the process of each record; 0 means that some may have been lost. Returns how many
 * calls, but for those because of a CPU that cannot have its event.
 */
unsigned mmap_events__read(struct mmap_events *e, void (*mapped)(void *ctx, pid_t pid), void *ctx);

#endif /* KRAIT_KERNEL_SAMPLER_MMAP_EVENTS_H */
