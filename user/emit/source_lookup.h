/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_lookup.h - the text of a source file of a profile. First tries the recorded path, with the
 * rights of those who have samples in it, then a folder that the caller names.
 */
#ifndef KRAIT_EMIT_SOURCE_LOOKUP_H
#define KRAIT_EMIT_SOURCE_LOOKUP_H

#include "profile/dict.h"

/*
 * file: a string id. source_dir: NULL means nowhere. Returns 0 and the text, which the caller
 * frees, or -errno.
 */
int source_lookup(char **ret, const struct dict *dict, __u32 file, const char *source_dir)
	__attribute__((warn_unused_result));
/* Returns the text for the head of the column. */
const char *source_lookup_say(int err);
/* Returns why there is no text, as part of a sentence. */
const char *source_lookup_why(int err);

#endif /* KRAIT_EMIT_SOURCE_LOOKUP_H */
