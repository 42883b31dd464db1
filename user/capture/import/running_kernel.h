/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * running_kernel.h - is the running kernel the one that a capture was made on? Then it can name
 * functions for which the capture has no names.
 */
#ifndef KRAIT_CAPTURE_IMPORT_RUNNING_KERNEL_H
#define KRAIT_CAPTURE_IMPORT_RUNNING_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>

#include "capture/perfdata/perf_reader.h"

struct kernel_symbol;
struct kernel_symbols;

/*
 * True only if the capture proves it: the same host, the same release, and the same boot (two boots
 * of a machine never begin within seconds of each other). The address of its text must be compared,
 * too: it differs after the next boot.
 */
bool running_kernel_is(const struct perf_read_facts *f) __attribute__((nonnull));

/* All zero initially: none. */
struct running_kernel {
	bool is_captured; /* it is the capture's, but its text may be elsewhere */
	__u64 text_start; /* in the capture; 0: unknown, or already compared */
	struct kernel_symbols *symbols; /* NULL: another kernel, or none of its code met yet */
};
void running_kernel_free(struct running_kernel *k);

/*
 * When the capture was made the kernel's code began there; if it is elsewhere now, this is another
 * boot.
 */
void running_kernel_set_text(struct running_kernel *k, __u64 text_start);
/*
 * NULL: unknown. Reading its symbols takes a while, so it waits for the first address: most
 * captures have all the names they need.
 */
struct kernel_symbol *running_kernel_find(struct running_kernel *k, __u64 address);

#endif /* KRAIT_CAPTURE_IMPORT_RUNNING_KERNEL_H */
