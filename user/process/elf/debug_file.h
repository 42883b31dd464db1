/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug_file.h - where distributions keep separate symbols and debug information, and whose files
 * may be used.
 *
 * Only files below usr/lib/debug/.build-id in a root, by build ID. Never a file beside the program,
 * or one that the program names: whoever may write there would choose what root opens.
 *
 * Must hold: a file is used only for a program whose owner could have written it anyway. A process
 * in its own mount namespace may show a system library together with a .build-id folder of its own
 * making.
 */
#ifndef KRAIT_PROCESS_ELF_DEBUG_FILE_H
#define KRAIT_PROCESS_ELF_DEBUG_FILE_H

#include <linux/types.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Opens the debug information of a build for reading, in the root that this path leads to: "/" or a
 * process's. It must belong to owner, the owner of the program's file, or to root and be readable for everybody; nobody else
 * may have write access. A parser must check that it has that build ID. Returns a descriptor;
 * -EPERM: it is somebody else's; -errno, as open_file_below(). May take for ever, like that.
 */
int debug_file_open(const char *root, const __u8 *build_id, size_t size, uid_t owner)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_ELF_DEBUG_FILE_H */
