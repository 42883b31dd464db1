/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * known_files.h - files in which the kernel side knows the interpreter, before a process runs it: the
 * maps binaries (executables) and entries (libraries, by probes).
 *
 * All of it is what the file says (struct py_process, of_file); the process that it was met in has no
 * say in what others are. A file is its device, inode, size and change time; so that no other can
 * come to be all that, it is kept open while it is known, by a descriptor that only holds it.
 *
 * Must hold: what the kernel is told of a file is taken back before the file is let go. An owner, here
 * whose the file is, may have as many as util/quota.h allows; what is not known is found all the same,
 * by looking at the process. A file on another machine or on FUSE is never held.
 */
#ifndef KRAIT_SAMPLER_KNOWN_FILES_H
#define KRAIT_SAMPLER_KNOWN_FILES_H

#include <linux/types.h>

#include "sampler/uprobes.h"
#include "target/process.h"

/*
 * A file that nobody has used for so long gives up its place when its owner needs one; without a process that
 * runs it, it is let go: as long as it is held its file system cannot be unmounted.
 */
#define KNOWN_FILES_IDLE_NS 60000000000ULL
/* No file's number. */
#define KNOWN_FILE_NONE (1U << 31)

struct known_files;
struct layouts;
struct quota;

/* What there is to know of one; the name is that of the process that it was met in. */
struct known_file {
	struct file_id id;
	enum py_build build;
	__u32 layout;
	__u32 version; /* PY_VERSION_HEX */
	bool debug;
	char name[256];
};

/* All is borrowed. binaries_fd: -1 for no map. NULL when out of memory. */
struct known_files *known_files__new(int binaries_fd, const struct uprobes *uprobes,
				     struct layouts *layouts);
void known_files__free(struct known_files *k);

/*
 * Makes the file of that process known, if it can be: fd has it open. owner: whose the file is; flags
 * for struct proc_info. Its number, which record_task.file will be; -EOPNOTSUPP it cannot be known,
 * -EDQUOT its owner has too many, -errno.
 */
int known_files__learn(struct known_files *k, const struct py_process *p, int fd, unsigned owner,
		       __u32 flags, __u64 now_ns) __attribute__((warn_unused_result, nonnull));

/* The file with that number, marked as used now; NULL if it is no longer known. */
const struct known_file *known_files__at(struct known_files *k, __u32 number, __u64 now_ns)
	__attribute__((nonnull));

/* A process starts or stops running the file with that number; other numbers are ignored. */
void known_files__begin_use(struct known_files *k, __u32 number) __attribute__((nonnull));
void known_files__end_use(struct known_files *k, __u32 number, __u64 now_ns)
	__attribute__((nonnull));
/* Lets go of what is idle; to be called now and then. */
void known_files__release_idle(struct known_files *k, __u64 now_ns) __attribute__((nonnull));

/* How many each owner has. */
const struct quota *known_files__quota(const struct known_files *k) __attribute__((nonnull));

#endif /* KRAIT_SAMPLER_KNOWN_FILES_H */
