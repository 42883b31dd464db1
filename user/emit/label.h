/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * label.h - one line of text for each frame of a view, made once and written many times.
 */
#ifndef KRAIT_EMIT_LABEL_H
#define KRAIT_EMIT_LABEL_H

#include <stdio.h>

#include "profile/view.h"

/* What a frame is called, never empty; not printable yet. */
const char *label_name(const struct view *v, const struct profile_frame *f);

/*
 * "qualname (file.py:LINE)", "qualname (file.py)", "qualname"; "deflate (libz.so.1)"; "vfs_read_[k]" of
 * the kernel. Printable. 0 or -ENOMEM.
 */
int put_label(FILE *out, const struct view *v, const struct profile_frame *f);

/*
 * A path as short_path() has it, and without the part of an extension's name that all of an interpreter's have:
 * "_json.so" of "_json.cpython-312-x86_64-linux-gnu.so". Printable. 0 or -ENOMEM.
 */
int put_short_file(FILE *out, const char *path);

/*
 * Labels of all frames of a view, by frame number, as the folded format needs them: printable, ";"
 * turned into ":", and blanks of a process name into "_".
 */
int folded_labels_new(char ***ret, const struct view *v) __attribute__((warn_unused_result));
void labels_free(char **labels, __u32 cnt);

#endif /* KRAIT_EMIT_LABEL_H */
