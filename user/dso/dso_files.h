/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_files.h - the DSOs of a recording, and which of their files are behind.
 *
 * Must hold: after a store, every address that was given until then has a name on disk. A store
 * writes the generations that have grown since the last one, so the newest and those that were
 * filled in between, and no other.
 */
#ifndef KRAIT_DSO_DSO_FILES_H
#define KRAIT_DSO_DSO_FILES_H

#include "dso/dso.h"

struct dso_files;

/* 0 or -ENOMEM. */
int dso_files__new(struct dso_files **ret) __attribute__((warn_unused_result));
/* Before anything is asked for its path. fd, path: as for dso_store_choose(). 0 or -errno. */
int dso_files__place(struct dso_files *f, int fd, const char *path)
	__attribute__((warn_unused_result));
/* They are not for the build-id cache. */
void dso_files__leave_cache(struct dso_files *f);
/* Files that were not published are removed. */
void dso_files__free(struct dso_files *f);

/* The capture takes its name (dso_store_publish()). 0 or -errno. */
int dso_files__publish(struct dso_files *f, const char *kept_path)
	__attribute__((warn_unused_result));

/* To ask it for addresses. */
struct dso *dso_files__dso(struct dso_files *f);

/* The path of a generation as records say it, good until free. 0 or -errno. */
int dso_files__path(struct dso_files *f, __u32 generation, const char **ret)
	__attribute__((warn_unused_result));

/* An address was given that no file knows yet. */
bool dso_files__is_behind(const struct dso_files *f);
/* What the notes say has changed: the next store writes the newest one, whether it has grown or not. */
void dso_files__outdate(struct dso_files *f);
/*
 * notes: text for the newest one's DSO_NOTES_SECTION, of which the kernel's names go into those that are
 * complete, too: who reads along has met no other when the next one is announced. 0 or -errno.
 */
int dso_files__store(struct dso_files *f, const struct dict *dict, const char *notes)
	__attribute__((warn_unused_result));
/* The last store: the newest one is written with its notes in any case. 0 or -errno. */
int dso_files__finish(struct dso_files *f, const struct dict *dict, const char *notes)
	__attribute__((warn_unused_result));

#endif /* KRAIT_DSO_DSO_FILES_H */
