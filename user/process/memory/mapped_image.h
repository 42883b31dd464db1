/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapped_image.h - a file that a process has mapped and nobody here can open, as its memory has it.
 *
 * On a FUSE mount without allow_other (an AppImage) even root may not read; on NFS root may be
 * nobody. What is loaded of the file is in the process: its headers, code, tables for unwinding and
 * exported symbols; not its section headers and other symbols.
 *
 * Must hold: what it says are claims of that process, never of the file: nobody may use it for
 * another process.
 */
#ifndef KRAIT_PROCESS_MEMORY_MAPPED_IMAGE_H
#define KRAIT_PROCESS_MEMORY_MAPPED_IMAGE_H

#include <linux/types.h>

#include "base/data/memory.h"

/* Bytes of one process that are copied. */
#define MAPPED_IMAGE_MAX (64U << 20)

/*
 * A memory file with what is mapped of the file at that address. dir: of /proc/PID, and its memory;
 * *budget: bytes that may be copied, updated. Returns a descriptor; -ENOENT: no file is mapped
 * there; -E2BIG: over budget; or -errno. Only in a prober: reading the memory can block.
 */
int mapped_image(int dir, const struct memory *memory, __u64 addr, __u64 *budget)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_MEMORY_MAPPED_IMAGE_H */
