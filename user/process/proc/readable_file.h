/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * readable_file.h - opens a file only if others could read it: judged by their ids, from a root folder on, link by link.
 *
 * Who runs krait can read more than those whose program named the file. Access control lists are not evaluated: a folder or file
 * that has one is open to its owner and root only.
 *
 * Must hold: only regular files, opened without blocking and without side effects.
 */
#ifndef KRAIT_PROCESS_PROC_READABLE_FILE_H
#define KRAIT_PROCESS_PROC_READABLE_FILE_H

#include <sys/stat.h>
#include <sys/types.h>

/* By host ids; uid 0 reads everything. */
struct file_reader {
	uid_t uid;
	gid_t gid;
	unsigned group_cnt;
	const gid_t *groups;
};

/*
 * Each of the readers must be able to reach the file and to read it; NULL stands for everybody. root: a descriptor of the
 * folder that "/" is. path: absolute. Returns a descriptor for reading and *st; -EACCES, -EINVAL (not a regular file) or
 * another -errno.
 */
int readable_file_open(int root, const char *path, const struct file_reader *const *readers,
		       unsigned cnt, struct stat *st)
	__attribute__((warn_unused_result, nonnull(2, 3, 5)));

#endif /* KRAIT_PROCESS_PROC_READABLE_FILE_H */
