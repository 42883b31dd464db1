/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source.h - the text of one source file as lines, and which of them a function begins at.
 *
 * Who may see it is emit/source_file.h's to say; source_reader.h reads it.
 */
#ifndef KRAIT_TOP_SOURCE_H
#define KRAIT_TOP_SOURCE_H

#include <linux/types.h>

#include "profile/dict.h"

struct top_source {
	char *text; /* NULL: it cannot be shown, err says why */
	const char **lines; /* from [0] on; in text, each with its end */
	unsigned cnt;
	int err; /* 0 or -errno of source_lookup() */
};

/* file: a string id. NULL: no memory. */
struct top_source *top_source__new(const struct dict *dict, __u32 file, const char *folder);
/* Takes the text over. */
struct top_source *top_source__of_text(char *text);
void top_source__free(struct top_source *s);

#endif /* KRAIT_TOP_SOURCE_H */
