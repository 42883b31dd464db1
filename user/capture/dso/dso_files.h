/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_files.h - the DSOs of a recording, and which of their files are out of date.
 *
 * Must hold: after a store, every address assigned so far has a name on disk. A store writes only
 * the generations that have grown since the last one: the newest, and those that were filled in
 * between.
 */
#ifndef KRAIT_CAPTURE_DSO_DSO_FILES_H
#define KRAIT_CAPTURE_DSO_DSO_FILES_H

#include "capture/dso/dso.h"

struct dso_files;

/* Returns 0 or -ENOMEM. */
int dso_files__new(struct dso_files **ret) __attribute__((warn_unused_result));
/* Call before any path is requested. fd, path: as for dso_store_choose(). Returns 0 or -errno. */
int dso_files__place(struct dso_files *f, int fd, const char *path)
	__attribute__((warn_unused_result));
/* Keeps them out of the build-id cache. */
void dso_files__leave_cache(struct dso_files *f);
/* Removes files that were not published. */
void dso_files__free(struct dso_files *f);

/* The capture takes its name (dso_store_publish()). Returns 0 or -errno. */
int dso_files__publish(struct dso_files *f, const char *kept_path)
	__attribute__((warn_unused_result));

/* The DSO, for getting addresses. */
struct dso *dso_files__dso(struct dso_files *f);

/* The path of a generation as in records; valid until free. Returns 0 or -errno. */
int dso_files__path(struct dso_files *f, __u32 generation, const char **ret)
	__attribute__((warn_unused_result));

/* Is there an address that no file contains yet? */
bool dso_files__is_behind(const struct dso_files *f);
/* The notes have changed: the next store writes the newest generation even if it has not grown. */
void dso_files__outdate(struct dso_files *f);
/*
 * notes: text for the newest one's DSO_NOTES_SECTION. Its kernel names go into completed ones as
 * well: when the next generation is announced, a live reader knows no other. Returns 0 or -errno.
 */
int dso_files__store(struct dso_files *f, const struct dict *dict, const char *notes)
	__attribute__((warn_unused_result));
/* The last store: always writes the newest one with its notes. Returns 0 or -errno. */
int dso_files__finish(struct dso_files *f, const struct dict *dict, const char *notes)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_DSO_DSO_FILES_H */
