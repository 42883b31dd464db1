/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/identify/greenlet_place.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "python/layout/greenlet_layout.h"
#include "process/identify/greenlet_module.h"
#include "base/data/memory.h"
#include "python/walk/stack_walk.h"
#include "python/walk/thread_list.h"

#define HEADERS_MAX 32
#define DYNAMIC_MAX 128
#define RELOCATIONS_MAX 65536
#define MODULES_MAX 4096
/* Greatest distance of a variable from the thread pointer. */
#define DISTANCE_MAX (1ULL << 20)
/* Largest block; greenlet's is 16 bytes. */
#define BLOCK_MAX 512
#define THREADS_MAX 1024
/* To learn where the thread pointer is: the program's and its libraries' own modules, and all of their blocks. */
#define FIRST_MODULES 16
#define FIRST_BLOCKS 65536
#define FIRST_THREADS 16

static const struct table {
	__u32 entry;
	__s32 count, at;
} tables[] = TLS_TABLES;

/* Where the dynamic linker has stored something: DT_RELA, DT_JMPREL. */
struct relocations {
	__u64 addr, size;
};

/* A module's number, or a descriptor: a function, and an argument for it. */
struct stored {
	__u64 addr;
	bool is_descriptor;
};

struct finder {
	const struct memory *target;
	struct memory memory; /* the process's, until reads_left is used up */
	__u32 reads_left;
	struct greenlet_layout layout;
	__u64 base_addr; /* of the module */
	__u64 block_size; /* size of its thread-local variables */
	struct relocations relocations[2];
	__s32 above; /* from pthread_self() to the thread pointer, in every thread of the process */
	struct thread_list_entry threads[THREADS_MAX];
	__u32 thread_cnt;
};

static int read_bounded(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct finder *f = ctx;

	if (!f->reads_left)
		return -EFAULT;
	f->reads_left--;
	return memory_read(f->target, addr, buf, len);
}

static int read_word(const struct finder *f, __u64 addr, __u64 *ret)
{
	return memory_read(&f->memory, addr, ret, sizeof(*ret));
}

/* ---- the module's file, as it is mapped -------------------------------------------------------- */

/* glibc stores the address there; musl leaves the file's. */
static __u64 address_of(const struct finder *f, __u64 value)
{
	return value < f->base_addr ? f->base_addr + value : value;
}

static int take_dynamic(struct finder *f, __u64 addr)
{
	Elf64_Dyn d;

	for (int i = 0; i < DYNAMIC_MAX; i++) {
		if (memory_read(&f->memory, addr + i * sizeof(d), &d, sizeof(d)))
			return -EFAULT;
		if (d.d_tag == DT_NULL)
			return 0;
		if (d.d_tag == DT_RELA)
			f->relocations[0].addr = address_of(f, d.d_un.d_ptr);
		if (d.d_tag == DT_RELASZ)
			f->relocations[0].size = d.d_un.d_val;
		if (d.d_tag == DT_JMPREL)
			f->relocations[1].addr = address_of(f, d.d_un.d_ptr);
		if (d.d_tag == DT_PLTRELSZ)
			f->relocations[1].size = d.d_un.d_val;
	}
	return -EPROTONOSUPPORT;
}

static int read_headers(struct finder *f)
{
	Elf64_Ehdr e;
	Elf64_Phdr p;
	int err = memory_read(&f->memory, f->base_addr, &e, sizeof(e));

	if (err)
		return err;
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_phentsize != sizeof(p) ||
	    e.e_phnum > HEADERS_MAX)
		return -EPROTONOSUPPORT;
	for (unsigned i = 0; i < e.e_phnum && !err; i++) {
		err = memory_read(&f->memory, f->base_addr + e.e_phoff + i * sizeof(p), &p,
				  sizeof(p));
		if (err)
			break;
		if (p.p_type == PT_TLS)
			f->block_size = p.p_memsz;
		if (p.p_type == PT_DYNAMIC)
			err = take_dynamic(f, f->base_addr + p.p_vaddr);
	}
	if (!err && (!f->block_size || f->block_size > BLOCK_MAX ||
		     (!f->relocations[0].addr && !f->relocations[1].addr)))
		err = -EPROTONOSUPPORT;
	return err;
}

/* What the next relocation has stored about a variable; *index: where to go on. False: none is left. */
static bool next_stored(const struct finder *f, const struct relocations *list, __u64 *index,
			struct stored *ret)
{
	const __u64 cnt = list->addr ? list->size / sizeof(Elf64_Rela) : 0;
	Elf64_Rela r;

	for (; *index < cnt && *index < RELOCATIONS_MAX; (*index)++) {
		if (memory_read(&f->memory, list->addr + *index * sizeof(r), &r, sizeof(r)))
			return false;
		if (ELF64_R_TYPE(r.r_info) != TLS_RELOC_MODULE &&
		    ELF64_R_TYPE(r.r_info) != TLS_RELOC_DESCRIPTOR)
			continue;
		(*index)++;
		ret->addr = f->base_addr + r.r_offset;
		ret->is_descriptor = ELF64_R_TYPE(r.r_info) == TLS_RELOC_DESCRIPTOR;
		return true;
	}
	return false;
}

/* ---- a thread's variable ----------------------------------------------------------------------- */

/*
 * Is that the state of a thread: does its main greenlet point back, and is its current one a
 * greenlet?
 */
static bool is_state(struct finder *f, __u64 state_addr, struct greenlet_place *ret)
{
	__u64 main_addr, current_addr;
	struct greenlet main, current;

	return state_addr > 1 && !(state_addr % 8) && !read_word(f, state_addr, &main_addr) &&
	       !read_word(f, state_addr + 8, &current_addr) && main_addr && current_addr &&
	       !(main_addr % 8) && !(current_addr % 8) &&
	       !greenlet_layout_learn(&f->layout, main_addr) && f->layout.end &&
	       !greenlet_layout_read(&f->layout, main_addr, &main) && main.is_main &&
	       !greenlet_layout_read(&f->layout, current_addr, &current) &&
	       !greenlet_layout_place(&f->layout, main_addr, state_addr, ret);
}

static bool search_block(struct finder *f, __u64 block_addr, struct greenlet_place *ret)
{
	__u64 state_addr;

	for (__u32 at = 0; at + 8 <= f->block_size; at += 8) {
		if (read_word(f, block_addr + at, &state_addr) || !is_state(f, state_addr, ret))
			continue;
		ret->state_at = at;
		return true;
	}
	return false;
}

static bool search_thread(struct finder *f, __u64 thread_ptr, __u64 module, const struct table *t,
			  struct greenlet_place *ret)
{
	__u64 dtv_addr, cnt, block_addr;

	if (read_word(f, thread_ptr + (__u64)(__s64)(f->above + t->at), &dtv_addr) ||
	    read_word(f, dtv_addr + (__u64)(__s64)t->count, &cnt) || cnt < module ||
	    cnt > MODULES_MAX || read_word(f, dtv_addr + module * t->entry, &block_addr) ||
	    !block_addr || block_addr % 8 || !search_block(f, block_addr, ret))
		return false;
	ret->tls_module = (__u32)module;
	ret->dtv_entry = (__u32)module * t->entry;
	ret->dtv_count = t->count;
	ret->dtv_at = f->above + t->at;
	return true;
}

/* Does the table that is found from there have a block just above, as of the program or the C library? */
static bool is_thread_pointer(const struct finder *f, __u64 addr, const struct table *t)
{
	__u64 dtv_addr, cnt, block_addr;

	if (read_word(f, addr + (__u64)(__s64)t->at, &dtv_addr) || !dtv_addr || dtv_addr % 8 ||
	    read_word(f, dtv_addr + (__u64)(__s64)t->count, &cnt) || cnt > MODULES_MAX)
		return false;
	for (__u64 i = 1; i <= cnt && i <= FIRST_MODULES; i++)
		if (!read_word(f, dtv_addr + i * t->entry, &block_addr) &&
		    block_addr - addr < FIRST_BLOCKS)
			return true;
	return false;
}

static void learn_thread_pointers(struct finder *f)
{
	const __s32 limit = THREAD_POINTER_ABOVE;

	for (__u32 i = 0; i < f->thread_cnt && i < FIRST_THREADS && !f->above; i++)
		for (__s32 at = 0; at < limit && !f->above; at += 16)
			for (size_t j = 0; j < sizeof(tables) / sizeof(tables[0]); j++)
				if (f->threads[i].thread_ptr &&
				    is_thread_pointer(f, f->threads[i].thread_ptr + (__u64)at,
						      &tables[j]))
					f->above = at;
}

static bool search_threads(struct finder *f, __u64 module, struct greenlet_place *ret)
{
	for (__u32 i = 0; i < f->thread_cnt; i++)
		for (size_t j = 0; j < sizeof(tables) / sizeof(tables[0]); j++)
			if (f->threads[i].thread_ptr &&
			    search_thread(f, f->threads[i].thread_ptr, module, &tables[j], ret))
				return true;
	return false;
}

/* The block is at the same distance from each thread's pointer, and what was asked for is somewhere in it. */
static bool search_static(struct finder *f, __u64 distance, struct greenlet_place *ret)
{
	const __s32 asked = (__s32)distance + f->above, size = (__s32)f->block_size;
	__u64 state_addr;

	for (__u32 i = 0; i < f->thread_cnt; i++) {
		const __u64 self = f->threads[i].thread_ptr;

		for (__s32 at = asked - (size & ~7); self && at < asked + size; at += 8) {
			if (read_word(f, self + (__u64)(__s64)at, &state_addr) ||
			    !is_state(f, state_addr, ret))
				continue;
			ret->state_at = at;
			return true;
		}
	}
	return false;
}

/*
 * A descriptor's argument says at which distance from the thread pointer the variable is, if the module's block has
 * found room beside those of the program's own libraries; otherwise it points to the module's number (glibc: struct
 * tlsdesc_dynamic_arg; musl: the same pair).
 */
static bool read_descriptor(struct finder *f, __u64 addr, __u64 *ret_module, __u64 *ret_distance)
{
	__u64 argument;

	*ret_module = *ret_distance = 0;
	if (read_word(f, addr + 8, &argument))
		return false;
	if (argument + DISTANCE_MAX < 2 * DISTANCE_MAX) {
		*ret_distance = argument;
		return argument && argument % 8 == 0;
	}
	return !read_word(f, argument, ret_module);
}

static int search_stored(struct finder *f, const struct relocations *list,
			 struct greenlet_place *ret)
{
	__u64 index = 0, module, distance, last = 0, last_distance = 0;
	struct stored s;
	int err = -EPROTONOSUPPORT;

	while (next_stored(f, list, &index, &s)) {
		distance = 0;
		if (s.is_descriptor ? !read_descriptor(f, s.addr, &module, &distance) :
				      read_word(f, s.addr, &module))
			continue;
		if (distance ? distance == last_distance :
			       !module || module > MODULES_MAX || module == last)
			continue;
		/* each variable of the module has a relocation with the same number */
		if (distance)
			last_distance = distance;
		else
			last = module;
		if (distance ? search_static(f, distance, ret) : search_threads(f, module, ret))
			return 0;
		err = -EAGAIN;
	}
	return err;
}

static int search(struct finder *f, struct greenlet_place *ret)
{
	int err = -EPROTONOSUPPORT;

	for (int i = 0; i < 2; i++) {
		int r = search_stored(f, &f->relocations[i], ret);

		if (!r)
			return 0;
		if (r == -EAGAIN)
			err = r;
	}
	return err;
}

int greenlet_place_find(int dir, const struct memory *memory, const struct py_offsets *offsets,
			__u64 runtime_addr, struct greenlet_place *ret)
{
	struct stack_walk walk = { .offsets = offsets, .runtime_addr = runtime_addr };
	struct finder *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	*ret = (struct greenlet_place){ .start_ns = 0 };
	f->target = memory;
	f->memory = (struct memory){ .read = read_bounded, .ctx = f };
	f->reads_left = GREENLET_PLACE_READS;
	f->layout.memory = &f->memory;
	f->layout.offsets = offsets;
	err = greenlet_module_find(&f->layout, dir, &f->base_addr);
	if (!err && f->layout.one)
		err = -EPROTONOSUPPORT;
	if (!err)
		err = read_headers(f);
	if (!err) {
		/* In a list that changes meanwhile, the threads that stay are found all the same. */
		walk.memory = &f->memory;
		thread_list_read(&walk, f->threads, THREADS_MAX, &f->thread_cnt);
		learn_thread_pointers(f);
		err = search(f, ret);
	}
	if (err && !f->reads_left)
		err = -EPROTONOSUPPORT;
	free(f);
	return err;
}
