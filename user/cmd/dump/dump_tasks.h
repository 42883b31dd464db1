/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump_tasks.h - krait dump --tasks: prints asyncio tasks as a tree of who awaits whom, or as JSON.
 */
#ifndef KRAIT_CMD_DUMP_DUMP_TASKS_H
#define KRAIT_CMD_DUMP_DUMP_TASKS_H

#include <stdbool.h>
#include <stdio.h>

#include "look/dump/look.h"
#include "look/dump/look_tasks.h"
#include "base/text/json.h"

/*
 * Takes the tasks or greenlets of a process that was just inspected. before: the same process in
 * the previous look, or NULL.
 */
void dump_tasks_take(struct look_process *p, enum look_tasks_kind kind,
		     const struct look_process *before) __attribute__((nonnull(1)));
/* Tells whether everything requested of the process was found. */
bool dump_tasks_whole(const struct look_process *p) __attribute__((nonnull));

void dump_tasks_print(FILE *out, const struct look_process *p) __attribute__((nonnull));
void dump_tasks_put_json(struct json *j, const struct look_process *p, unsigned look)
	__attribute__((nonnull));

#endif /* KRAIT_CMD_DUMP_DUMP_TASKS_H */
