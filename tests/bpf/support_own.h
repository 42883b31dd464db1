/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_own.h - this process as the target: fills the maps for a fake interpreter in its own
 * memory, and checks its records.
 *
 * Header only, since the Makefile links one test with one object.
 */
#ifndef KRAIT_TESTS_SUPPORT_OWN_H
#define KRAIT_TESTS_SUPPORT_OWN_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "support_fake_interpreter.h"

static inline __u64 own_thread_pointer(void)
{
	return (__u64)(unsigned long)__builtin_thread_pointer();
}

/* Returns this process's start in ns: field 22 of stat. */
static inline __u64 own_start_ns(void)
{
	unsigned long long ticks = 0;
	FILE *f = fopen("/proc/self/stat", "re");
	char line[1024], *rest;

	if (!f || !fgets(line, sizeof(line), f))
		abort();
	fclose(f);
	rest = strrchr(line, ')');
	for (int i = 0; rest && i < 20; i++)
		rest = strchr(rest + 1, ' ');
	if (!rest || sscanf(rest, " %llu", &ticks) != 1)
		abort();
	return ticks * KRAIT_NS_PER_TICK;
}

static inline void own_put(const struct bpf_map *map, __u32 key, const void *value)
{
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(map), &key, value, BPF_ANY), 0);
}

/* Makes a stack of that many frames for this thread, in an interpreter that is tracked from now on. */
static inline void own_stack(struct fake_stack *stack, struct fake *f, __u32 cnt,
			     struct py_offsets *layouts, const struct bpf_map *procs)
{
	struct proc_info proc = { .runtime_addr = f->runtime_addr,
				  .start_ns = own_start_ns(),
				  .flags = PROC_PYTHON,
				  .seen = 1 };

	fake_stack_begin(stack, f,
			 fake_thread(f, fake_interp(f), own_thread_pointer(), FAKE_STATUS_BOUND));
	fake_push_entry(stack);
	while (stack->cnt < cnt)
		fake_push(stack, FAKE_THREAD, fake_code(f), 2 * stack->cnt);
	layouts[0] = f->offsets;
	own_put(procs, getpid(), &proc);
}

/* Compares leaf first, as in a record; root first if from_root. */
static inline bool own_stack_is(const struct fake_stack *stack, const struct frame *frames,
				__u32 cnt, bool from_root)
{
	if (cnt != stack->cnt)
		return false;
	for (__u32 i = 0; i < cnt; i++) {
		if (memcmp(&frames[i], &stack->frames[from_root ? i : cnt - 1 - i],
			   offsetof(struct frame, fingerprint)))
			return false;
	}
	return true;
}

#endif /* KRAIT_TESTS_SUPPORT_OWN_H */
