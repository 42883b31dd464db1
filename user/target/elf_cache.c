/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/elf_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/dwarf_jobs.h"
#include "target/elf_file.h"
#include "util/cleanup.h"

/* 8,192 files, about 600 KiB: a large host maps two or three thousand different libraries. */
#define SET_CNT 1024
#define WAY_CNT 8
/* Distinct interpreters at once; as many as the kernel side holds layouts. */
#define RUNTIME_CNT 64
#define NO_RUNTIME (-1)

struct file_entry {
	struct file_id key;
	__u64 used; /* when, in lookups; 0 empty */
	__u64 serial; /* of the runtime */
	int runtime; /* index, or NO_RUNTIME */
};

struct runtime_entry {
	__u64 used;
	__u64 serial; /* changes when the place is given to another */
	struct elf_runtime facts;
};

struct elf_cache {
	__u64 now; /* lookups so far */
	__u64 serial;
	struct elf_cache_stats stats;
	struct dwarf_jobs *dwarf_jobs;
	struct file_entry files[SET_CNT][WAY_CNT];
	struct runtime_entry runtimes[RUNTIME_CNT];
};

struct elf_cache *elf_cache__new(void)
{
	struct elf_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->dwarf_jobs = dwarf_jobs__new();
	if (!c->dwarf_jobs) {
		free(c);
		return NULL;
	}
	return c;
}

void elf_cache__prepare(struct elf_cache *c)
{
	dwarf_jobs__prepare(c->dwarf_jobs);
}

void elf_cache__free(struct elf_cache *c)
{
	if (c)
		dwarf_jobs__free(c->dwarf_jobs);
	free(c);
}

struct dwarf_jobs *elf_cache__dwarf_jobs(struct elf_cache *c)
{
	return c->dwarf_jobs;
}

const struct elf_cache_stats *elf_cache__stats(const struct elf_cache *c)
{
	return &c->stats;
}

static struct file_entry *set_of(struct elf_cache *c, const struct file_id *key)
{
	__u64 h = (key->ino ^ key->dev << 40) * 0x9e3779b97f4a7c15ULL;

	return c->files[(h >> 32) % SET_CNT];
}

static struct file_entry *file_find(struct elf_cache *c, const struct file_id *key)
{
	struct file_entry *set = set_of(c, key);

	for (int i = 0; i < WAY_CNT; i++) {
		struct file_entry *e = &set[i];

		if (!e->used || memcmp(&e->key, key, sizeof(*key)))
			continue;
		if (e->runtime != NO_RUNTIME && c->runtimes[e->runtime].serial != e->serial)
			continue; /* evicted since: as if unknown */
		e->used = c->now;
		return e;
	}
	return NULL;
}

static void file_add(struct elf_cache *c, const struct file_id *key, int runtime)
{
	struct file_entry *set = set_of(c, key), *victim = set;

	for (int i = 0; i < WAY_CNT; i++) {
		if (set[i].used && !memcmp(&set[i].key, key, sizeof(*key))) {
			victim = &set[i];
			break;
		}
		if (set[i].used < victim->used)
			victim = &set[i];
	}
	c->stats.evicted += victim->used && memcmp(&victim->key, key, sizeof(*key));
	*victim = (struct file_entry){
		.key = *key,
		.used = c->now,
		.serial = runtime == NO_RUNTIME ? 0 : c->runtimes[runtime].serial,
		.runtime = runtime,
	};
}

static int runtime_add(struct elf_cache *c, const struct elf_runtime *facts)
{
	int victim = 0;

	for (int i = 1; i < RUNTIME_CNT; i++)
		if (c->runtimes[i].used < c->runtimes[victim].used)
			victim = i;
	c->runtimes[victim].serial = ++c->serial;
	c->runtimes[victim].facts = *facts;
	return victim;
}

/* 0 and the index of the runtime or NO_RUNTIME; -errno when that could not be found out. */
static int inspect(struct elf_cache *c, int fd, int *ret)
{
	struct elf_runtime facts;
	struct elf_file f;
	int r = elf_file_init(&f, fd);

	*ret = NO_RUNTIME;
	if (!r)
		r = elf_runtime_identity(&f, &facts);
	if (!r)
		r = elf_runtime_find(&f, &facts);
	if (!r)
		*ret = runtime_add(c, &facts);
	/* Malformed or too large to search is as good as none, and will be so next time. */
	return r == -ENOEXEC || r == -ENOENT || r == -ENODATA || r == -E2BIG ? 0 : r;
}

static int result(struct elf_cache *c, int runtime, const struct elf_runtime **ret)
{
	if (runtime == NO_RUNTIME)
		return -ENOEXEC;
	c->runtimes[runtime].used = c->now;
	*ret = &c->runtimes[runtime].facts;
	return 0;
}

int elf_cache__get(struct elf_cache *c, const char *path, const struct stat *st,
		   const struct elf_runtime **ret)
{
	struct file_id key = file_id_of(st);
	const struct file_entry *e;
	cleanup_close int fd = -1;
	struct stat opened;
	int r, runtime;

	c->now++;
	/* Opening a device or a FIFO has effects. */
	if (!S_ISREG(st->st_mode))
		return -ENOEXEC;
	e = file_find(c, &key);
	if (e) {
		c->stats.hits++;
		return result(c, e->runtime, ret);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &opened))
		return -errno;
	c->stats.opened++;
	r = inspect(c, fd, &runtime);
	if (r)
		return r;
	/* The path may lead elsewhere by now: what was read belongs to what was opened. */
	key = file_id_of(&opened);
	if (runtime != NO_RUNTIME)
		c->runtimes[runtime].facts.id = key;
	file_add(c, &key, runtime);
	return result(c, runtime, ret);
}

void elf_cache__keep(struct elf_cache *c, const struct elf_runtime *elf,
		     const struct py_offsets *offsets, enum py_source source)
{
	for (int i = 0; i < RUNTIME_CNT; i++) {
		if (&c->runtimes[i].facts != elf)
			continue;
		c->runtimes[i].facts.proved = *offsets;
		c->runtimes[i].facts.proved_by = source;
	}
}
