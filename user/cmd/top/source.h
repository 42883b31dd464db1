/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source.h - one source file's text as lines, and the line at which a function begins.
 *
 * output/source_file.h decides who may see it; source_reader.h reads it.
 */
#ifndef KRAIT_CMD_TOP_SOURCE_H
#define KRAIT_CMD_TOP_SOURCE_H

#include <linux/types.h>

#include "profile/dict.h"

struct top_source {
	char *text; /* NULL: cannot be shown; err says why */
	const char **lines; /* from [0] on; they point into text, each with its newline */
	unsigned cnt;
	int err; /* 0, or -errno of source_lookup() */
};

/* file: a string id. Returns NULL if out of memory. */
struct top_source *top_source__new(const struct dict *dict, __u32 file, const char *folder);
/* Takes ownership of the text. */
struct top_source *top_source__of_text(char *text);
void top_source__free(struct top_source *s);

#endif /* KRAIT_CMD_TOP_SOURCE_H */
