/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_lookup.h - the text of a source file of a profile. First tries the recorded path, with the
 * rights of those who have samples in it, then a folder that the caller names. Where lines travel with the profile: that folder,
 * then these.
 *
 * A capture only claims whose its processes were. So a page made of one, which is there to be passed
 * on, has only what everybody may read; and if somebody else owns the capture, krait shows nothing
 * that its owner could not read.
 */
#ifndef KRAIT_OUTPUT_SOURCE_LOOKUP_H
#define KRAIT_OUTPUT_SOURCE_LOOKUP_H

#include "profile/dict.h"

/*
 * file: a string id. source_dir: NULL means nowhere. page: the text goes into a page. *ret_kept, if not NULL: the
 * text has travelled with the profile. Returns 0 and
 * the text, which the caller frees, or -errno; -EKEYREJECTED: only a capture says that its program
 * could read it.
 */
int source_lookup(char **ret, bool *ret_kept, const struct dict *dict, __u32 file,
		  const char *source_dir, bool page) __attribute__((warn_unused_result));
/* Returns the text for the head of the column. */
const char *source_lookup_say(int err, bool kept);
/* Returns why there is no text, as part of a sentence. */
const char *source_lookup_why(int err);

#endif /* KRAIT_OUTPUT_SOURCE_LOOKUP_H */
