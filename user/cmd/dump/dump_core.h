/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump_core.h - krait dump --core: the threads of a process that has ended.
 */
#ifndef KRAIT_CMD_DUMP_DUMP_CORE_H
#define KRAIT_CMD_DUMP_DUMP_CORE_H

#include "cmd/dump/dump_options.h"

/* Returns the exit code after reporting errors. */
int dump_core(const struct dump_options *o) __attribute__((nonnull));

#endif /* KRAIT_CMD_DUMP_DUMP_CORE_H */
