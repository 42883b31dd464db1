/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * safe_open.h - regular files that somebody else has chosen the path to, opened to be read.
 *
 * To open a device acts, to open a FIFO waits for ever, and a symbolic link in another process's root
 * leads out of it. So a path is opened without its contents first (O_PATH), what it has led to is
 * looked at, and only a regular file is opened again, through that descriptor.
 *
 * Must hold: nothing but a regular file is ever opened, and nothing outside of the root that is given.
 * All of this may take for ever all the same (FUSE, NFS): a prober does it, not krait itself.
 */
#ifndef KRAIT_TARGET_SAFE_OPEN_H
#define KRAIT_TARGET_SAFE_OPEN_H

#include <linux/types.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * Each gives a descriptor for reading and, where ret is not NULL, what fstat() says of it:
 *  -EINVAL   it is no regular file
 *  -errno    as open(), openat2()
 *
 * What a path leads to, links of /proc included ("/proc/1/exe"); dir_fd as in openat().
 */
int safe_open(int dir_fd, const char *path, struct stat *ret)
	__attribute__((warn_unused_result, nonnull(2)));
/* A path below that folder, as if it were the root: absolute links and ".." stay in it. */
int safe_open_in(int root_fd, const char *path, struct stat *ret)
	__attribute__((warn_unused_result, nonnull(2)));

/*
 * The debug information of a build: below usr/lib/debug/.build-id in that root. It must belong to root
 * or to owner, who is the owner of the file that it is of, and be writable by nobody else; whether it
 * has that build ID is the parser's to check. -EPERM: of somebody else.
 */
int safe_open_debug(int root_fd, const __u8 *build_id, size_t size, uid_t owner)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_SAFE_OPEN_H */
