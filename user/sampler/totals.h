/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * totals.h - what the kernel side counts on each CPU for itself, added up.
 */
#ifndef KRAIT_SAMPLER_TOTALS_H
#define KRAIT_SAMPLER_TOTALS_H

#include <linux/types.h>

struct event_counts;
struct sampler_ticks;

/* From BPF maps with an array for each CPU: 0, or -errno. */
int totals_counter(int fd, __u32 counter, __u64 *ret);
/* What is asked stays as it is. */
int totals_ticks(int fd, __u32 event, struct sampler_ticks *ret);
int totals_events(int fd, __u32 event, struct event_counts *ret);

#endif /* KRAIT_SAMPLER_TOTALS_H */
