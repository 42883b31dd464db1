/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump_print.h - prints inspected processes as text and as JSON.
 */
#ifndef KRAIT_CMD_DUMP_DUMP_PRINT_H
#define KRAIT_CMD_DUMP_DUMP_PRINT_H

#include <stdio.h>

#include "look/dump/look.h"
#include "base/text/json.h"

/*
 * Prints the innermost frame and the main thread first. before: the same process in the previous
 * look, or NULL; unchanged threads are only mentioned.
 */
void dump_print(FILE *out, const struct look_process *p, struct look_process *before);
/* look: number of the look, from 1. Always has all frames. */
void dump_put_json(struct json *j, const struct look_process *p, struct look_process *before,
		   unsigned look);

#endif /* KRAIT_CMD_DUMP_DUMP_PRINT_H */
