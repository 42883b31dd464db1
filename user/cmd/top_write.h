/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_write.h - what krait top shows, as a file of any format.
 */
#ifndef KRAIT_CMD_TOP_WRITE_H
#define KRAIT_CMD_TOP_WRITE_H

#include "emit/emitter.h"
#include "top/model.h"

/*
 * Says on stderr what was written, or why not. A file that is there stays. Formats that stream get the
 * rounds that are kept, others all since the start.
 */
void top_write(const struct model *m, const char *path, const struct emit_options *options);

#endif /* KRAIT_CMD_TOP_WRITE_H */
