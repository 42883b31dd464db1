/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slices.h - the folder of an agent's memory: captures of about a minute each, identified by when
 * they began.
 *
 * 	20261123T170000.123Z-534211-8f3a12bc.data       and beside it ... .data.krait, as for any
 * 	capture
 *
 * The name has both clocks, in milliseconds, and identifies the machine's start (boot): so a
 * truncated capture, which does not say when it was made, still has its place.
 *
 * Must hold: the folder is its owner's (0700, or at least writable by nobody else), and only files
 * with such a name are looked at or removed; no link is followed.
 */
#ifndef KRAIT_AGENT_KEEP_SLICES_H
#define KRAIT_AGENT_KEEP_SLICES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define SLICE_NAME_MAX 96
/* Per folder; at a minute each this is more than a month. */
#define SLICES_MAX 65536U
/*
 * In the folder: the writer holds a lock on the first; creating the second requests the capture
 * that is being written.
 */
#define SLICES_LOCK "lock"
#define SLICES_REQUEST "request"

struct slice {
	char name[SLICE_NAME_MAX];
	__s64 wall_ms; /* its beginning: since 1970, */
	__u64 monotonic_ms; /* and on the samples' clock, */
	__u32 boot; /* which started with this boot of the machine */
	__u64 bytes; /* on disk, including its libraries */
};

struct slices {
	struct slice *list; /* oldest first */
	unsigned cnt, cap;
	__u64 bytes; /* of all */
};

/* A number for this boot of the machine; 0: unknown. */
__u32 slices_boot(void);
void slice_name(struct slice *s);
/* Parses a name made by slice_name(); false: it is not one. */
bool slice_parse(struct slice *ret, const char *name) __attribute__((warn_unused_result));

/*
 * make: creates it if it is missing. Returns a descriptor; -EPERM: others may write there, or it is
 * not the caller's; -errno.
 */
int slices_open_folder(const char *path, bool make) __attribute__((warn_unused_result));

/* Initially all zero. Returns 0 or -errno. */
int slices_read(struct slices *ret, int folder) __attribute__((warn_unused_result));
void slices_free(struct slices *s);
/* Bytes that one has on disk now; 0: it does not exist. */
__u64 slices_bytes_of(int folder, const char *name);
/* Removes it with its libraries. Returns 0 or -errno. */
int slices_remove(int folder, const char *name) __attribute__((warn_unused_result));

#endif /* KRAIT_AGENT_KEEP_SLICES_H */
