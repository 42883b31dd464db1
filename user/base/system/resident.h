/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resident.h - how much RAM a process uses.
 */
#ifndef KRAIT_BASE_SYSTEM_RESIDENT_H
#define KRAIT_BASE_SYSTEM_RESIDENT_H

#include <linux/types.h>
#include <sys/types.h>

/* Returns 0 if the process has ended or may not be read. */
__u64 resident_bytes(pid_t pid);

#endif /* KRAIT_BASE_SYSTEM_RESIDENT_H */
