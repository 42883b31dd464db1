/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "target/maps.h"

/* Answers by address; 48 KiB a process. */
#define CACHE_BITS 11

struct cached {
	__u64 ip;
	struct native_symbol *symbol; /* NULL: free */
	int return_word; /* WORD_NOT_ASKED until it was */
};

#define WORD_NOT_ASKED (-2)

struct native {
	struct native_files *files;
	pid_t pid;
	__u64 runtime_addr;
	__u64 read_ns; /* when the mappings were read last; 0 never */
	__u32 serial;
	struct native_mapping *mappings; /* by start */
	unsigned cnt, cap;
	struct cached *cache; /* 1 << CACHE_BITS; NULL until it is asked: most processes sleep */
};

/* ---- mappings --------------------------------------------------------------------------------- */

static struct native_file *open_file(struct native *n, const struct mapping *m)
{
	char path[64 + MAPS_LINE_MAX] = "";
	struct stat st;

	if (!m->inode)
		return native_files__get(n->files, "", m->path);
	/* The file itself, deleted or in another namespace; needs a privilege. */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)n->pid, m->start, m->end);
	if (stat(path, &st))
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)n->pid, m->path);
	return native_files__get(n->files, path, m->path);
}

/* The mapping's own link, the name in the process's root, and ours when it has gone. */
static void open_symbols(struct native *n, const struct native_mapping *m)
{
	char link[64], path[64 + MAPS_LINE_MAX];
	const char *name = native_file__name(m->file);
	const char *const paths[] = { link, path, name };

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", (int)n->pid, m->start, m->end);
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)n->pid, name);
	native_files__open(n->files, m->file, paths, 3);
}

static int add_mapping(struct native *n, const struct mapping *m)
{
	unsigned cap = n->cap ? n->cap * 2 : 32;
	struct native_mapping *grown;
	struct native_file *file = open_file(n, m);

	if (!file)
		return -ENOMEM;
	if (n->cnt == NATIVE_MAPPINGS_MAX)
		return -E2BIG;
	if (n->cnt == n->cap) {
		grown = reallocarray(n->mappings, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		n->mappings = grown;
		n->cap = cap;
	}
	n->mappings[n->cnt++] = (struct native_mapping){ m->start, m->end, m->offset, file };
	return 0;
}

/* Is the interpreter's data in this mapping? Its code is in the same file. */
static bool holds_runtime(const struct native *n, const struct mapping *m)
{
	return n->runtime_addr && n->runtime_addr >= m->start && n->runtime_addr < m->end;
}

/*
 * In the order of addresses; so a file that holds the interpreter is known by the time its data comes,
 * behind its code. The data may continue in a mapping without a file, right behind one of the file.
 */
static void read_mappings(struct native *n, struct maps *maps)
{
	struct mapping m;
	__u64 inode = 0;
	struct native_file *file = NULL;

	n->cnt = 0;
	while (maps_next(maps, &m) > 0) {
		if (m.inode && m.inode != inode) {
			inode = m.inode;
			file = NULL;
		}
		if (m.prot & MAPPING_EXEC) {
			if (add_mapping(n, &m))
				return;
			if (m.inode)
				file = n->mappings[n->cnt - 1].file;
		}
		if (file && holds_runtime(n, &m))
			native_file__set_interpreter(file);
	}
}

static void refresh(struct native *n, __u64 now_ns)
{
	cleanup_maps struct maps maps = { .fd = -1 };

	if (n->read_ns && now_ns < n->read_ns + NATIVE_REFRESH_NS)
		return;
	n->read_ns = now_ns ? now_ns : 1;
	/* What a process had before it went is better than nothing. */
	if (maps_open(&maps, n->pid))
		return;
	read_mappings(n, &maps);
	n->serial++;
	if (n->cache)
		memset(n->cache, 0, sizeof(*n->cache) << CACHE_BITS);
}

/* The executable's file, whatever it is called, where the interpreter is in it. */
static void mark_executable(struct native *n)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)n->pid);
	for (unsigned i = 0; i < n->cnt; i++) {
		if (native_file__is(n->mappings[i].file, path))
			native_file__set_interpreter(n->mappings[i].file);
	}
}

struct native *native__new(struct native_files *files, pid_t pid, __u64 runtime_addr)
{
	struct native *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->files = files;
	n->pid = pid;
	n->runtime_addr = runtime_addr;
	refresh(n, 0);
	if (!runtime_addr)
		mark_executable(n);
	return n;
}

struct native *native__fork(const struct native *parent, pid_t pid)
{
	struct native *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->files = parent->files;
	n->pid = pid;
	n->runtime_addr = parent->runtime_addr;
	n->serial = 1;
	n->mappings = calloc(parent->cnt + 1, sizeof(*n->mappings));
	if (!n->mappings) {
		free(n);
		return NULL;
	}
	if (parent->cnt)
		memcpy(n->mappings, parent->mappings, parent->cnt * sizeof(*n->mappings));
	n->cnt = parent->cnt;
	n->cap = parent->cnt + 1;
	return n;
}

void native__free(struct native *n)
{
	if (!n)
		return;
	free(n->mappings);
	free(n->cache);
	free(n);
}

/* ---- addresses -------------------------------------------------------------------------------- */

static const struct native_mapping *find_mapping(const struct native *n, __u64 ip)
{
	unsigned low = 0, high = n->cnt;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		const struct native_mapping *m = &n->mappings[middle];

		if (ip < m->start)
			high = middle;
		else if (ip >= m->end)
			low = middle + 1;
		else
			return m;
	}
	return NULL;
}

/* NULL when out of memory. */
static struct cached *cache_slot(struct native *n, __u64 ip)
{
	if (!n->cache)
		n->cache = calloc(1 << CACHE_BITS, sizeof(*n->cache));
	if (!n->cache)
		return NULL;
	return &n->cache[(ip * 0x9e3779b97f4a7c15ULL) >> (64 - CACHE_BITS)];
}

struct native_symbol *native__find(struct native *n, __u64 ip, __u64 now_ns)
{
	struct cached *c = cache_slot(n, ip);
	const struct native_mapping *m;
	struct native_symbol *symbol;

	if (c && c->symbol && c->ip == ip)
		return c->symbol;
	m = find_mapping(n, ip);
	if (!m) {
		refresh(n, now_ns);
		m = find_mapping(n, ip);
	}
	if (!m)
		return NULL;
	if (native_file__is_closed(m->file))
		open_symbols(n, m);
	symbol = native_files__find(n->files, m->file, ip - m->start + m->offset);
	if (symbol && c)
		*c = (struct cached){ ip, symbol, WORD_NOT_ASKED };
	return symbol;
}

int native__return_word(struct native *n, __u64 ip)
{
	struct cached *c = cache_slot(n, ip);
	const struct native_mapping *m;
	int word;

	if (c && c->symbol && c->ip == ip && c->return_word != WORD_NOT_ASKED)
		return c->return_word;
	m = find_mapping(n, ip);
	word = m ? native_file__return_word(m->file, ip - m->start + m->offset) : -1;
	if (c && c->symbol && c->ip == ip)
		c->return_word = word;
	return word;
}

const struct native_mapping *native__mappings(const struct native *n, unsigned *ret_cnt,
					      __u32 *ret_serial)
{
	*ret_cnt = n->cnt;
	*ret_serial = n->serial;
	return n->mappings;
}
