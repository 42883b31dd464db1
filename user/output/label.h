/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * label.h - one line of text for each frame of a view; made once, written many times.
 */
#ifndef KRAIT_OUTPUT_LABEL_H
#define KRAIT_OUTPUT_LABEL_H

#include <stdio.h>

#include "profile/view.h"

/* Returns a frame's name: never empty, not yet printable. */
const char *label_name(const struct view *v, const struct profile_frame *f);

/*
 * Writes "qualname (file.py:LINE)", "qualname (file.py)" or "qualname"; "deflate (libz.so.1)";
 * "vfs_read_[k]" for the kernel. Printable. Returns 0 or -ENOMEM.
 */
int put_label(FILE *out, const struct view *v, const struct profile_frame *f);

/*
 * Writes a path as short_path() gives it, without the platform tag of an extension module:
 * "_json.so" for "_json.cpython-312-x86_64-linux-gnu.so". Printable. Returns 0 or -ENOMEM.
 */
int put_short_file(FILE *out, const char *path);

/*
 * Makes labels of all frames of a view, by frame number, for the folded format: printable, ";"
 * replaced by ":" and blanks of a process name by "_".
 */
int folded_labels_new(char ***ret, const struct view *v) __attribute__((warn_unused_result));
void labels_free(char **labels, __u32 cnt);

#endif /* KRAIT_OUTPUT_LABEL_H */
