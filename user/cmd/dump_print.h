/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump_print.h - processes that were looked at, as text for people and as JSON.
 */
#ifndef KRAIT_CMD_DUMP_PRINT_H
#define KRAIT_CMD_DUMP_PRINT_H

#include <stdio.h>

#include "look/look.h"
#include "util/json.h"

/*
 * Innermost frame first, the main thread first. before: the same process in the look before, NULL none; of threads
 * that are as they were then only that is said.
 */
void dump_print(FILE *out, const struct look_process *p, struct look_process *before);
/* look: number of the look, from 1. All frames, always. */
void dump_put_json(struct json *j, const struct look_process *p, struct look_process *before,
		   unsigned look);

#endif /* KRAIT_CMD_DUMP_PRINT_H */
