/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * published_find.h - where a process has the tables that its interpreter publishes (published.h).
 *
 * Must hold: a table counts only if the bytes in the process's memory are those of the file mapped there.
 */
#ifndef KRAIT_PROCESS_IDENTIFY_PUBLISHED_FIND_H
#define KRAIT_PROCESS_IDENTIFY_PUBLISHED_FIND_H

#include "python/layout/published.h"

struct elf_facts;

/*
 * Searches the process with that /proc folder for the tables. version and runtime_addr: its
 * interpreter's; facts: reads files. Returns 0, even if nothing was found, or -errno.
 */
int published_find(int dir, __u32 version, __u64 runtime_addr, struct elf_facts *facts,
		   struct published *ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_IDENTIFY_PUBLISHED_FIND_H */
