/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_map_file.h - /tmp/perf-PID.map of a process, where perf looks for it: in the mount namespace of
 * the process, under the pid that it has itself there; of one that has gone, in ours.
 *
 * Must hold: the process owns that /tmp and may be hostile. Nothing in its root is followed, no file
 * of anybody else is written or removed, nothing that can block is opened.
 */
#ifndef KRAIT_TARGET_PERF_MAP_FILE_H
#define KRAIT_TARGET_PERF_MAP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A new file, open for writing, and its path for messages (as the process sees it). One that is there
 * is replaced if it is ours: a regular file of our user that begins with the line that all of ours begin
 * with. -EEXIST: it is another's, and stays as it is; -ELOOP: its /tmp is a symbolic link; -errno.
 */
int perf_map_file_open(pid_t pid, const char *first_line, char *ret_path, size_t size)
	__attribute__((warn_unused_result));

/* The same below a root folder; trusted: its links may be followed. */
int perf_map_file_open_at(int root_fd, bool trusted, pid_t pid, const char *first_line)
	__attribute__((warn_unused_result));

#endif /* KRAIT_TARGET_PERF_MAP_FILE_H */
