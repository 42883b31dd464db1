/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapping_at.h - may krait write there? A descriptor of a process's memory would write through read-only pages.
 */
#ifndef KRAIT_PROCESS_PROC_MAPPING_AT_H
#define KRAIT_PROCESS_PROC_MAPPING_AT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* dir: of /proc/PID. Only in a prober or similar process: reading the list of mappings can block. */
bool mapping_is_private_and_writable(int dir, __u64 addr, size_t len);

#endif /* KRAIT_PROCESS_PROC_MAPPING_AT_H */
