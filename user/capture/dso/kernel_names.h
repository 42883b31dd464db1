/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_names.h - the names of the kernel's code at the time and place of the recording: lines in
 * the notes of a recording's DSO, which perf does not read.
 *
 *   kernel ffffffff81234566 [ext4] ext4_file_read_iter
 *
 * One for each address that was met; for a caller the address before its return address, which is
 * still in the call. Only the recording user may know them: the addresses are hidden from others,
 * and another kernel has different ones.
 *
 * Must hold: when read, the text is untrusted.
 */
#ifndef KRAIT_CAPTURE_DSO_KERNEL_NAMES_H
#define KRAIT_CAPTURE_DSO_KERNEL_NAMES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "profile/idindex.h"

/* 4 MB of lines; a recording of hours meets some thousand. */
#define KERNEL_NAMES_MAX 65536U

struct kernel_name {
	__u64 address;
	char *name, *module; /* module: "[ext4]", "[kernel.kallsyms]" */
};

/* All zero: empty. */
struct kernel_names {
	struct kernel_name *list;
	__u32 cnt, cap;
	struct idindex index; /* ids are numbers + 1 */
};

/* Returns 0 or -ENOMEM. A known address, or one beyond the limit, changes nothing. */
int kernel_names_add(struct kernel_names *k, __u64 address, const char *name, const char *module)
	__attribute__((warn_unused_result));
const struct kernel_name *kernel_names_find(const struct kernel_names *k, __u64 address);
void kernel_names_free(struct kernel_names *k);

void kernel_names_write(const struct kernel_names *k, FILE *out);
/* Reads the lines from the notes. Returns 0 or -ENOMEM. */
int kernel_names_read(struct kernel_names *k, const char *notes)
	__attribute__((warn_unused_result));
/* Where they begin: they are the last of the notes. "": there are none. */
const char *kernel_names_part(const char *notes);

#endif /* KRAIT_CAPTURE_DSO_KERNEL_NAMES_H */
