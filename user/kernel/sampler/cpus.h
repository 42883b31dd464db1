/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpus.h - the CPUs that are online, as sysfs lists them.
 */
#ifndef KRAIT_KERNEL_SAMPLER_CPUS_H
#define KRAIT_KERNEL_SAMPLER_CPUS_H

#include <stdbool.h>

/* More than any machine that Linux runs on (NR_CPUS is at most 8192). */
#define CPUS_MAX 8192
#define CPUS_ONLINE "/sys/devices/system/cpu/online"
/* sysfs returns at most a page. */
#define CPU_LIST_MAX 4096

/*
 * Parses a CPU list such as "0-3,8" (sysfs) into at most max CPU numbers. Returns their count, or
 * -EINVAL.
 */
int cpu_list_parse(const char *text, int *ret_cpus, int max);
/* Reads the list. Returns 0 or -ENOENT. */
int cpus_read_online(char ret[CPU_LIST_MAX]) __attribute__((warn_unused_result));
/* Returns their count, or -errno; text gets the list as read. */
int cpus_online(char text[CPU_LIST_MAX], int *ret_cpus, int max);

bool cpus_have(const int *cpus, int cnt, int cpu);

#endif /* KRAIT_KERNEL_SAMPLER_CPUS_H */
