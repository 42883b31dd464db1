/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * running_kernel.h - is the kernel that runs here and now the one that a capture was made on?
 */
#ifndef KRAIT_IMPORT_RUNNING_KERNEL_H
#define KRAIT_IMPORT_RUNNING_KERNEL_H

#include <stdbool.h>

#include "perfdata/perf_reader.h"

/*
 * True only where the capture proves it: the same host, the same release, and the same boot, which two
 * boots of a machine cannot have begun within seconds. Where the text is must be compared as well: it
 * is anywhere else after the next boot.
 */
bool running_kernel_is(const struct perf_read_facts *f) __attribute__((nonnull));

#endif /* KRAIT_IMPORT_RUNNING_KERNEL_H */
