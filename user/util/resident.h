/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resident.h - how much memory a process has in RAM.
 */
#ifndef KRAIT_UTIL_RESIDENT_H
#define KRAIT_UTIL_RESIDENT_H

#include <linux/types.h>
#include <sys/types.h>

/* 0 where it is gone, or may not be read. */
__u64 resident_bytes(pid_t pid);

#endif /* KRAIT_UTIL_RESIDENT_H */
