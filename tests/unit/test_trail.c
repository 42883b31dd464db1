/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_trail.c - walks that follow an earlier walk's trail (bpf/native/trail.h) give the same result as
 * walks without, whatever has changed meanwhile: a stack of random words, some of which change
 * between walks. So do walks from outside (native/rows/stack_unwind.h).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <linux/types.h>

#include "support_sanitized.h"
#include "bpf/share.h"
#include "support_unwind_memory.h"
#include "native/rows/stack_unwind.h"

#define CODE 0x10000000ULL
#define CODE_BLOCKS 64 /* 16 bytes each, with one rule each */
#define STACK 0x20000ffe000ULL
#define STACK_WORDS 2048
#define WALKS 30000

static __u64 stack[STACK_WORDS];
static __u64 seed;

static __u32 roll(__u32 sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (__u32)((seed >> 11) % sides);
}

/* The last part does not exist, and the page before it only partly. */
static int read_stack(void *ctx, __u64 addr, void *buf, size_t len)
{
	__u64 at = addr - STACK;

	if (at >= sizeof(stack) - 640 || len > sizeof(stack) - 640 - at)
		return -EFAULT;
	memcpy(buf, (const char *)stack + at, len);
	return 0;
}

static const struct memory memory = { read_stack, NULL };

static struct unwind_rule random_rule(void)
{
	struct unwind_rule r = {
		.cfa = UNWIND_CFA_REG,
		.reg = roll(5) ? UNWIND_REG_SP : UNWIND_REG_FP,
		.off = (__s32)(16 * (1 + roll(8))),
		.fp = (__u8)roll(5),
		.ra = UNWIND_RA_CFA,
		.ra_off = -8,
		.fp_off = -16,
	};

	if (r.fp == UNWIND_FP_SP || r.fp == UNWIND_FP_FP)
		r.fp_off = (__s16)(16 * roll(3));
	switch (roll(14)) {
	case 0:
		r.cfa = UNWIND_CFA_DEREF;
		break;
	case 1:
		r.cfa = UNWIND_CFA_PLT;
		r.add = 11;
		break;
	case 2:
		r.ra = UNWIND_RA_SP;
		r.ra_off = 8;
		break;
	case 3:
		r.ra_off = -24;
		break;
	case 4:
		r.ra |= UNWIND_RA_SIGNAL;
		break;
	case 5:
		r.base_off = roll(2) ? -32 : UNWIND_BASE_UNKNOWN;
		break;
	case 6:
		r.reg = UNWIND_REG_BASE;
		break;
	}
	return r;
}

/*
 * The file has a rule for each block of code; two blocks have none, and one is a thread's
 * beginning.
 */
static void make_rows(struct unwind_tables *t)
{
	struct unwind_rule rules[CODE_BLOCKS];
	__u32 rows[CODE_BLOCKS + 1], page_rows = CODE_BLOCKS + 1;
	const struct unwind_rows r = { .page_cnt = 1,
				       .rule_cnt = CODE_BLOCKS,
				       .row_cnt = CODE_BLOCKS + 1,
				       .rules = rules,
				       .page_rows = &page_rows,
				       .rows = rows };

	for (__u32 i = 0; i < CODE_BLOCKS; i++) {
		rules[i] = i ? random_rule() : (struct unwind_rule){ 0 };
		rows[i] = UNWIND_ROW(16 * i, i == 5 || i == 9 ? UNWIND_NO_RULE : i);
	}
	rules[7].ra = UNWIND_RA_UNDEFINED;
	rows[CODE_BLOCKS] = UNWIND_ROW(16 * CODE_BLOCKS, UNWIND_NO_RULE);
	unwind_tables__forget(t, 1);
	assert_int_equal(unwind_tables__set_rows(t, 1, &r, 0), 0);
}

/* Few, so that the same ones recur in other places. */
static __u64 random_ip(void)
{
	return CODE + 1 + 37 * (__u64)roll(16 * CODE_BLOCKS / 37);
}

/* Mostly return addresses where rules look for them, and pointers to the stack above. */
static void change_word(__u32 at)
{
	__u32 kind = roll(64);

	if (!kind)
		stack[at] = roll(2) ? 0 : roll(1U << 30);
	else if (at & 1)
		stack[at] = random_ip();
	else
		stack[at] = STACK + 8ULL * (at + roll(60));
}

static void begin_walk(struct native_walk *w, __u32 space, const struct native_regs *regs)
{
	w->memory = w->stack.memory = &memory;
	pages_begin(&w->stack);
	unwind_begin(w, regs);
	for (int i = 0; i < UNWIND_REGS; i++)
		w->regs[i] = STACK + 16ULL * (__u64)i;
	/* These alias each other. */
	w->regs[UNWIND_REG_SP] = regs->sp;
	w->regs[UNWIND_REG_FP] = regs->fp;
	unwind_enter(w, space);
	w->epoch = control.epoch;
	unwind_find_trail(w);
}

/* Returns how many frames came from the trail. */
static __u32 walk(struct native_walk *w, struct native_frame *frames)
{
	__u32 by_trail = 0;

	memset(frames, 0, KRAIT_MAX_NATIVE * sizeof(*frames));
	for (;;) {
		struct native_frame *out = &frames[w->cnt];
		int ret = unwind_follow(w, out);

		by_trail += ret >= 0;
		if (ret > 0 || (ret < 0 && unwind_step(w, out)))
			break;
	}
	unwind_leave_trail(w, true);
	return by_trail;
}

static void assert_same(const struct native_walk *a, const struct native_walk *b)
{
	assert_int_equal(a->cnt, b->cnt);
	assert_int_equal(a->reason, b->reason);
	assert_int_equal(a->ip, b->ip);
	assert_int_equal(a->sp, b->sp);
	assert_int_equal(a->fp, b->fp);
	assert_int_equal(a->base_addr, b->base_addr);
	assert_int_equal(a->flags, b->flags);
}

/* The walk of waiting threads, with registers as the kernel has them. */
static void compare_outside(struct stack_unwind *u, const struct native_walk *want,
			    const struct native_frame *frames, const struct native_regs *regs)
{
	static const __u8 words[UNWIND_REGS] = UNWIND_REG_WORDS;
	static struct stack_unwind_result got;
	struct stack_unwind_of of = { .memory = &memory, .space = want->space };

	for (int i = 0; i < UNWIND_REGS; i++)
		of.regs[words[i]] = want->regs[i];
	of.regs[words[UNWIND_REG_SP]] = regs->sp;
	of.regs[words[UNWIND_REG_FP]] = regs->fp;
	of.regs[UNWIND_WORD_IP] = regs->ip;
	stack_unwind__walk(u, &of, &got);
	assert_int_equal(got.cnt, want->cnt);
	assert_int_equal(got.reason, want->reason);
	assert_memory_equal(got.frames, frames, got.cnt * sizeof(*frames));
}

/* With one set of rules. Counts the frames found: all, and those from the trail. */
static void compare_walks(__u64 *ret_frames, __u64 *ret_by_trail)
{
	static struct native_frame alone_frames[KRAIT_MAX_NATIVE], frames[KRAIT_MAX_NATIVE];
	static struct native_walk alone, w;
	const struct unwind_memory tables = { files, spaces, &control, unwind_new_slab, NULL };
	struct unwind_tables *t = unwind_tables__new(&tables, 64 << 20);
	const struct unwind_mapping m = { CODE, CODE + 16 * CODE_BLOCKS, CODE, 1, 0 };
	struct stack_unwind *outside = t ? stack_unwind__new(t) : NULL;
	struct native_regs regs = { 0 };
	__u32 space;

	assert_non_null(outside);
	memset(cache, 0, sizeof(cache));
	memset(&w, 0, sizeof(w));
	make_rows(t);
	space = unwind_tables__set_space(t, 0, &m, 1, OWNER_ROOT);
	for (__u32 i = 0; i < STACK_WORDS; i++)
		change_word(i);
	for (int i = TIMES(WALKS); i; i--) {
		if (!roll(3))
			regs = (struct native_regs){ random_ip(),
						     STACK + 16ULL * roll(STACK_WORDS / 4),
						     STACK + 16ULL * roll(STACK_WORDS / 4) };
		if (!roll(2000))
			make_rows(t);
		for (__u32 changes = roll(4); changes; changes--)
			change_word(roll(2) ? roll(STACK_WORDS) : roll(STACK_WORDS / 4));
		alone.trail.cnt = 0;
		begin_walk(&alone, space, &regs);
		walk(&alone, alone_frames);
		compare_outside(outside, &alone, alone_frames, &regs);
		begin_walk(&w, space, &regs);
		*ret_by_trail += walk(&w, frames);
		*ret_frames += w.cnt;
		assert_same(&w, &alone);
		assert_memory_equal(frames, alone_frames, sizeof(frames));
	}
	stack_unwind__free(outside);
	unwind_tables__free(t);
	for (__u32 i = 0; i < UNWIND_SLABS_MAX; i++) {
		free(slabs[i]);
		slabs[i] = NULL;
	}
}

static void trail_finds_what_walk_finds(void **state)
{
	__u64 frames = 0, by_trail = 0;

	for (__u64 i = 1; i <= 24; i++) {
		seed = i * 0x9e3779b97f4a7c15ULL;
		compare_walks(&frames, &by_trail);
	}
	print_message("# %llu frames, %llu by the trail\n", frames, by_trail);
	assert_true(by_trail > frames / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trail_finds_what_walk_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
