/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * running_kernel.h - is the kernel that runs here and now the one that a capture was made on? If it is, it names functions
 * that the capture has no names of.
 */
#ifndef KRAIT_IMPORT_RUNNING_KERNEL_H
#define KRAIT_IMPORT_RUNNING_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>

#include "perfdata/perf_reader.h"

struct kernel_symbol;
struct kernel_symbols;

/*
 * True only where the capture proves it: the same host, the same release, and the same boot, which two
 * boots of a machine cannot have begun within seconds. Where the text is must be compared as well: it
 * is anywhere else after the next boot.
 */
bool running_kernel_is(const struct perf_read_facts *f) __attribute__((nonnull));

/* All zero at first: none. */
struct running_kernel {
	bool is_captured; /* it is that of the capture, but its text is perhaps elsewhere */
	__u64 text_start; /* where it was for the capture; 0 not said, or looked at */
	struct kernel_symbols *symbols; /* NULL: of another kernel, or none of its code met yet */
};
void running_kernel_free(struct running_kernel *k);

/* The kernel's code began there when the capture was made; if it is elsewhere now, it is another boot. */
void running_kernel_set_text(struct running_kernel *k, __u64 text_start);
/*
 * NULL unknown. Reading its symbols takes a while, so it waits for the first address: most captures have all names that
 * they need.
 */
struct kernel_symbol *running_kernel_find(struct running_kernel *k, __u64 address);

#endif /* KRAIT_IMPORT_RUNNING_KERNEL_H */
