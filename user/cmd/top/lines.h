/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lines.h - the view as plain lines, round by round: for pipes, files and limited terminals.
 */
#ifndef KRAIT_CMD_TOP_LINES_H
#define KRAIT_CMD_TOP_LINES_H

#include <stdio.h>

#include "cmd/top/draw.h"
#include "base/text/json.h"

struct lines_options {
	unsigned limit; /* rows; 0: all */
	unsigned columns; /* 0: as wide as needed */
	bool utf8;
	bool shares;
};

/* Prints head, table and a blank line, and flushes. Returns 0 or -errno. */
int lines_print(FILE *out, const struct model *m, const struct top_status *status,
		const struct lines_options *options) __attribute__((warn_unused_result));
/* The same round for programs, as members of the open object. limit: rows; 0: all. */
void lines_put_json(struct json *j, const struct model *m, const struct top_status *status,
		    unsigned limit);

#endif /* KRAIT_CMD_TOP_LINES_H */
