/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwo_opener.h - opens files of split DWARF, whose names a program's file says, or which lie beside it.
 *
 * A name from anybody's file leads to wherever its author likes: a child opens it, with the caller's rights, and is
 * given up when that takes long. It opens regular files only, none of /proc or /sys, and reads nothing of them.
 *
 * Must hold: a file is used only for one that its owner could have written anyway (as in target/debug_file.h): it belongs
 * to the owner of the program's file, or to root and everybody may read it; nobody else may write to it, but for a group
 * that may write to the program's file, too.
 */
#ifndef KRAIT_SYMBOL_DWO_OPENER_H
#define KRAIT_SYMBOL_DWO_OPENER_H

#include <sys/stat.h>
#include <sys/types.h>

#define DWO_OPEN_MS 1000

struct dwo_opener;

/* NULL: out of memory. Starts no child yet. */
struct dwo_opener *dwo_opener__new(void) __attribute__((warn_unused_result));
void dwo_opener__free(struct dwo_opener *o);

/*
 * of: what the program's file is. A descriptor for reading; -EPERM: it is somebody else's; -EREMOTE: who serves it could
 * keep root's parser waiting; -ENOEXEC: no regular file of a disk; -ETIMEDOUT: that took too long; -EAGAIN: there can be no child, or
 * too many were given up and have not ended; -errno.
 */
int dwo_opener__open(struct dwo_opener *o, const char *path, const struct stat *of)
	__attribute__((warn_unused_result, nonnull));

/* May it be used for that program's file? Both as stat() says. */
int dwo_opener_check(const struct stat *file, const struct stat *of) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_DWO_OPENER_H */
