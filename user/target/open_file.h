/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_file.h - opens files whose names others have chosen.
 *
 * A name can lead to a FIFO that never opens, to a device that does something when it is opened, and
 * out of the root that it was meant for. So a name is first resolved to an O_PATH descriptor, which
 * does nothing to what it leads to; only a regular file is then opened, and that very one.
 *
 * Must hold: only a worker that may be given up does it: a file system can keep even that waiting.
 */
#ifndef KRAIT_TARGET_OPEN_FILE_H
#define KRAIT_TARGET_OPEN_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * A name as seen by a process whose root is the descriptor root, absolute links in it included. An
 * O_PATH descriptor of a regular file and *st; -ENOEXEC where it is none, -ELOOP where it leads through
 * /proc's own links, -errno.
 */
int open_file_below(int root, const char *name, struct stat *st)
	__attribute__((warn_unused_result, nonnull));

/* Of a name that the kernel gives, such as exe, relative to dir. The same otherwise. */
int open_file_at(int dir, const char *name, struct stat *st)
	__attribute__((warn_unused_result, nonnull));

/* The file of such a descriptor, for reading. A descriptor, or -errno. */
int open_file_read(int fd) __attribute__((warn_unused_result));

/* Is it on FUSE, or on another machine? Then whoever serves it decides when a read ends. */
bool open_file_is_remote(int fd);

#endif /* KRAIT_TARGET_OPEN_FILE_H */
