/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_maps.h - tells a capture where the running kernel and its modules are.
 *
 * Must hold: each place is told once.
 */
#ifndef KRAIT_PERFDATA_KERNEL_MAPS_H
#define KRAIT_PERFDATA_KERNEL_MAPS_H

#include <linux/types.h>
#include <stdbool.h>

struct emit_options;
struct kernel_module;
struct perf_writer;

/* What was told already; all zero at first. */
struct kernel_maps {
	bool text;
	struct kernel_module *modules;
	int module_cnt;
};

/*
 * Writes what is new since the last call: the kernel, where the options can find it, and its modules. 0
 * or -errno; what is hidden from us is left out.
 */
int kernel_maps_tell(struct kernel_maps *k, const struct emit_options *options,
		     struct perf_writer *w) __attribute__((warn_unused_result));
void kernel_maps_free(struct kernel_maps *k);

#endif /* KRAIT_PERFDATA_KERNEL_MAPS_H */
