/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwo_opener.h - opens files of split DWARF, which a program's file names, or which lie beside it.
 *
 * A name from an untrusted file leads wherever its author likes. So a child opens it, with the
 * caller's rights, and is abandoned if that takes long. It opens regular files only, none of /proc
 * or /sys, and reads nothing from them.
 *
 * Must hold: a file is used only for a program whose owner could have written it anyway (as in
 * target/debug_file.h): it belongs to the owner of the program's file, or to root and is
 * world-readable; nobody else may have write access, except a group that may also write to the
 * program's file.
 */
#ifndef KRAIT_SYMBOL_DWO_OPENER_H
#define KRAIT_SYMBOL_DWO_OPENER_H

#include <linux/types.h>
#include <sys/stat.h>
#include <sys/types.h>

#define DWO_OPEN_MS 1000

struct dwo_opener;

/* NULL: out of memory. Starts no child yet. */
struct dwo_opener *dwo_opener__new(void) __attribute__((warn_unused_result));
void dwo_opener__free(struct dwo_opener *o);

/*
 * From now on looks names up in that process's root, if it differs from ours and has them, and then
 * in ours. The process is identified by its start, in clock ticks since boot. pid 0: only ours.
 */
void dwo_opener__look_in(struct dwo_opener *o, pid_t pid, __u64 start_ticks)
	__attribute__((nonnull));
/*
 * of: the program's file. Returns a descriptor for reading; -EPERM: it is somebody else's;
 * -EREMOTE: its server could block root's parser; -ENOEXEC: not a regular file on a disk;
 * -ETIMEDOUT: it took too long; -EAGAIN: no child could be started, or too many abandoned ones have
 * not ended; -errno.
 */
int dwo_opener__open(struct dwo_opener *o, const char *path, const struct stat *of)
	__attribute__((warn_unused_result, nonnull));

/* May the file be used for that program's file? Both from stat(). */
int dwo_opener_check(const struct stat *file, const struct stat *of) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_DWO_OPENER_H */
