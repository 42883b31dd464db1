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

#if defined(__x86_64__)
#define RELOCATION_MODULE R_X86_64_DTPMOD64
#define DTV_AT 8 /* offset from what the thread pointer points to, after a pointer to itself */
#else
#define RELOCATION_MODULE 0 /* R_AARCH64_NONE: never matches, see greenlet_place.h */
#define DTV_AT 0
#endif

#define HEADERS_MAX 32
#define DYNAMIC_MAX 128
#define RELOCATIONS_MAX 65536
#define MODULES_MAX 4096
/* Largest block; greenlet's is 16 bytes. */
#define BLOCK_MAX 512
#define THREADS_MAX 1024

/*
 * A thread's table of blocks (dtv). glibc: 16 bytes per entry from entry 1 on, and the number of
 * entries 16 bytes before entry 0. musl: 8 bytes per entry, and entry 0 is their number.
 */
static const struct table {
	__u32 entry;
	__s32 count;
} tables[] = { { 16, -16 }, { 8, 0 } };

struct finder {
	const struct memory *target;
	struct memory memory; /* the process's, until reads_left is used up */
	__u32 reads_left;
	struct greenlet_layout layout;
	__u64 base_addr; /* of the module */
	__u64 block_size; /* size of its thread-local variables */
	__u64 relocations_addr, relocations_size;
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
			f->relocations_addr = address_of(f, d.d_un.d_ptr);
		if (d.d_tag == DT_RELASZ)
			f->relocations_size = d.d_un.d_val;
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
	if (!err && (!f->block_size || f->block_size > BLOCK_MAX || !f->relocations_addr))
		err = -EPROTONOSUPPORT;
	return err;
}

/*
 * The number of a module that one of the relocations has stored; *index: where to go on. 0: none
 * left.
 */
static __u64 next_number(const struct finder *f, __u64 *index)
{
	const __u64 cnt = f->relocations_size / sizeof(Elf64_Rela);
	Elf64_Rela r;

	for (; *index < cnt && *index < RELOCATIONS_MAX; (*index)++) {
		if (memory_read(&f->memory, f->relocations_addr + *index * sizeof(r), &r,
				sizeof(r)))
			return 0;
		if (RELOCATION_MODULE && ELF64_R_TYPE(r.r_info) == RELOCATION_MODULE) {
			(*index)++;
			return f->base_addr + r.r_offset;
		}
	}
	return 0;
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

	if (read_word(f, thread_ptr + DTV_AT, &dtv_addr) ||
	    read_word(f, dtv_addr + (__u64)t->count, &cnt) || cnt < module || cnt > MODULES_MAX ||
	    read_word(f, dtv_addr + module * t->entry, &block_addr) || !block_addr ||
	    block_addr % 8 || !search_block(f, block_addr, ret))
		return false;
	ret->tls_module = (__u32)module;
	ret->dtv_entry = (__u32)module * t->entry;
	ret->dtv_count = t->count;
	ret->dtv_at = DTV_AT;
	return true;
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

static int search(struct finder *f, struct greenlet_place *ret)
{
	__u64 index = 0, number_addr, module, last = 0;
	int err = -EPROTONOSUPPORT;

	while ((number_addr = next_number(f, &index))) {
		if (read_word(f, number_addr, &module) || !module || module > MODULES_MAX ||
		    module == last)
			continue;
		/* each variable of the module has a relocation with the same number */
		last = module;
		if (search_threads(f, module, ret))
			return 0;
		err = -EAGAIN;
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
		err = search(f, ret);
	}
	if (err && !f->reads_left)
		err = -EPROTONOSUPPORT;
	free(f);
	return err;
}
