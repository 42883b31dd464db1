/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/source_halves.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc/modules.h"
#include "symbol/dwo_opener.h"
#include "symbol/symbol_reader.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/log.h"

struct source_halves {
	struct symbol_reader *reader;
	struct dwo_opener *opener;
	struct source_half_counts counts;
};

struct source_halves *source_halves__new(struct symbol_reader *reader)
{
	struct source_halves *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->reader = reader;
	h->opener = dwo_opener__new();
	if (h->opener)
		return h;
	free(h);
	return NULL;
}

void source_halves__free(struct source_halves *h)
{
	if (!h)
		return;
	dwo_opener__free(h->opener);
	free(h);
}

/* ---- where they are ---------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_whole(int len)
{
	return len >= 0 && len < PATH_MAX;
}

/*
 * Places to look: the folder where it was made, then beside the program's file, as if both were
 * moved.
 */
#define PLACES 3U

/* Place number i; false: there is no such place. */
static bool place_at(unsigned i, const char *file, const char *folder, const char *name,
		     char ret[PATH_MAX])
{
	const int folder_len = (int)(last_part(file) - file);

	switch (i) {
	case 0:
		if (*name == '/')
			return is_whole(snprintf(ret, PATH_MAX, "%s", name));
		return folder && *folder == '/' &&
		       is_whole(snprintf(ret, PATH_MAX, "%s/%s", folder, name));
	case 1:
		return *name != '/' && *file == '/' &&
		       is_whole(snprintf(ret, PATH_MAX, "%.*s%s", folder_len, file, name));
	default:
		return *file == '/' && strchr(name, '/') &&
		       is_whole(snprintf(ret, PATH_MAX, "%.*s%s", folder_len, file,
					 last_part(name)));
	}
}

static const char *text_of(const struct parser_sources *a, __u32 at)
{
	return at == PARSER_NO_NAME ? NULL : a->names + at;
}

/* Returns a descriptor, or why not: if a file exists but may not be used, that reason. */
static int open_half(struct source_halves *h, const struct module *module, const struct stat *of,
		     const struct parser_sources *a)
{
	const char *file = module__name(module);
	char path[PATH_MAX];
	int fd = -ENOENT;

	if (a->half == PARSER_HALF_PACKAGE) {
		if (*file == '/' && is_whole(snprintf(path, sizeof(path), "%s.dwp", file)))
			fd = dwo_opener__open(h->opener, path, of);
		return fd;
	}
	for (unsigned i = 0; i < PLACES && fd != -ETIMEDOUT; i++) {
		int opened = -ENOENT;

		if (place_at(i, file, text_of(a, a->folder), text_of(a, a->name), path))
			opened = dwo_opener__open(h->opener, path, of);
		if (opened >= 0)
			return opened;
		if (opened != -ENOENT && opened != -ENOTDIR)
			fd = opened;
	}
	return fd;
}

/* ---- what becomes of them ---------------------------------------------------------------------- */

static void count(struct source_halves *h, enum parser_half what, int fd, int err)
{
	struct source_half_counts *c = &h->counts;

	if (fd == -ENOENT)
		/* Few files have a package. */
		c->missing += what == PARSER_HALF_UNIT;
	else if (fd == -E2BIG)
		c->beyond++;
	else if (fd < 0)
		c->refused++;
	else if (err == -ESTALE)
		c->stale++;
	else if (err)
		c->unreadable++;
	else
		c->used++;
}

int source_halves__give(struct source_halves *h, struct symbol_file *f, const struct module *module,
			const struct parser_sources *answer, __u32 *asked)
{
	const enum parser_half what = answer->half;
	const __u64 id = answer->half_id, begin_ns = clock_monotonic_ns();
	cleanup_close int fd = -1;
	struct stat of;
	int err;

	if (fstat(f->fd, &of))
		return -errno;
	fd = *asked >= SOURCE_HALVES_MAX ? -E2BIG : open_half(h, module, &of, answer);
	(*asked)++;
	symbol_reader__note_wait(h->reader, f, clock_monotonic_ns() - begin_ns);
	/* The answer belongs to the reader until its next job. */
	err = symbol_reader__half(h->reader, f, what, id, fd);
	count(h, what, fd, err);
	if (fd < 0 && fd != -ENOENT)
		log_debug("symbols", "split debug information of %s is not used: %s",
			  module__name(module), strerror(-fd));
	return err == -EAGAIN || f->bad ? -EAGAIN : 0;
}

void source_halves__look_in(struct source_halves *h, pid_t pid, __u64 start_ticks)
{
	dwo_opener__look_in(h->opener, pid, start_ticks);
}

const struct source_half_counts *source_halves__counts(const struct source_halves *h)
{
	return &h->counts;
}

void source_halves__say_missing(const struct source_halves *h)
{
	const struct source_half_counts *c = &h->counts;

	if (!c->missing && !c->refused && !c->stale && !c->unreadable && !c->beyond)
		return;
	log_info(
		NULL,
		"some inlined functions are not shown: of the files of split debug information (.dwo, .dwp) %u are not there, "
		"%u may not be opened, %u are of another build, %u cannot be read, %u are too many",
		c->missing, c->refused, c->stale, c->unreadable, c->beyond);
}
