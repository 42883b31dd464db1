/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_list.h - the threads of a process, or of a core file, from lists that others make.
 */
#ifndef KRAIT_LOOK_DUMP_LOOK_LIST_H
#define KRAIT_LOOK_DUMP_LOOK_LIST_H

#include <stdbool.h>

struct look_process;

/* again: only those that have no stack yet. Returns the process's result. */
int look_list_take(struct look_process *p, bool again) __attribute__((nonnull));

#endif /* KRAIT_LOOK_DUMP_LOOK_LIST_H */
