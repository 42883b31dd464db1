/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_id.h - identifies a file, and its state.
 *
 * Only the kernel sets the change time. While a file is open, its inode and device numbers are its
 * own; afterwards both are reused, soon on file systems without a device.
 */
#ifndef KRAIT_PROCESS_PROC_FILE_ID_H
#define KRAIT_PROCESS_PROC_FILE_ID_H

#include <linux/types.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bpf/abi.h"

/* No padding, since it is compared byte by byte. */
struct file_id {
	__u64 dev, ino, size;
	__s64 mtime_sec, mtime_nsec, ctime_sec, ctime_nsec;
};
_Static_assert(sizeof(struct file_id) == 56, "struct file_id has no padding");

static inline struct file_id file_id_of(const struct stat *st)
{
	return (struct file_id){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (__u64)st->st_size,
		.mtime_sec = st->st_mtim.tv_sec,
		.mtime_nsec = st->st_mtim.tv_nsec,
		.ctime_sec = st->st_ctim.tv_sec,
		.ctime_nsec = st->st_ctim.tv_nsec,
	};
}

static inline bool file_id_same(const struct file_id *a, const struct file_id *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* The kernel side's key for the same file. */
static inline struct binary_key binary_key_of(const struct file_id *id)
{
	return (struct binary_key){
		.inode = id->ino,
		.size = id->size,
		.ctime_sec = (__u64)id->ctime_sec,
		.ctime_nsec = (__u32)id->ctime_nsec,
		.dev = major(id->dev) << 20 | minor(id->dev),
	};
}

#endif /* KRAIT_PROCESS_PROC_FILE_ID_H */
