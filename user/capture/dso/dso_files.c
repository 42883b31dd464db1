/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/dso/dso_files.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dso/dso_store.h"
#include "capture/dso/kernel_names.h"
#include "base/text/log.h"

struct dso_files {
	struct dso *dso;
	struct dso_store store;
	char *paths[DSO_MAX_GENERATIONS]; /* as in records; NULL: not requested yet */
	__u32 stored; /* generations before this one are completely on disk */
	__u32 stored_end; /* how much of that one is on disk */
	bool no_cache;
};

int dso_files__new(struct dso_files **ret)
{
	struct dso_files *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->store.fd = -1;
	f->dso = dso__new();
	if (f->dso) {
		*ret = f;
		return 0;
	}
	dso_files__free(f);
	return -ENOMEM;
}

int dso_files__place(struct dso_files *f, int fd, const char *path)
{
	int err = dso_store_choose(&f->store, fd, path);
	size_t len = strlen(f->store.name), end = strlen(".krait");
	char folder[PATH_MAX];

	/* A keeper writes no others' names; a folder of many captures is no place for them. */
	if (err || f->store.number || len <= end || strcmp(f->store.name + len - end, ".krait"))
		return err;
	err = dso_store_sources_path(folder, sizeof(folder), &f->store, dso__build_id(f->dso, 0));
	return err == -ENAMETOOLONG ? 0 : err ?: dso__keep_sources(f->dso, folder);
}

/* For perf annotate: krait's own commands have them in the notes. */
static void put_sources(const struct dso_files *f, const struct dict *dict)
{
	int err = dso__sources(f->dso) ? dso_store_put_sources(&f->store, dso__build_id(f->dso, 0),
							       dict__sources_of(dict)) :
					 0;

	if (err)
		log_warn("perf.data", "perf annotate does not find all source lines: %s",
			 err == -EFBIG ? "they take too much room" : strerror(-err));
}

void dso_files__leave_cache(struct dso_files *f)
{
	f->no_cache = true;
}

void dso_files__free(struct dso_files *f)
{
	if (!f)
		return;
	dso_store_discard(&f->store);
	for (__u32 i = 0; i < DSO_MAX_GENERATIONS; i++)
		free(f->paths[i]);
	dso__free(f->dso);
	free(f);
}

int dso_files__publish(struct dso_files *f, const char *kept_path)
{
	return dso_store_publish(&f->store, kept_path);
}

struct dso *dso_files__dso(struct dso_files *f)
{
	return f->dso;
}

static int name_file(struct dso_files *f, __u32 generation)
{
	char path[PATH_MAX];
	int err;

	if (f->paths[generation])
		return 0;
	err = dso_store_path(path, sizeof(path), f->store.name, dso__build_id(f->dso, generation));
	if (err)
		return err;
	f->paths[generation] = strdup(path);
	return f->paths[generation] ? 0 : -ENOMEM;
}

int dso_files__path(struct dso_files *f, __u32 generation, const char **ret)
{
	int err = name_file(f, generation);

	*ret = err ? NULL : f->paths[generation];
	return err;
}

bool dso_files__is_behind(const struct dso_files *f)
{
	__u32 newest = dso__generations(f->dso) - 1;

	return f->stored < newest || f->stored_end != dso__end(f->dso, newest);
}

void dso_files__outdate(struct dso_files *f)
{
	f->stored_end = 0;
}

/* Needed only by "perf archive" and for captures that are moved. */
static void put_into_cache(struct dso_files *f, __u32 generation)
{
	int err;

	if (f->no_cache)
		return;
	err = dso_store_cache(&f->store, f->paths[generation], dso__build_id(f->dso, generation));
	if (err)
		log_debug("perf.data", "build-id cache: %s", strerror(-err));
}

static int store_one(struct dso_files *f, __u32 generation, const struct dict *dict,
		     const char *notes)
{
	int err = name_file(f, generation);

	if (!err)
		err = dso_store_make(&f->store);
	if (!err)
		err = dso_store_write(&f->store, f->dso, generation, dict, notes);
	return err;
}

int dso_files__store(struct dso_files *f, const struct dict *dict, const char *notes)
{
	__u32 newest = dso__generations(f->dso) - 1;
	int err = 0;

	while (f->stored < newest) {
		err = store_one(f, f->stored, dict, kernel_names_part(notes));
		if (err)
			return err;
		put_into_cache(f, f->stored);
		f->stored++;
		f->stored_end = 0;
	}
	if (dso_files__is_behind(f))
		err = store_one(f, newest, dict, notes);
	if (!err)
		f->stored_end = dso__end(f->dso, newest);
	return err;
}

int dso_files__finish(struct dso_files *f, const struct dict *dict, const char *notes)
{
	int err;

	f->stored_end = 0;
	err = dso_files__store(f, dict, notes);
	if (err)
		return err;
	put_into_cache(f, f->stored);
	put_sources(f, dict);
	return 0;
}
