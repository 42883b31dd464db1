/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_maps.h - the tables of rows.h on the kernel side, as maps. User space maps and writes them
 * (user/native/rows/tables.h).
 */
#ifndef KRAIT_BPF_MAP_UNWIND_MAPS_H
#define KRAIT_BPF_MAP_UNWIND_MAPS_H

#include "bpf/native/walk_state.h"
#include "bpf/native/rows.h"

struct unwind_slab_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	/* Given as a size: clang may leave out a type that occurs in an inner map only. */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct unwind_slab));
};

/* Made on demand: 2 MiB each. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_SLABS_MAX);
	__type(key, __u32);
	__array(values, struct unwind_slab_map);
} unwind_slabs SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_FILES_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct unwind_file);
} unwind_files SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_SPACES_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct unwind_space);
} unwind_spaces SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct unwind_control);
} unwind_control SEC(".maps") __weak;

/* By context and CPU, like scratch; sized by user space. A program reads and writes only its own. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_cached);
} unwind_cache SEC(".maps") __weak;

static __always_inline struct unwind_cached *unwind_cached_at(const struct native_walk *w,
							      __u32 number)
{
	__u32 index = w->context * UNWIND_CACHE_SIZE + number;

	return bpf_map_lookup_elem(&unwind_cache, &index);
}

static __always_inline const struct unwind_slab *unwind_slab(const struct native_walk *w,
							     __u32 number)
{
	void *map = bpf_map_lookup_elem(&unwind_slabs, &number);
	__u32 zero = 0;

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

static __always_inline const struct unwind_space *unwind_space_at(const struct native_walk *w,
								  __u32 number)
{
	return bpf_map_lookup_elem(&unwind_spaces, &number);
}

static __always_inline struct unwind_file *unwind_file_at(const struct native_walk *w, __u32 number)
{
	return bpf_map_lookup_elem(&unwind_files, &number);
}

/* The code is unknown: should we wake user space? Not too often. */
static __always_inline bool unwind_may_wake(__u64 now_ns)
{
	struct unwind_control *control;
	__u32 zero = 0;

	control = bpf_map_lookup_elem(&unwind_control, &zero);
	if (!control || now_ns - control->wake_ns < UNWIND_WAKE_NS)
		return false;
	control->wake_ns = now_ns;
	return true;
}

static __always_inline __u64 unwind_epoch(void)
{
	struct unwind_control *control;
	__u32 zero = 0;

	control = bpf_map_lookup_elem(&unwind_control, &zero);
	return control ? *(volatile __u64 *)&control->epoch : 0;
}

#endif /* KRAIT_BPF_MAP_UNWIND_MAPS_H */
