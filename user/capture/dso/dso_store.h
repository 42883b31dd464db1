/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_store.h - where the DSOs of a capture are kept.
 *
 * Beside the capture, "perf.data.krait/python-1a2b3c4d.so", and in perf's build-id cache (~/.debug
 * or $PERF_BUILDID_DIR), from which "perf archive" takes them. A capture that goes into a pipe, or
 * whose path contains characters that readers cannot handle, has them in ~/.cache/krait.
 *
 * Until the capture has its name, an earlier capture's files stay, and the folder is beside them,
 * as "perf.data.krait.aB3x9Z"; records already contain its final name.
 *
 * Must hold: a DSO appears atomically and complete, also when a later state replaces it. Everything
 * is created with the caller's rights (base/files/sudo_user.h), mode 0600, and never through a link in
 * the place of the folder.
 */
#ifndef KRAIT_CAPTURE_DSO_DSO_STORE_H
#define KRAIT_CAPTURE_DSO_DSO_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "capture/dso/dso.h"

struct sources;

struct dso_store {
	char folder[PATH_MAX]; /* where DSOs are now */
	char name[PATH_MAX]; /* and their name in the capture's records */
	int fd; /* of the folder, once it is made; else -1 */
	bool unpublished; /* the two differ */
	bool made;
	__u32 number; /* with a keeper, which has the real one; 0: there is none */
};

/*
 * Chooses the folder for a capture that is written to fd; path: its final absolute name, NULL: fd
 * has it already. Returns 0 or -errno.
 */
int dso_store_choose(struct dso_store *s, int fd, const char *path)
	__attribute__((warn_unused_result));
/* Creates it, before the first DSO. Returns 0 or -errno. */
int dso_store_make(struct dso_store *s) __attribute__((warn_unused_result));
/*
 * The capture takes its name, and so does the folder. An earlier capture's folder moves to
 * kept_path's, or is removed if that is NULL. Returns 0 or -errno.
 */
int dso_store_publish(struct dso_store *s, const char *kept_path)
	__attribute__((warn_unused_result));
/* Removes what was never published, and closes the folder. */
void dso_store_discard(struct dso_store *s);

/*
 * For a keeper, whose reader writes it: makes the folder if need be, and the file of a generation
 * until it is complete: a descriptor or -errno. err: how that went; 0: gives it its name.
 */
int dso_store_begin_part(struct dso_store *s, const __u8 *build_id)
	__attribute__((warn_unused_result));
int dso_store_end_part(const struct dso_store *s, const __u8 *build_id, int err)
	__attribute__((warn_unused_result));

/* Path of a generation's file in a folder of *s. Returns 0 or -errno. */
int dso_store_path(char *path, size_t size, const char *folder, const __u8 *build_id)
	__attribute__((warn_unused_result));
/* Writes, or replaces, the file of a generation. Returns 0 or -errno. */
int dso_store_write(const struct dso_store *s, const struct dso *d, __u32 generation,
		    const struct dict *dict, const char *notes) __attribute__((warn_unused_result));
/* Writes the file of a generation as a copy of fd, another capture's. Returns 0 or -errno. */
int dso_store_adopt(const struct dso_store *s, int fd, const __u8 *build_id)
	__attribute__((warn_unused_result));
/* The folder of source files of a recording, as in its DSOs: NAME.krait/python-1a2b3c4d.source. Returns 0 or -errno. */
int dso_store_sources_path(char *path, size_t size, const struct dso_store *s, const __u8 *build_id)
	__attribute__((warn_unused_result));
/*
 * Writes the lines that travel with the recording there, for perf annotate. Returns 0; -EFBIG: files were left out, because there
 * are too many bytes or files; or another -errno.
 */
int dso_store_put_sources(const struct dso_store *s, const __u8 *build_id,
			  const struct sources *sources) __attribute__((warn_unused_result));
/* Is a folder with that name one of these? And removes it. */
bool dso_store_is_sources(const char *name);
int dso_store_remove_sources(int at_fd, const char *name);
/*
 * Also puts a file that will not change any more into the build-id cache, under its name in
 * records. Returns 0 or -errno.
 */
int dso_store_cache(const struct dso_store *s, const char *name, const __u8 *build_id)
	__attribute__((warn_unused_result));

/* Path of an object in the build-id cache, whether it exists or not. Returns 0 or -errno. */
int dso_store_cached_path(char *path, size_t size, const __u8 *build_id, size_t build_id_size)
	__attribute__((warn_unused_result));

/* The cache's own folder. Returns 0 or -errno. */
int dso_store_cache_folder(char *folder, size_t size) __attribute__((warn_unused_result));
/* Is a file with that name one of krait's: "python-1a2b3c4d.so"? */
bool dso_store_is_ours(const char *name);

#endif /* KRAIT_CAPTURE_DSO_DSO_STORE_H */
