/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_modules.h - where the kernel's modules are, from a file like /proc/modules.
 */
#ifndef KRAIT_PERFDATA_KERNEL_MODULES_H
#define KRAIT_PERFDATA_KERNEL_MODULES_H

#include <linux/types.h>

/* More than any kernel has at once. */
#define KERNEL_MODULES_MAX 4096

struct kernel_module {
	__u64 start, size;
	char name[64]; /* "[ext4]", as perf and kallsyms write it */
};

/*
 * Those that are there and whose addresses are not hidden from us. *ret is to be freed. Their number;
 * -errno, -ENOENT where the kernel has no modules at all.
 */
int kernel_modules_read(struct kernel_module **ret, const char *path)
	__attribute__((warn_unused_result));

#endif /* KRAIT_PERFDATA_KERNEL_MODULES_H */
