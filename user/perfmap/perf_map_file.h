/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_map_file.h - /tmp/perf-PID.map of a process, where perf looks for it: in the mount namespace of
 * the process, under the pid that it has itself there; of one that has gone, in ours.
 *
 * The process owns that /tmp and may be hostile: it can be any folder that it has bound there. So the
 * file is made by the process's own user, who could have made it himself.
 *
 * Must hold: nothing in its root is followed, no file of anybody else is written or removed, nothing
 * that can block is opened.
 */
#ifndef KRAIT_PERFMAP_PERF_MAP_FILE_H
#define KRAIT_PERFMAP_PERF_MAP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "target/proc.h"

/* Where a process has its /tmp. */
struct perf_map_place {
	int root_fd;
	bool trusted; /* our own root: its links may be followed */
	pid_t pid; /* that it has there */
	bool known; /* the process is still there: ids */
	struct proc_ids ids;
	uid_t root_uid; /* host id of its namespace's root */
};

/* Asks /proc. 0 or -errno; the descriptor is the caller's. */
int perf_map_file_find(pid_t pid, struct perf_map_place *ret) __attribute__((warn_unused_result));
/*
 * Takes on the ids of the process for good, and gives up all capabilities: for a process that does
 * nothing else. Of a process that has gone, those of the user behind krait. 0 or -errno.
 */
int perf_map_file_become(const struct perf_map_place *place) __attribute__((warn_unused_result));

/*
 * A new file, open for writing, and its path for messages (as the process sees it). One that is there
 * is replaced if it is ours: a regular file of our user that begins with the line that all of ours begin
 * with. -EEXIST: it is another's, and stays as it is; -ELOOP: its /tmp is a symbolic link; -EPERM: its
 * /tmp is not one that only root and the process itself rule; -errno.
 */
int perf_map_file_open(const struct perf_map_place *place, const char *first_line, char *ret_path,
		       size_t size) __attribute__((warn_unused_result));

#endif /* KRAIT_PERFMAP_PERF_MAP_FILE_H */
