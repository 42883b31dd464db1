/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_store.h - where the DSOs of a capture are kept.
 *
 * Beside the capture, "perf.data.krait/python-1a2b3c4d.so", and in perf's build-id cache
 * (~/.debug or $PERF_BUILDID_DIR), from which "perf archive" takes them. A capture that goes into a
 * pipe, or whose path has characters that consumers cannot stand, has them in ~/.cache/krait.
 *
 * Until the capture has its name, what was there before stays, and the folder is beside it, as
 * "perf.data.krait.aB3x9Z"; records name it as it will be.
 *
 * Must hold: a DSO appears at once and whole, also when it is replaced by a later state. All is made with
 * the caller's rights (util/sudo_user.h), mode 0600, and never through a link that stands for the folder.
 */
#ifndef KRAIT_DSO_DSO_STORE_H
#define KRAIT_DSO_DSO_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "dso/dso.h"

struct dso_store {
	char folder[PATH_MAX]; /* where DSOs are now */
	char name[PATH_MAX]; /* and as records of the capture say it */
	bool unpublished; /* the two differ */
	bool made;
};

/*
 * Chooses the folder for a capture that is written to fd; path: the absolute name that the capture will
 * have, NULL as fd has it. 0 or -errno.
 */
int dso_store_choose(struct dso_store *s, int fd, const char *path)
	__attribute__((warn_unused_result));
/* Makes it, before the first DSO. 0 or -errno. */
int dso_store_make(struct dso_store *s) __attribute__((warn_unused_result));
/*
 * The capture is taking its name: so does the folder. What was there of an earlier capture goes to
 * kept_path's folder, or away if that is NULL. 0 or -errno.
 */
int dso_store_publish(struct dso_store *s, const char *kept_path)
	__attribute__((warn_unused_result));
/* Removes what was never published. */
void dso_store_discard(struct dso_store *s);

/* Path of the file of a generation below a folder of *s. 0 or -errno. */
int dso_store_path(char *path, size_t size, const char *folder, const __u8 *build_id)
	__attribute__((warn_unused_result));
/* Writes, or replaces, the file of a generation. 0 or -errno. */
int dso_store_write(const char *path, const struct dso *d, __u32 generation,
		    const struct dict *dict, const char *notes) __attribute__((warn_unused_result));
/* Puts a file that will not change any more into the build-id cache as well, by its name in records.
 * 0 or -errno. */
int dso_store_cache(const char *path, const char *name, const __u8 *build_id)
	__attribute__((warn_unused_result));

/* Path of an object in the build-id cache; it need not be there. 0 or -errno. */
int dso_store_cached_path(char *path, size_t size, const __u8 *build_id, size_t build_id_size)
	__attribute__((warn_unused_result));

/* The cache's own folder. 0 or -errno. */
int dso_store_cache_folder(char *folder, size_t size) __attribute__((warn_unused_result));
/* Whether a file of that name is one of krait's: "python-1a2b3c4d.so". */
bool dso_store_is_ours(const char *name);

#endif /* KRAIT_DSO_DSO_STORE_H */
