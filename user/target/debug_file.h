/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug_file.h - where distributions keep symbols and debug information apart, and whose may be used.
 *
 * Only below usr/lib/debug/.build-id in a root, by build ID. Nothing beside the file, nothing that it
 * names itself: whoever may write there chooses what root would open.
 *
 * Must hold: a file is used only for one that its owner could have written anyway. A process in a mount
 * namespace of its own may show everybody's library with a .build-id of its own making.
 */
#ifndef KRAIT_TARGET_DEBUG_FILE_H
#define KRAIT_TARGET_DEBUG_FILE_H

#include <linux/types.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The debug information of a build in the root that this path leads to, "/" or a process's, for reading.
 * It belongs to root or to owner, who owns the file that it is of, and nobody else may write to it;
 * whether it has that build ID is a parser's to check. A descriptor; -EPERM: it is somebody else's;
 * -errno, as open_file_below(). May take for ever, as that.
 */
int debug_file_open(const char *root, const __u8 *build_id, size_t size, uid_t owner)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_DEBUG_FILE_H */
