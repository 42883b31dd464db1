/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_map_file.h - /tmp/perf-PID.map of a process, where perf looks for it: in the process's mount
 * namespace, under its own pid there; for an ended process, in ours.
 *
 * The process owns that /tmp and may be hostile: it can bind any folder there. So the file is made
 * by the process's own user, who could have made it himself.
 *
 * Must hold: we follow no links in its root, write or remove no file of another user, and open
 * nothing that can block.
 */
#ifndef KRAIT_CAPTURE_PERFMAP_PERF_MAP_FILE_H
#define KRAIT_CAPTURE_PERFMAP_PERF_MAP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "process/proc/proc.h"

/* The place of a process's /tmp. */
struct perf_map_place {
	int root_fd;
	bool trusted; /* our own root: its links may be followed */
	pid_t pid; /* in its own namespace */
	bool known; /* the process still exists: ids is set */
	struct proc_ids ids;
	uid_t root_uid; /* host id of its namespace's root */
};

/*
 * Finds the place through /proc, of the process that began then (clock ticks since boot); if it has
 * ended, or for 0, that of an ended one, even if another process has its pid by now. Returns 0 or
 * -errno; the caller owns the descriptor.
 */
int perf_map_file_find(pid_t pid, __u64 start_ticks, struct perf_map_place *ret)
	__attribute__((warn_unused_result));
/*
 * Takes on the process's ids for good and drops all capabilities. For a process that does nothing
 * else. If the target has ended, takes those of the user behind krait. Returns 0 or -errno.
 */
int perf_map_file_become(const struct perf_map_place *place) __attribute__((warn_unused_result));

/*
 * Makes a new file, open for writing, and stores its path for messages (as the process sees it).
 * Replaces an old one only if it is ours: a regular file of our user that begins with first_line.
 * Returns a descriptor, or -EEXIST (another's file, left alone), -ELOOP (its /tmp is a symbolic
 * link), -EPERM (others than root and the process control its /tmp), or another -errno.
 */
int perf_map_file_open(const struct perf_map_place *place, const char *first_line, char *ret_path,
		       size_t size) __attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_PERFMAP_PERF_MAP_FILE_H */
