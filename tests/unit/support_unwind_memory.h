/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_unwind_memory.h - the tables of rows.h in plain memory, with bpf/native/unwind.h over them: the
 * counterpart of bpf/map/unwind_maps.h in the kernel. Include it in one source file of a test.
 */
#ifndef KRAIT_TESTS_SUPPORT_UNWIND_MEMORY_H
#define KRAIT_TESTS_SUPPORT_UNWIND_MEMORY_H

#include <stdlib.h>

#include <linux/types.h>

#include "bpf/abi.h"
#include "bpf/read.h"
#include "bpf/native/rows.h"
#include "native/rows/tables.h"

#include "bpf/native/walk_state.h"

static struct unwind_slab *slabs[UNWIND_SLABS_MAX];
static struct unwind_file files[UNWIND_FILES_MAX];
static struct unwind_space spaces[UNWIND_SPACES_MAX];
static struct unwind_control control;

static const struct unwind_slab *unwind_slab(const struct native_walk *w, __u32 number)
{
	return number < UNWIND_SLABS_MAX ? slabs[number] : NULL;
}

static struct unwind_file *unwind_file_at(const struct native_walk *w, __u32 number)
{
	return number < UNWIND_FILES_MAX ? &files[number] : NULL;
}

static const struct unwind_space *unwind_space_at(const struct native_walk *w, __u32 number)
{
	return &spaces[number];
}

static struct unwind_cached cache[UNWIND_CACHE_SIZE];

static struct unwind_cached *unwind_cached_at(const struct native_walk *w, __u32 number)
{
	return &cache[number];
}

#include "bpf/native/unwind.h"

static struct unwind_slab *unwind_new_slab(void *ctx, __u32 number)
{
	slabs[number] = calloc(1, sizeof(*slabs[number]));
	return slabs[number];
}

#endif /* KRAIT_TESTS_SUPPORT_UNWIND_MEMORY_H */
