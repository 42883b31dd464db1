/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/identify/elf_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process/identify/dwarf_jobs.h"
#include "process/parser/elf_facts.h"
#include "process/parser/parser.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/data/hash.h"

/* 8,192 files, about 600 KiB: a large host maps two or three thousand different libraries. */
#define SET_CNT 1024
#define WAY_CNT 8
/* Files with an interpreter at the same time, each with a descriptor. */
#define RUNTIME_CNT 64
/*
 * How long "no runtime" is believed. After an unmount, the number of a device without a disk
 * (tmpfs, overlay, FUSE) passes to the next one, so another file may get the same numbers.
 */
#define NONE_NS (60 * NS_PER_SEC)
#define NO_RUNTIME (-1)

struct file_entry {
	struct file_id key;
	__u64 used; /* time of last use, in lookups; 0: empty */
	__u64 serial; /* serial of the runtime entry */
	__u64 until_ns; /* how long it is believed; 0: for ever */
	int runtime; /* index, or NO_RUNTIME */
};

struct runtime_entry {
	__u64 used;
	__u64 serial; /* changes when the place is reused */
	uid_t uid; /* owner of the file */
	int fd; /* O_PATH: while it is open, nothing else gets the file's numbers */
	struct elf_runtime facts;
};

struct elf_cache {
	__u64 now; /* number of lookups so far */
	__u64 serial;
	struct elf_cache_stats stats;
	struct parsers *parsers;
	struct elf_facts *facts;
	struct dwarf_jobs *dwarf_jobs;
	struct file_entry files[SET_CNT][WAY_CNT];
	struct runtime_entry runtimes[RUNTIME_CNT];
};

struct elf_cache *elf_cache__new(void)
{
	struct elf_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->parsers = parsers__new();
	c->facts = c->parsers ? elf_facts__new(c->parsers) : NULL;
	c->dwarf_jobs = c->parsers ? dwarf_jobs__new(c->parsers) : NULL;
	if (!c->facts || !c->dwarf_jobs) {
		elf_cache__free(c);
		return NULL;
	}
	return c;
}

void elf_cache__prepare(struct elf_cache *c)
{
	parsers__prepare(c->parsers);
}

struct elf_facts *elf_cache__facts(struct elf_cache *c)
{
	return c->facts;
}

void elf_cache__free(struct elf_cache *c)
{
	if (!c)
		return;
	dwarf_jobs__free(c->dwarf_jobs);
	elf_facts__free(c->facts);
	parsers__free(c->parsers);
	for (int i = 0; i < RUNTIME_CNT; i++)
		if (c->runtimes[i].used)
			close(c->runtimes[i].fd);
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
	return c->files[hash_word(key->ino ^ key->dev << 40) % SET_CNT];
}

static struct file_entry *file_find(struct elf_cache *c, const struct file_id *key)
{
	struct file_entry *set = set_of(c, key);

	for (int i = 0; i < WAY_CNT; i++) {
		struct file_entry *e = &set[i];

		if (!e->used || memcmp(&e->key, key, sizeof(*key)))
			continue;
		if (e->runtime != NO_RUNTIME && c->runtimes[e->runtime].serial != e->serial)
			continue; /* evicted since: treat it as unknown */
		if (e->until_ns && clock_monotonic_ns() >= e->until_ns)
			continue;
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
	if (runtime == NO_RUNTIME && !major(key->dev))
		victim->until_ns = clock_monotonic_ns() + NONE_NS;
}

static unsigned held_by(const struct elf_cache *c, uid_t uid)
{
	unsigned cnt = 0;

	for (int i = 0; i < RUNTIME_CNT; i++)
		cnt += c->runtimes[i].used && c->runtimes[i].uid == uid;
	return cnt;
}

/* A free place, or the least recently requested one of the owner with most files. */
static struct runtime_entry *runtime_place(struct elf_cache *c)
{
	struct runtime_entry *victim = NULL;
	unsigned most = 0;

	for (int i = 0; i < RUNTIME_CNT; i++) {
		struct runtime_entry *e = &c->runtimes[i];
		unsigned held = e->used ? held_by(c, e->uid) : 0;

		if (!e->used)
			return e;
		if (held > most || (held == most && e->used < victim->used)) {
			victim = e;
			most = held;
		}
	}
	close(victim->fd);
	victim->used = 0;
	return victim;
}

/* Stores what was found in the file open at fd. Returns its index, or -errno. */
static int runtime_add(struct elf_cache *c, int fd, const struct elf_runtime *facts)
{
	struct runtime_entry *e;
	struct stat st;
	char path[32];
	int held;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	held = open(path, O_PATH | O_CLOEXEC);
	if (held < 0)
		held = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* works without /proc */
	if (held < 0)
		return -EMFILE;
	if (fstat(fd, &st)) {
		close(held);
		return -ESTALE;
	}
	e = runtime_place(c);
	*e = (struct runtime_entry){
		.used = c->now,
		.serial = ++c->serial,
		.uid = st.st_uid,
		.fd = held,
		.facts = *facts,
	};
	e->facts.id = file_id_of(&st);
	return (int)(e - c->runtimes);
}

/* Returns 0 and the index of the runtime, or NO_RUNTIME; -errno if it could not be examined. */
static int inspect(struct elf_cache *c, int fd, int *ret)
{
	struct elf_runtime facts;
	int r = elf_facts__read(c->facts, fd, &facts);

	*ret = NO_RUNTIME;
	if (!r) {
		r = runtime_add(c, fd, &facts);
		*ret = r < 0 ? NO_RUNTIME : r;
		return r < 0 ? r : 0;
	}
	/*
	 * A file that is malformed or too large to search counts as one without a runtime, for
	 * good.
	 */
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
	/* Opening a device or a FIFO has side effects. */
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
	if (runtime != NO_RUNTIME && !file_id_same(&key, &c->runtimes[runtime].facts.id))
		return -EAGAIN; /* it changed while it was read */
	file_add(c, &key, runtime);
	return result(c, runtime, ret);
}

void elf_cache__let_go(struct elf_cache *c)
{
	for (int i = 0; i < RUNTIME_CNT; i++) {
		struct runtime_entry *e = &c->runtimes[i];

		if (!e->used)
			continue;
		close(e->fd);
		e->used = 0;
		e->serial = ++c->serial;
	}
	dwarf_jobs__let_go(c->dwarf_jobs);
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
