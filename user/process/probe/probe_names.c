/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/probe_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "python/values/object_layout.h"
#include "python/values/thread_names.h"
#include "process/memory/page_cache.h"
#include "process/memory/remote.h"
#include "base/system/clock.h"

struct names_reader {
	int mem;
	struct memory memory;
	struct page_cache *first, *again;
	struct object_layout layout;
	__u64 runtime_addr;
	const struct probe_names_ask *ask;
	__u64 thread_ptrs[PROBE_NAMES_MAX];
	struct found {
		__u64 thread_ptr;
		char name[PROBE_NAME_SIZE];
	} found[PROBE_NAMES_MAX];
	__u32 found_cnt;
	struct probe_names *ret;
};

static __u64 cpu_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return 0;
	return (__u64)t.tv_sec * NS_PER_SEC + (__u64)t.tv_nsec;
}

/* Bytes of the text that fit, without a part of a character. */
static size_t fitting(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	if (len < size)
		return len;
	for (len = size - 1; len && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

static const struct found *find(const struct names_reader *r, __u64 thread_ptr)
{
	for (__u32 i = 0; i < r->found_cnt; i++)
		if (r->found[i].thread_ptr == thread_ptr)
			return &r->found[i];
	return NULL;
}

/* A thread that has names in several interpreters has that of the newest. */
static void take(void *ctx, __u64 ident, const char *name, bool changed)
{
	struct names_reader *r = ctx;
	struct found *new = &r->found[r->found_cnt];
	size_t len = fitting(name, sizeof(new->name));

	/* Only half of it may be new: the next look finds the rest. */
	if (changed || !len || r->found_cnt == PROBE_NAMES_MAX || find(r, ident))
		return;
	new->thread_ptr = ident;
	memcpy(new->name, name, len);
	new->name[len] = '\0';
	r->found_cnt++;
}

static bool any_missing(const struct names_reader *r)
{
	for (__u32 i = 0; i < r->ask->cnt; i++)
		if (!find(r, r->thread_ptrs[i]))
			return true;
	return false;
}

static bool is_there(int dir, pid_t tid)
{
	char name[32];

	snprintf(name, sizeof(name), "task/%d", (int)tid);
	return !faccessat(dir, name, F_OK, 0);
}

static void put_names(const struct names_reader *r, int dir)
{
	for (__u32 i = 0; i < r->ask->cnt; i++) {
		const struct probe_names_thread *t = &r->ask->threads[i];
		const struct found *f = find(r, t->thread_ptr);
		struct probe_name *new = &r->ret->list[r->ret->cnt];

		if (!f || !is_there(dir, t->tid))
			continue;
		new->number = t->number;
		memcpy(new->name, f->name, sizeof(new->name));
		r->ret->cnt++;
	}
}

static __u64 known_place(const struct probe_names_ask *ask, __u64 interp_addr)
{
	for (unsigned i = 0; i < PROBE_NAMES_INTERPS; i++)
		if (ask->places[i].interp_addr == interp_addr)
			return ask->places[i].active_addr;
	return 0;
}

/* Reads the names of one interpreter's threads. */
static void read_interp(struct names_reader *r, struct probe_names_place *place)
{
	struct thread_names_ask ask = {
		.layout = &r->layout,
		.memory = page_cache__memory(r->first),
		.again = page_cache__memory(r->again),
		.active_addr = known_place(r->ask, place->interp_addr),
		.wanted = r->thread_ptrs,
		.wanted_cnt = r->ask->cnt,
	};
	const __u32 before = r->found_cnt;
	int err = ask.active_addr ? thread_names_read(&ask, take, r) : -ENOENT;

	/* It may be another object by now. */
	if ((err || r->found_cnt == before) &&
	    !thread_names_find(&r->layout, ask.memory, r->runtime_addr, place->interp_addr,
			       &place->active_addr)) {
		if (place->active_addr == ask.active_addr)
			return;
		ask.active_addr = place->active_addr;
		(void)!thread_names_read(&ask, take, r);
	}
	place->active_addr = ask.active_addr;
}

static int read_all(struct names_reader *r)
{
	const struct py_offsets *off = r->layout.offsets;
	__u64 addr = 0;
	int err = memory_read(&r->memory, r->runtime_addr + (__u64)off->runtime.interpreters_head,
			      &addr, sizeof(addr));

	for (unsigned i = 0; !err && addr && i < PROBE_NAMES_INTERPS && any_missing(r); i++) {
		r->ret->places[i].interp_addr = addr;
		read_interp(r, &r->ret->places[i]);
		err = memory_read(&r->memory, addr + (__u64)off->interp.next, &addr, sizeof(addr));
	}
	return err;
}

struct names_reader *names_reader__new(void)
{
	struct names_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->memory = remote_memory_at(&r->mem);
	r->first = page_cache__new(&r->memory);
	r->again = page_cache__new(&r->memory);
	if (r->first && r->again)
		return r;
	names_reader__free(r);
	return NULL;
}

void names_reader__free(struct names_reader *r)
{
	if (!r)
		return;
	page_cache__free(r->first);
	page_cache__free(r->again);
	free(r);
}

int names_reader__read(struct names_reader *r, int dir, int mem, const struct py_offsets *offsets,
		       __u64 runtime_addr, const struct probe_names_ask *ask,
		       struct probe_names *ret)
{
	const __u64 begin_ns = cpu_ns();
	int err;

	memset(ret, 0, offsetof(struct probe_names, list));
	if (ask->cnt > PROBE_NAMES_MAX)
		return -EINVAL;
	r->mem = mem;
	r->runtime_addr = runtime_addr;
	r->ask = ask;
	r->ret = ret;
	r->found_cnt = 0;
	for (__u32 i = 0; i < ask->cnt; i++)
		r->thread_ptrs[i] = ask->threads[i].thread_ptr;
	object_layout_of(&r->layout, offsets);
	err = read_all(r);
	page_cache__clear(r->first);
	page_cache__clear(r->again);
	if (!err)
		put_names(r, dir);
	ret->took_ns = cpu_ns() - begin_ns;
	return err;
}
