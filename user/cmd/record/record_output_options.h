/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_output_options.h - what becomes of a recording: files and formats, how processes are named
 * in them, and what else krait record prints.
 */
#ifndef KRAIT_CMD_RECORD_RECORD_OUTPUT_OPTIONS_H
#define KRAIT_CMD_RECORD_RECORD_OUTPUT_OPTIONS_H

#include <argp.h>

#include "cmd/record/record_options.h"

/* An argp child; its input is a struct record_options. */
extern const struct argp record_output_argp;
/* A help filter that inserts suffixes and formats. */
char *record_output_help(int key, const char *text, void *input);

void record_output_defaults(struct record_options *ret);

#endif /* KRAIT_CMD_RECORD_RECORD_OUTPUT_OPTIONS_H */
