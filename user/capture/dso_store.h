/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_store.h - where the DSO of a capture is kept.
 *
 * Beside the capture, "perf.data.krait/python-1a2b3c4d.so", and in perf's build-id cache
 * (~/.debug or $PERF_BUILDID_DIR), from which "perf archive" takes it. A capture that goes into a
 * pipe, or whose path has characters that consumers cannot stand, has it in ~/.cache/krait.
 *
 * Must hold: the file appears at once and whole, also when it is replaced by a later state.
 */
#ifndef KRAIT_CAPTURE_DSO_STORE_H
#define KRAIT_CAPTURE_DSO_STORE_H

#include <stddef.h>

#include "capture/dso.h"

/* Chooses the path for a capture that is written to fd. 0 or -errno. */
int dso_store_choose(char *path, size_t size, int fd, const struct dso *d)
	__attribute__((warn_unused_result));
/* Writes, or replaces, the file. 0 or -errno. */
int dso_store_write(const char *path, const struct dso *d, const struct profile *p,
		    const char *notes) __attribute__((warn_unused_result));
/* Puts the file into the build-id cache as well. 0 or -errno. */
int dso_store_cache(const char *path, const struct dso *d) __attribute__((warn_unused_result));

/* Path of an object in the build-id cache; it need not be there. 0 or -errno. */
int dso_store_cached_path(char *path, size_t size, const __u8 *build_id, size_t build_id_size)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_DSO_STORE_H */
