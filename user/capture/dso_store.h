/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_store.h - where the DSOs of a capture are kept.
 *
 * Beside the capture, "perf.data.krait/python-1a2b3c4d.so", and in perf's build-id cache
 * (~/.debug or $PERF_BUILDID_DIR), from which "perf archive" takes them. A capture that goes into a
 * pipe, or whose path has characters that consumers cannot stand, has them in ~/.cache/krait.
 *
 * Must hold: the file appears at once and whole, also when it is replaced by a later state.
 */
#ifndef KRAIT_CAPTURE_DSO_STORE_H
#define KRAIT_CAPTURE_DSO_STORE_H

#include <stddef.h>

#include "capture/dso.h"

/* Chooses and makes the folder for a capture that is written to fd. 0 or -errno. */
int dso_store_choose(char *folder, size_t size, int fd) __attribute__((warn_unused_result));
/* Path of the file of a generation. 0 or -errno. */
int dso_store_path(char *path, size_t size, const char *folder, const __u8 *build_id)
	__attribute__((warn_unused_result));
/* Writes, or replaces, the file of a generation. 0 or -errno. */
int dso_store_write(const char *path, const struct dso *d, __u32 generation,
		    const struct profile *p, const char *notes) __attribute__((warn_unused_result));
/* Puts a file that will not change any more into the build-id cache as well. 0 or -errno. */
int dso_store_cache(const char *path, const __u8 *build_id) __attribute__((warn_unused_result));

/* Path of an object in the build-id cache; it need not be there. 0 or -errno. */
int dso_store_cached_path(char *path, size_t size, const __u8 *build_id, size_t build_id_size)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_DSO_STORE_H */
