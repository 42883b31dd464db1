/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * formats.h - the formats that krait writes, and which one a name or a file name means.
 */
#ifndef KRAIT_CMD_FORMATS_H
#define KRAIT_CMD_FORMATS_H

#include "emit/emitter.h"

/* By the name that -f takes; NULL where none fits. */
const struct emitter_ops *format_by_name(const char *name);
/* By the suffix of a file name, the longest first: ".perf.txt" before ".txt". NULL where none fits. */
const struct emitter_ops *format_by_suffix(const char *path);

#endif /* KRAIT_CMD_FORMATS_H */
