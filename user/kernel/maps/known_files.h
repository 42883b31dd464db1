/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * known_files.h - files whose interpreter the kernel side knows before a process runs it: the maps
 * binaries (executables) and entries (libraries, through probes).
 *
 * Everything here comes from the file (struct py_process, of_file); the process in which it was met
 * has no influence. A file is identified by device, inode, size and change time; so that no other
 * file can get the same, it is kept open while it is known, by a descriptor that is good for
 * nothing else.
 *
 * Must hold: what the kernel was told about a file is taken back before the file is closed. An
 * owner (here the file's owner) may have as many as base/share/quota.h allows; processes of other files
 * are found all the same, by looking at them. A file on another machine or on FUSE is never kept.
 */
#ifndef KRAIT_KERNEL_MAPS_KNOWN_FILES_H
#define KRAIT_KERNEL_MAPS_KNOWN_FILES_H

#include <linux/types.h>

#include "kernel/maps/uprobes.h"
#include "process/identify/py_process.h"

/*
 * A file that has been idle this long loses its place when its owner needs one. If no process runs
 * it, it is closed: while it is open, its file system cannot be unmounted.
 */
#define KNOWN_FILES_IDLE_NS 60000000000ULL
/* Never a file's number. */
#define KNOWN_FILE_NONE (1U << 31)

struct known_files;
struct layouts;
struct quota;

/* What is known about one; the name is that of the process in which it was met. */
struct known_file {
	struct file_id id;
	enum py_build build;
	__u32 layout;
	__u32 version; /* PY_VERSION_HEX */
	bool debug, alone; /* as in struct py_process */
	char name[256];
};

/* All are borrowed. binaries_fd: -1 for no map. NULL: out of memory. */
struct known_files *known_files__new(int binaries_fd, const struct uprobes *uprobes,
				     struct layouts *layouts);
void known_files__free(struct known_files *k);

/*
 * Makes that process's file known, if possible: fd has it open. owner: the file's; flags: for
 * struct proc_info. Returns its number, which record_task.file will have; -EOPNOTSUPP: impossible,
 * -EDQUOT: its owner has too many, -errno.
 */
int known_files__learn(struct known_files *k, const struct py_process *p, int fd, unsigned owner,
		       __u32 flags, __u64 now_ns) __attribute__((warn_unused_result, nonnull));

/* The file with that number, marked as just used; NULL: no longer known. */
const struct known_file *known_files__at(struct known_files *k, __u32 number, __u64 now_ns)
	__attribute__((nonnull));

/* A process starts or stops running the file with that number; unknown numbers are ignored. */
void known_files__begin_use(struct known_files *k, __u32 number) __attribute__((nonnull));
void known_files__end_use(struct known_files *k, __u32 number, __u64 now_ns)
	__attribute__((nonnull));
/* Closes idle files; call from time to time. */
void known_files__release_idle(struct known_files *k, __u64 now_ns) __attribute__((nonnull));

/* How many each owner has. */
const struct quota *known_files__quota(const struct known_files *k) __attribute__((nonnull));

#endif /* KRAIT_KERNEL_MAPS_KNOWN_FILES_H */
