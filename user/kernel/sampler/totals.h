/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * totals.h - adds up what the kernel side counts on each CPU.
 */
#ifndef KRAIT_KERNEL_SAMPLER_TOTALS_H
#define KRAIT_KERNEL_SAMPLER_TOTALS_H

#include <linux/types.h>

struct event_counts;
struct sampler_ticks;

/* From per-CPU array maps. Returns 0, or -errno. */
int totals_counter(int fd, __u32 counter, __u64 *ret);
/* Leaves ret->asked unchanged. */
int totals_ticks(int fd, __u32 event, struct sampler_ticks *ret);
int totals_events(int fd, __u32 event, struct event_counts *ret);

#endif /* KRAIT_KERNEL_SAMPLER_TOTALS_H */
