/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_file.h - opens files whose names others have chosen.
 *
 * A name can lead to a FIFO that never opens, to a device with side effects, and out of the root
 * that it was meant for. So a name is first resolved to an O_PATH descriptor, which has no effect
 * on its target; only if that is a regular file is that very file opened.
 *
 * Must hold: only a worker that may be abandoned does it: a file system can block even this.
 */
#ifndef KRAIT_PROCESS_PROC_OPEN_FILE_H
#define KRAIT_PROCESS_PROC_OPEN_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Opens a name as seen by a process whose root is the descriptor root, including absolute links.
 * Returns an O_PATH descriptor of a regular file and *st; -ENOEXEC: not a regular file, -ELOOP: it
 * leads through /proc's own links, -errno.
 */
int open_file_below(int root, const char *name, struct stat *st)
	__attribute__((warn_unused_result, nonnull));

/* The same for a name that the kernel provides, such as exe, relative to dir. */
int open_file_at(int dir, const char *name, struct stat *st)
	__attribute__((warn_unused_result, nonnull));

/* Opens the file of such a descriptor for reading. Returns a descriptor, or -errno. */
int open_file_read(int fd) __attribute__((warn_unused_result));

/* Opens a regular file for reading by its path here; with a keeper: an ELF file. Returns a descriptor, or -errno. */
int open_file_named(const char *path) __attribute__((warn_unused_result, nonnull));

/* Is it on FUSE, or on another machine? Then a server decides when a read ends. */
bool open_file_is_remote(int fd);

#endif /* KRAIT_PROCESS_PROC_OPEN_FILE_H */
