/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/capture_copy.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dso/dso_reader.h"
#include "capture/dso/dso_store.h"
#include "capture/import/inject.h"
#include "capture/import/object_file.h"
#include "capture/perfdata/perf_copy.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/data/vec.h"

#define BUFFER_SIZE (1UL << 18)

/* A recording has one for each 16 million places. */
#define LIBRARIES_MAX 4096

struct library {
	__u8 build_id[DSO_BUILD_ID_SIZE];
	char *path; /* in the copy; NULL: not found */
};

struct copier {
	const char *in_name;
	struct dso_store store;
	struct library *list;
	unsigned cnt, cap;
	int err; /* the first of those that the callback cannot return */
	struct inject inject;
};

static int adopt(struct copier *c, const struct dso_reader *library, const __u8 *build_id)
{
	int err = dso_store_make(&c->store);

	return err ? err : dso_store_adopt(&c->store, dso_reader__fd(library), build_id);
}

/* Copies it; *new remembers that, or that it is not there. */
static int add_library(struct copier *c, struct library *new, const char *path)
{
	struct dso_reader *library =
		object_file_open_dso(path, new->build_id, DSO_BUILD_ID_SIZE, c->in_name);
	char to[PATH_MAX];
	int err;

	if (!library)
		return 0;
	err = adopt(c, library, new->build_id);
	dso_reader__free(library);
	if (!err)
		err = dso_store_path(to, sizeof(to), c->store.name, new->build_id);
	if (err)
		return err;
	new->path = strdup(to);
	return new->path ? 0 : -ENOMEM;
}

static const char *rename_library(void *ctx, const char *path, const __u8 *build_id,
				  unsigned build_id_size)
{
	struct copier *c = ctx;
	struct library *new;

	if (!object_file_is_dso(path) || build_id_size != DSO_BUILD_ID_SIZE)
		return NULL;
	for (unsigned i = c->cnt; i-- > 0;) {
		if (!memcmp(c->list[i].build_id, build_id, DSO_BUILD_ID_SIZE))
			return c->list[i].path;
	}
	if (c->cnt == LIBRARIES_MAX || vec_reserve(c->list, c->cap, c->cnt + 1))
		return NULL;
	new = &c->list[c->cnt++];
	*new = (struct library){ .path = NULL };
	memcpy(new->build_id, build_id, DSO_BUILD_ID_SIZE);
	if (!c->err)
		c->err = add_library(c, new, path);
	return new->path;
}

/* For perf archive, and copies that are moved. */
static void put_into_cache(const struct copier *c)
{
	for (unsigned i = 0; i < c->cnt; i++) {
		const struct library *l = &c->list[i];
		int err = l->path ? dso_store_cache(&c->store, l->path, l->build_id) : 0;

		if (err)
			log_debug("perf.data", "build-id cache: %s", strerror(-err));
	}
}

static void count(const struct copier *c, struct capture_copied *ret)
{
	for (unsigned i = 0; i < c->cnt; i++) {
		ret->libraries += c->list[i].path != NULL;
		ret->missing += !c->list[i].path;
	}
}

static void free_libraries(struct copier *c)
{
	for (unsigned i = 0; i < c->cnt; i++)
		free(c->list[i].path);
	free(c->list);
	dso_store_discard(&c->store);
}

static int edit(void *ctx, const struct perf_reader *reader, const struct perf_read *r,
		struct bytes *to)
{
	struct copier *c = ctx;

	return inject_edit(&c->inject, reader, r, to);
}

static void add_build_ids(void *ctx, struct bytes *to)
{
	const struct copier *c = ctx;

	inject_add_build_ids(&c->inject, to);
}

int capture_copy(FILE *out, const char *out_name, const char *kept_name, FILE *in,
		 const char *in_name, int compression, const struct taken_stacks *stacks,
		 struct inject_stats *ret_injected, struct capture_copied *ret, struct error *err)
{
	struct copier c = { .in_name = in_name,
			    .inject = { .stacks = stacks, .library = rename_library, .ctx = &c } };
	const struct perf_copy_editor editor = { .edit = stacks ? edit : NULL,
						 .add_build_ids = stacks ? add_build_ids : NULL,
						 .rename = rename_library,
						 .ctx = &c,
						 .compression = compression };
	char *buffer = malloc(BUFFER_SIZE);
	int result;

	*ret = (struct capture_copied){ 0 };
	/* A copy with stacks is ten times what it is made of. */
	if (buffer)
		setvbuf(out, buffer, _IOFBF, BUFFER_SIZE);
	c.err = dso_store_choose(&c.store, fileno(out), out_name);
	result = c.err ? 0 :
			 perf_copy(out, in, in_name ? in_name : "standard input", &editor,
				   &ret->read, err);
	if (!result && fflush(out))
		result = error_set(err, errno, EXIT_CODE_OUTPUT, "%s: %s", out_name,
				   strerror(errno));
	/* It outlives the buffer. */
	setvbuf(out, NULL, _IONBF, 0);
	free(buffer);
	if (!result && !c.err) {
		put_into_cache(&c);
		c.err = dso_store_publish(&c.store, kept_name);
	}
	if (!result && c.err)
		result = error_set(err, -c.err, EXIT_CODE_OUTPUT, "%s: %s",
				   *c.store.name ? c.store.name : out_name, strerror(-c.err));
	count(&c, ret);
	if (ret_injected)
		*ret_injected = c.inject.stats;
	inject_free(&c.inject);
	free_libraries(&c);
	return result;
}
