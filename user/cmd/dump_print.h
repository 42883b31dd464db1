/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump_print.h - processes that were looked at, as text for people and as JSON.
 */
#ifndef KRAIT_CMD_DUMP_PRINT_H
#define KRAIT_CMD_DUMP_PRINT_H

#include <stdio.h>

#include "look/look.h"
#include "util/json.h"

/* Innermost frame first, the main thread first. */
void dump_print(FILE *out, const struct look_process *p);
void dump_put_json(struct json *j, const struct look_process *p);

#endif /* KRAIT_CMD_DUMP_PRINT_H */
