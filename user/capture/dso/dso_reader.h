/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_reader.h - maps an address in a recording's DSO back to function, file, line and column.
 *
 * Must hold: the file is untrusted; malformed parts resolve to nothing.
 */
#ifndef KRAIT_CAPTURE_DSO_DSO_READER_H
#define KRAIT_CAPTURE_DSO_DSO_READER_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/dict.h"

struct dso_reader;

/*
 * Returns 0; -ENOENT; -ESTALE: another build ID than wanted (NULL: any will do); -ENOEXEC: not a
 * DSO of krait; -errno.
 */
int dso_reader__open(struct dso_reader **ret, const char *path, const __u8 *build_id,
		     unsigned build_id_size) __attribute__((warn_unused_result));
void dso_reader__free(struct dso_reader *r);

/*
 * Finds the place at an offset from the start of the file, as a frame: Python or a mark, without
 * code object. dict: where its name and file go; NULL: they are not wanted. False: there is no
 * function.
 */
bool dso_reader__find(struct dso_reader *r, struct dict *dict, __u64 offset,
		      struct profile_frame *ret);

/* Start and end of the function at an offset. */
struct dso_extent {
	__u64 start, end;
};
bool dso_reader__extent(const struct dso_reader *r, __u64 offset, struct dso_extent *ret);

/* The CPython opcode at an offset when krait last looked; 0 unknown. */
__u8 dso_reader__opcode(const struct dso_reader *r, __u64 offset);

/* The value of a line "name value" of the notes; false: there is none. */
bool dso_reader__note(const struct dso_reader *r, const char *name, __u64 *ret);
/* Of its file, borrowed: whose it is. */
int dso_reader__fd(const struct dso_reader *r);
/* All notes, lines of text. */
const char *dso_reader__notes(const struct dso_reader *r);

#endif /* KRAIT_CAPTURE_DSO_DSO_READER_H */
