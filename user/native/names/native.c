/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/space/modules.h"
#include "native/names/symbol_reader.h"
#include "process/elf/debug_file.h"
#include "process/proc/maps.h"
#include "process/probe/probed.h"
#include "base/system/clock.h"
#include "base/data/hash.h"
#include "base/system/vdso.h"

/* Answers by address; 48 KiB a process. */
/* Slots of the cache: at first, and at most. Most of many processes are in few places. */
#define CACHE_BITS_MIN 7
#define CACHE_BITS_MAX 11

enum cached_role {
	ROLE_NOT_ASKED,
	ROLE_NONE,
	ROLE_PYTHON, /* CPython's, in a file with other code */
	ROLE_EVAL,
	ROLE_EXPOSER,
};

struct cached {
	__u64 ip : 61; /* an address with more bits is not code */
	__u64 role : 3; /* enum cached_role */
	struct native_symbol *symbol; /* NULL: not looked up */
	__u64 tag; /* the consumer's */
};

/* Pause before a process that did not answer is asked for a file again. */
#define OPEN_PAUSE_NS 1000000000ULL

/* A power of two; the JIT puts each piece of code on its own pages. */
#define JIT_PAGES 128
#define JIT_PAGE_SHIFT 12

struct native {
	struct native_files *files;
	struct space *space;
	__u64 digest; /* of the space that the answers are for */
	__u64 open_ns; /* when files may be opened again */
	__u64 pause_ns; /* until mappings are read again because of a doubtful address */
	__u64 ran_pause_ns; /* the same for code that ran */
	__u64 now_ns; /* from the last call */
	struct cached *cache; /* NULL until first used: most processes sleep */
	unsigned cache_bits, displaced; /* displaced: answers whose slots others took */
	/* Memory in which the interpreter's JIT has been seen: page numbers, 0: none. */
	__u64 jit_pages[JIT_PAGES];
};

/* ---- files ------------------------------------------------------------------------------------ */

/* Opens a separate file with symbols for that one: here, or in the root of the process. */
static void open_debug(struct native *n, struct module *module)
{
	unsigned size;
	const __u8 *id = module__build_id(module, &size);
	uid_t owner;
	int fd;

	if (!id || !native_files__wants_debug(n->files, module, &owner))
		return;
	fd = debug_file_open("/", id, size, owner);
	if (fd < 0)
		fd = probed__open_debug(space__probed(n->space), id, size, owner);
	if (fd >= 0)
		native_files__add_debug(n->files, module, fd);
}

/* Opens through a prober. What does not come now may come later. */
static void open_probed(struct native *n, const struct mapping *m, __u64 now_ns)
{
	const struct probe_mapping at = { .start = m->start, .end = m->end, .offset = m->offset };
	struct probe_file file;
	int fd;

	if (now_ns < n->open_ns || !module__inode(m->module))
		return;
	fd = probed__open_mapped(space__probed(n->space), &at, module__inode(m->module),
				 module__name(m->module), &file);
	if (fd >= 0) {
		native_files__open_fd(n->files, m->module, fd, file.remote);
	} else if (fd == -EAGAIN || fd == -ETIMEDOUT || fd == -EUSERS) {
		n->open_ns = now_ns + OPEN_PAUSE_NS;
	} else {
		native_files__note_failure(n->files, m->module);
	}
}

/*
 * Tries the mapping's own link, the name in the process's root, and the name in ours if the process
 * is gone.
 */
static void open_file(struct native *n, const struct mapping *m, __u64 now_ns)
{
	char link[64], root[32], path[64 + MAPS_LINE_MAX];
	const char *name = module__name(m->module);
	const char *const paths[] = { link, path, name };
	int pid = space__pid(n->space);

	if (!strcmp(name, VDSO_NAME)) {
		native_files__open_vdso(n->files, m->module);
		return;
	}
	if (space__probed(n->space)) {
		open_probed(n, m, now_ns);
		return;
	}
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid, m->start, m->end);
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, name);
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	native_files__open(n->files, m->module, paths, 3, root);
}

void native__read_symbols(struct native *n, struct module *module)
{
	if (!native_files__is_closed(n->files, module))
		return;
	native_files__read(n->files, module);
	if (space__probed(n->space))
		open_debug(n, module);
}

/* Reads symbols only now, after the file was opened: its rows need not wait for them. */
static void open_symbols(struct native *n, const struct mapping *m, __u64 now_ns)
{
	if (native_files__wants_file(n->files, m->module))
		open_file(n, m, now_ns);
	native__read_symbols(n, m->module);
}

static void refresh(struct native *n, __u64 now_ns, __u64 pause_ns)
{
	__u64 read_ns = space__read_ns(n->space);

	if (read_ns && (now_ns < read_ns + pause_ns || !space__may_read(n->space, now_ns)))
		return;
	n->ran_pause_ns = 2 * n->ran_pause_ns < NATIVE_REFRESH_NS ? 2 * n->ran_pause_ns :
								    NATIVE_REFRESH_NS;
	n->pause_ns = n->pause_ns < NATIVE_REFRESH_RARE_NS ? 2 * n->pause_ns : n->pause_ns;
	if (space__read(n->space, now_ns) > 0)
		n->pause_ns = NATIVE_REFRESH_NS;
}

struct native *native__new(struct native_files *files, struct space *space)
{
	struct native *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->files = files;
	n->space = space;
	n->digest = space__digest(space);
	n->pause_ns = NATIVE_REFRESH_NS;
	n->ran_pause_ns = NATIVE_REFRESH_FIRST_NS;
	return n;
}

void native__free(struct native *n)
{
	if (!n)
		return;
	free(n->cache);
	free(n);
}

/* ---- addresses -------------------------------------------------------------------------------- */

static struct cached *slot_in(struct cached *cache, unsigned bits, __u64 ip)
{
	return &cache[hash_step(0, ip) >> (64 - bits)];
}

/* Doubles the slots, or allocates the first ones. Without memory nothing changes. */
static void grow_cache(struct native *n)
{
	unsigned bits = n->cache ? n->cache_bits + 1 : CACHE_BITS_MIN;
	struct cached *grown = calloc(1UL << bits, sizeof(*grown));

	if (!grown)
		return;
	for (size_t i = 0; n->cache && i < 1UL << n->cache_bits; i++) {
		if (n->cache[i].ip)
			*slot_in(grown, bits, n->cache[i].ip) = n->cache[i];
	}
	free(n->cache);
	n->cache = grown;
	n->cache_bits = bits;
	n->displaced = 0;
}

/* NULL: out of memory. */
static struct cached *cache_slot(struct native *n, __u64 ip)
{
	if (!n->cache)
		grow_cache(n);
	if (!n->cache)
		return NULL;
	/* Somebody has changed the mappings. */
	if (n->digest != space__digest(n->space)) {
		memset(n->cache, 0, sizeof(*n->cache) << n->cache_bits);
		memset(n->jit_pages, 0, sizeof(n->jit_pages));
	}
	n->digest = space__digest(n->space);
	return slot_in(n->cache, n->cache_bits, ip);
}

/*
 * Assigns the slot to the address. The cache grows once a quarter of its entries have displaced
 * others.
 */
static struct cached *take_slot(struct native *n, __u64 ip)
{
	struct cached *c = cache_slot(n, ip);

	if (c && c->ip && c->ip != ip && ++n->displaced > 1U << n->cache_bits >> 2 &&
	    n->cache_bits < CACHE_BITS_MAX) {
		grow_cache(n);
		c = cache_slot(n, ip);
	}
	if (c && c->ip != ip)
		*c = (struct cached){ .ip = ip };
	return c;
}

/* The pause until the mappings are read again because of that address. */
static __u64 pause_of(const struct native *n, __u64 ip, bool ran)
{
	if (ran)
		return n->ran_pause_ns;
	if (space__is_reported(n->space))
		return NATIVE_REFRESH_RARE_NS;
	return space__is_data(n->space, ip) ? NATIVE_REFRESH_DATA_NS : n->pause_ns;
}

/* The mapping of code that contains the address, including recent ones. */
static const struct mapping *mapping_at(struct native *n, __u64 ip, __u64 now_ns, bool ran)
{
	const struct mapping *m = space__find(n->space, ip);

	if (m)
		return m;
	refresh(n, now_ns, pause_of(n, ip, ran));
	return space__find(n->space, ip);
}

struct module *native__module(struct native *n, __u64 ip, __u64 now_ns, bool of_caller)
{
	const struct mapping *m;

	native__catch_up(n, now_ns);
	m = mapping_at(n, ip, now_ns, !of_caller);
	return m ? m->module : NULL;
}

/* The code of a mapping. *ret_later: its name does not come now, and may later. */
static struct native_symbol *symbol_at(struct native *n, const struct mapping *m, __u64 ip,
				       __u64 now_ns, bool *ret_later)
{
	__u64 offset = ip - m->start + m->offset;
	struct native_symbol *symbol;
	bool unopened;

	/* A file that was closed to make room for others is not read again for what is known of it. */
	if (native_files__knows(n->files, m->module, offset))
		return native_files__find_now(n->files, m->module, offset, ret_later);
	if (native_files__is_closed(n->files, m->module)) {
		*ret_later = true;
		if (native_files__starves(n->files, m->module))
			return native_files__unnamed(n->files, m->module);
		open_symbols(n, m, now_ns);
	}
	unopened = native_files__wants_file(n->files, m->module) && now_ns < n->open_ns;
	symbol = native_files__find_now(n->files, m->module, offset, ret_later);
	*ret_later |= unopened;
	return symbol;
}

struct native_symbol *native__find(struct native *n, __u64 ip, __u64 now_ns, bool *ret_later)
{
	const struct mapping *m;
	struct native_symbol *symbol;
	struct cached *c;

	*ret_later = false;
	native__catch_up(n, now_ns);
	c = cache_slot(n, ip);
	if (c && c->symbol && c->ip == ip)
		return c->symbol;
	m = mapping_at(n, ip, now_ns, true);
	if (!m)
		return NULL;
	symbol = symbol_at(n, m, ip, now_ns, ret_later);
	/* The mappings, and so the answers, may have changed by now. */
	c = symbol && !*ret_later ? take_slot(n, ip) : NULL;
	if (c) {
		c->symbol = symbol;
		c->tag = 0;
	}
	return symbol;
}

__u64 *native__tag(struct native *n, __u64 ip)
{
	struct cached *c = cache_slot(n, ip);

	return c && c->symbol && c->ip == ip ? &c->tag : NULL;
}

__u64 *native__place_tag(struct native *n, __u64 ip)
{
	struct cached *c = take_slot(n, ip);

	return c ? &c->tag : NULL;
}

struct module *native__meet(struct native *n, __u64 ip, __u64 now_ns, __u64 *ret_offset)
{
	const struct mapping *m = space__find(n->space, ip);

	if (!m)
		return NULL;
	if (native_files__wants_file(n->files, m->module))
		open_file(n, m, now_ns);
	*ret_offset = ip - m->start + m->offset;
	return m->module;
}

const struct module *native__place(const struct native *n, __u64 ip, __u64 *ret_offset)
{
	const struct mapping *m = space__find(n->space, ip);

	if (m)
		*ret_offset = ip - m->start + m->offset;
	return m ? m->module : NULL;
}

void native__catch_up(struct native *n, __u64 now_ns)
{
	n->now_ns = now_ns;
	if (space__is_outdated(n->space))
		refresh(n, now_ns, NATIVE_OUTDATED_NS);
}

/* The role of the interpreter's code, or of code that may be, in its file. */
static enum cached_role role_in_python(struct native *n, const struct mapping *m, __u64 offset,
				       bool *ret_later)
{
	if (native_files__is_eval(n->files, m->module, offset, ret_later))
		return ROLE_EVAL;
	return !*ret_later && native_files__is_python(n->files, m->module, offset, ret_later) ?
		       ROLE_PYTHON :
		       ROLE_NONE;
}

/* The role of code in such a file, or in greenlet's (exposer). *ret_later: not known now. */
static enum cached_role role_of(struct native *n, __u64 ip, bool exposer, bool *ret_later)
{
	struct cached *c = cache_slot(n, ip);
	const struct mapping *m;
	enum cached_role role = exposer ? ROLE_EXPOSER : ROLE_NONE;
	__u64 offset;

	*ret_later = false;
	if (c && c->ip == ip && c->role != ROLE_NOT_ASKED)
		return c->role;
	m = space__find(n->space, ip);
	offset = m ? ip - m->start + m->offset : 0;
	if (m && native_files__is_closed(n->files, m->module) &&
	    !native_files__knows(n->files, m->module, offset)) {
		*ret_later = native_files__starves(n->files, m->module);
		if (*ret_later)
			return role;
		open_symbols(n, m, n->now_ns);
	}
	if (m && !exposer)
		role = role_in_python(n, m, offset, ret_later);
	else if (m && !native_files__may_expose(n->files, m->module, offset, ret_later))
		role = ROLE_NONE;
	c = *ret_later ? NULL : take_slot(n, ip);
	if (c)
		c->role = role;
	return role;
}

bool native__is_eval(struct native *n, __u64 ip, bool *ret_later)
{
	return role_of(n, ip, false, ret_later) == ROLE_EVAL;
}

bool native__may_check_call(struct native *n, __u64 ip)
{
	const struct mapping *m = space__find(n->space, ip);

	return !m || native_files__may_check_call(n->files, m->module, ip - m->start + m->offset);
}

bool native__may_expose(struct native *n, __u64 ip)
{
	bool later;

	return role_of(n, ip, true, &later) == ROLE_EXPOSER;
}

enum module_origin native__origin(struct native *n, const struct module *module, __u64 ip,
				  bool *ret_later)
{
	enum module_origin origin = space__origin(n->space, module);

	*ret_later = false;
	if (origin != ORIGIN_EMBEDDER)
		return origin;
	return role_of(n, ip, false, ret_later) == ROLE_NONE ? ORIGIN_OTHER : ORIGIN_INTERPRETER;
}

static void want_file(struct native *n, const struct mapping *m, __u64 now_ns)
{
	if (native_files__wants_file(n->files, m->module))
		open_file(n, m, now_ns);
}

uid_t native__file_payer(struct native *n, const struct mapping *m, __u64 now_ns)
{
	const struct symbol_file *file;

	if (native_files__starves(n->files, m->module))
		return 0;
	want_file(n, m, now_ns);
	file = native_files__symbol_file(n->files, m->module);
	return file && !file->everybody ? file->owner : 0;
}

int native__rows(struct native *n, const struct mapping *m, __u64 now_ns, struct unwind_rows *ret)
{
	want_file(n, m, now_ns);
	if (native_files__wants_file(n->files, m->module))
		return -EAGAIN;
	return native_files__rows(n->files, m->module, ret);
}

/* ---- the interpreter's JIT -------------------------------------------------------------------- */

void native__found_jit(struct native *n, __u64 ip)
{
	__u64 page = ip >> JIT_PAGE_SHIFT;

	n->jit_pages[page & (JIT_PAGES - 1)] = page;
}

bool native__is_jit(const struct native *n, __u64 ip)
{
	__u64 page = ip >> JIT_PAGE_SHIFT;

	return n->jit_pages[page & (JIT_PAGES - 1)] == page;
}
