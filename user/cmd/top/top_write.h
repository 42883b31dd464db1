/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_write.h - writes what krait top shows to a file of any format.
 */
#ifndef KRAIT_CMD_TOP_TOP_WRITE_H
#define KRAIT_CMD_TOP_TOP_WRITE_H

#include "output/emitter.h"
#include "cmd/top/model.h"

/*
 * Reports on stderr what was written, or why not. Never replaces an existing file. Streaming
 * formats get the kept rounds, others everything since the start.
 */
void top_write(const struct model *m, const char *path, const struct emit_options *options);

#endif /* KRAIT_CMD_TOP_TOP_WRITE_H */
