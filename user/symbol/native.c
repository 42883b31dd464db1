/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbol/maps_room.h"
#include "target/debug_file.h"
#include "target/maps.h"
#include "target/probed.h"
#include "util/clock.h"

/* Answers by address; 48 KiB a process. */
#define CACHE_BITS 11

struct cached {
	__u64 ip;
	struct native_symbol *symbol; /* NULL: free */
	int return_word; /* WORD_NOT_ASKED until it was */
};

/* Until a process that did not come back is asked for a file again. */
#define OPEN_PAUSE_NS 1000000000ULL

#define WORD_NOT_ASKED (-2)

struct native {
	struct code_maps maps;
	__u64 read_ns; /* when the mappings were read last; 0 never */
	__u64 open_ns; /* when files may be opened again */
	__u64 pause_ns; /* until they are read again for a doubtful address */
	struct cached *cache; /* 1 << CACHE_BITS; NULL until it is asked: most processes sleep */
};

/* ---- mappings --------------------------------------------------------------------------------- */

/* A file with symbols for that one: here, or in the root of the process. */
static void open_debug(struct native *n, struct native_file *file)
{
	unsigned size;
	const __u8 *id = native_file__build_id(file, &size);
	uid_t owner;
	int fd;

	if (!id || !native_file__wants_debug(file, &owner))
		return;
	fd = debug_file_open("/", id, size, owner);
	if (fd < 0)
		fd = probed__open_debug(n->maps.probed, id, size, owner);
	if (fd >= 0)
		native_files__add_debug(n->maps.files, file, fd);
}

/* Through a prober. What does not come now may come later. */
static void open_probed(struct native *n, const struct native_mapping *m, __u64 now_ns)
{
	const struct probe_mapping at = { .start = m->start, .end = m->end, .offset = m->offset };
	struct probe_file file;
	int fd;

	if (now_ns < n->open_ns || !native_file__inode(m->file))
		return;
	fd = probed__open_mapped(n->maps.probed, &at, native_file__inode(m->file),
				 native_file__name(m->file), &file);
	if (fd >= 0) {
		native_files__open_fd(n->maps.files, m->file, fd, file.remote);
		open_debug(n, m->file);
	} else if (fd == -EAGAIN || fd == -ETIMEDOUT || fd == -EUSERS) {
		n->open_ns = now_ns + OPEN_PAUSE_NS;
	} else {
		native_file__note_failure(m->file);
	}
}

/* The mapping's own link, the name in the process's root, and ours when it has gone. */
static void open_symbols(struct native *n, const struct native_mapping *m, __u64 now_ns)
{
	char link[64], root[32], path[64 + MAPS_LINE_MAX];
	const char *name = native_file__name(m->file);
	const char *const paths[] = { link, path, name };

	if (n->maps.probed) {
		open_probed(n, m, now_ns);
		return;
	}
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", (int)n->maps.pid, m->start,
		 m->end);
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)n->maps.pid, name);
	snprintf(root, sizeof(root), "/proc/%d/root", (int)n->maps.pid);
	native_files__open(n->maps.files, m->file, paths, 3, root);
}

static __u64 used_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (__u64)ts.tv_sec * NS_PER_SEC + (__u64)ts.tv_nsec;
}

/* As code_maps__read(); it takes its owner's time. */
static int read_maps(struct native *n, __u64 now_ns)
{
	__u64 before_ns = used_cpu_ns();
	int changed = code_maps__read(&n->maps);

	maps_room_was_read(native_files__room(n->maps.files), n->maps.owner, now_ns,
			   used_cpu_ns() - before_ns);
	return changed;
}

static void refresh(struct native *n, __u64 now_ns, __u64 pause_ns)
{
	if (n->read_ns &&
	    (now_ns < n->read_ns + pause_ns ||
	     !maps_room_may_read(native_files__room(n->maps.files), n->maps.owner, now_ns)))
		return;
	n->read_ns = now_ns ? now_ns : 1;
	n->pause_ns = n->pause_ns < NATIVE_REFRESH_RARE_NS ? 2 * n->pause_ns : n->pause_ns;
	if (read_maps(n, now_ns) <= 0)
		return;
	n->pause_ns = NATIVE_REFRESH_NS;
	if (n->cache)
		memset(n->cache, 0, sizeof(*n->cache) << CACHE_BITS);
}

struct native *native__new(struct native_files *files, struct probed *probed, pid_t pid,
			   __u64 runtime_addr, unsigned owner)
{
	struct native *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->maps.files = files;
	n->maps.owner = owner;
	n->maps.probed = probed;
	n->maps.pid = pid;
	n->maps.runtime_addr = runtime_addr;
	n->pause_ns = NATIVE_REFRESH_NS;
	refresh(n, 0, 0);
	if (!runtime_addr)
		code_maps__mark_executable(&n->maps);
	return n;
}

struct native *native__fork(const struct native *parent, struct probed *probed, pid_t pid)
{
	struct native *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->pause_ns = NATIVE_REFRESH_NS;
	code_maps__fork(&n->maps, &parent->maps, pid, probed);
	return n;
}

void native__free(struct native *n)
{
	if (!n)
		return;
	code_maps__free(&n->maps);
	free(n->cache);
	free(n);
}

/* ---- addresses -------------------------------------------------------------------------------- */

/* NULL when out of memory. */
static struct cached *cache_slot(struct native *n, __u64 ip)
{
	if (!n->cache)
		n->cache = calloc(1 << CACHE_BITS, sizeof(*n->cache));
	if (!n->cache)
		return NULL;
	return &n->cache[(ip * 0x9e3779b97f4a7c15ULL) >> (64 - CACHE_BITS)];
}

/* Until the mappings are read again for the sake of that address. */
static __u64 pause_of(const struct native *n, __u64 ip, bool ran)
{
	if (ran)
		return NATIVE_REFRESH_NS;
	return code_maps__is_data(&n->maps, ip) ? NATIVE_REFRESH_DATA_NS : n->pause_ns;
}

static struct native_symbol *find(struct native *n, __u64 ip, __u64 now_ns, bool ran)
{
	struct cached *c = cache_slot(n, ip);
	const struct native_mapping *m;
	struct native_symbol *symbol;

	if (c && c->symbol && c->ip == ip)
		return c->symbol;
	m = code_maps__find(&n->maps, ip);
	if (!m) {
		refresh(n, now_ns, pause_of(n, ip, ran));
		m = code_maps__find(&n->maps, ip);
	}
	if (!m)
		return NULL;
	if (native_file__is_closed(m->file))
		open_symbols(n, m, now_ns);
	symbol = native_files__find(n->maps.files, m->file, ip - m->start + m->offset);
	if (symbol && c)
		*c = (struct cached){ ip, symbol, WORD_NOT_ASKED };
	return symbol;
}

struct native_symbol *native__find(struct native *n, __u64 ip, __u64 now_ns)
{
	return find(n, ip, now_ns, true);
}

struct native_symbol *native__find_caller(struct native *n, __u64 ip, __u64 now_ns)
{
	return find(n, ip, now_ns, false);
}

int native__return_word(struct native *n, __u64 ip)
{
	struct cached *c = cache_slot(n, ip);
	const struct native_mapping *m;
	int word;

	if (c && c->symbol && c->ip == ip && c->return_word != WORD_NOT_ASKED)
		return c->return_word;
	m = code_maps__find(&n->maps, ip);
	word = m ? native_file__return_word(m->file, ip - m->start + m->offset) : -1;
	if (c && c->symbol && c->ip == ip)
		c->return_word = word;
	return word;
}

const struct native_mapping *native__mapping_at(const struct native *n, __u64 ip)
{
	return code_maps__find(&n->maps, ip);
}

__u64 native__digest(const struct native *n)
{
	return n->maps.digest;
}

const struct native_mapping *native__mappings(const struct native *n, unsigned *ret_cnt,
					      __u32 *ret_serial)
{
	*ret_cnt = n->maps.cnt;
	*ret_serial = n->maps.serial;
	return n->maps.list;
}
