/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slices.h - the folder of an agent's memory: captures of a minute or so each, told apart by when they began.
 *
 *	20261123T170000.123Z-534211-8f3a12bc.data	and beside it ... .data.krait, as of any capture
 *
 * The name has both clocks, in milliseconds, and the machine's start (boot): so a capture that was cut off,
 * which does not say when it was made, has its place all the same.
 *
 * Must hold: the folder is its owner's alone (0700, or at least written by nobody else), and only what has such a
 * name is ever looked at or removed; nothing is followed through a link.
 */
#ifndef KRAIT_KEEP_SLICES_H
#define KRAIT_KEEP_SLICES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define SLICE_NAME_MAX 96
/* Of a folder; at a minute each it is more than a month. */
#define SLICES_MAX 65536U
/* In the folder: who writes has it locked; who asks for what is being written puts the other one there. */
#define SLICES_LOCK "lock"
#define SLICES_REQUEST "request"

struct slice {
	char name[SLICE_NAME_MAX];
	__s64 wall_ms; /* when it began: since 1970, */
	__u64 monotonic_ms; /* and on the clock of samples, */
	__u32 boot; /* which began at this start of the machine */
	__u64 bytes; /* on disk, with its libraries */
};

struct slices {
	struct slice *list; /* oldest first */
	unsigned cnt, cap;
	__u64 bytes; /* of all */
};

/* A number for this start of the machine; 0 where the kernel does not say. */
__u32 slices_boot(void);
void slice_name(struct slice *s);
/* What slice_name() has made; false: it is none of these. */
bool slice_parse(struct slice *ret, const char *name) __attribute__((warn_unused_result));

/*
 * make: makes it where it is missing. A descriptor; -EPERM: others may write there, or it is not the caller's;
 * -errno.
 */
int slices_open_folder(const char *path, bool make) __attribute__((warn_unused_result));

/* All zero before. 0 or -errno. */
int slices_read(struct slices *ret, int folder) __attribute__((warn_unused_result));
void slices_free(struct slices *s);
/* What one has on disk now; 0 it is not there. */
__u64 slices_bytes_of(int folder, const char *name);
/* With its libraries. 0 or -errno. */
int slices_remove(int folder, const char *name) __attribute__((warn_unused_result));

#endif /* KRAIT_KEEP_SLICES_H */
