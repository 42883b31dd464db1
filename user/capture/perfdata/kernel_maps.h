/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_maps.h - records in a capture where the running kernel and its modules (/proc/modules)
 * are.
 *
 * Must hold: each module is written once.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_KERNEL_MAPS_H
#define KRAIT_CAPTURE_PERFDATA_KERNEL_MAPS_H

#include <linux/types.h>
#include <stdbool.h>

struct emit_options;
struct perf_writer;

/* More than any kernel has at once. */
#define KERNEL_MODULES_MAX 4096

struct kernel_module {
	__u64 start, size;
	char name[64]; /* "[ext4]", as perf and kallsyms write it */
};

/*
 * Lists modules whose addresses are not hidden from us. The caller frees *ret. Returns their
 * number; -errno; -ENOENT if the kernel has no modules at all.
 */
int kernel_modules_read(struct kernel_module **ret, const char *path)
	__attribute__((warn_unused_result));

/* What has been written; all zero initially. */
struct kernel_maps {
	bool text;
	struct kernel_module *modules;
	int module_cnt;
};

/*
 * Writes what is new since the last call: the kernel, if the options can find it, and its modules.
 * Returns 0 or -errno; leaves out what is hidden from us.
 */
int kernel_maps_write(struct kernel_maps *k, const struct emit_options *options,
		      struct perf_writer *w) __attribute__((warn_unused_result));
void kernel_maps_free(struct kernel_maps *k);

#endif /* KRAIT_CAPTURE_PERFDATA_KERNEL_MAPS_H */
