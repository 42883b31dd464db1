/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_twin_faults.c - the sampling program in the kernel over missing memory and over randomly
 * damaged interpreters: it agrees with the host, and the kernel survives.
 */
#include <unistd.h>

#include "support_fake_random.h"
#include "support_twin.h"

/* 16 KiB on some arm64. */
#define PAGE ((__u64)sysconf(_SC_PAGESIZE))
#define ROUNDS 400

/* The next allocation gets a page of its own. */
static void new_page(struct fake *f)
{
	f->used = (f->used + PAGE - 1) & ~(PAGE - 1);
}

/* Puts the interpreter, the thread state and each frame on pages of their own. */
static void begin_in_pages(struct twin_test *t, int version)
{
	__u64 interp_addr;

	twin_begin(t, version);
	new_page(t->fake);
	interp_addr = fake_interp(t->fake);
	new_page(t->fake);
	fake_stack_begin(&t->stack, t->fake,
			 fake_thread(t->fake, interp_addr, own_thread_pointer(),
				     FAKE_STATUS_BOUND));
	new_page(t->fake);
	fake_push_entry(&t->stack);
	fake_code(t->fake);
	for (int i = 0; i < 6; i++) {
		new_page(t->fake);
		fake_push(&t->stack, FAKE_THREAD, t->fake->code_addr, 2 * i);
	}
	assert_int_equal(assert_twins_agree(t), REASON_PYTHON);
}

static void protect(struct twin_test *t, __u64 addr)
{
	fake_fault(t->fake, addr & ~(PAGE - 1), PAGE);
	assert_int_equal(mprotect(fake_at(t->fake, addr & ~(PAGE - 1)), PAGE, PROT_NONE), 0);
}

static void unprotect(struct twin_test *t, __u64 addr)
{
	fake_heal(t->fake);
	assert_int_equal(
		mprotect(fake_at(t->fake, addr & ~(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE), 0);
}

static void a_frame_in_a_page_that_cannot_be_read_truncates(void **state)
{
	struct twin_test *t = *state;

	for_each_version(v)
	{
		begin_in_pages(t, v);
		for (__u32 i = 0; i < t->stack.cnt; i++) {
			__u64 addr = fake_expected(&t->stack, i)->frame_addr;

			if (addr - t->stack.tstate_addr < PAGE)
				continue; /* the base frame is inside the thread state */
			protect(t, addr);
			assert_int_equal(assert_twins_agree(t), REASON_FRAME_FAULT);
			assert_int_equal(t->record.cnt[SECTION_FRAMES], i);
			unprotect(t, addr);
			assert_int_equal(assert_twins_agree(t), REASON_PYTHON);
		}
	}
}

static void a_frame_in_an_unmapped_page_truncates(void **state)
{
	struct twin_test *t = *state;

	for_each_version(v)
	{
		__u64 addr;

		begin_in_pages(t, v);
		addr = fake_expected(&t->stack, 2)->frame_addr & ~(PAGE - 1);
		fake_fault(t->fake, addr, PAGE);
		assert_int_equal(munmap(fake_at(t->fake, addr), PAGE), 0);
		assert_int_equal(assert_twins_agree(t), REASON_FRAME_FAULT);
		assert_int_equal(t->record.cnt[SECTION_FRAMES], 2);
	}
}

/* Mapped but never touched: the program must not sleep to bring the page in. */
static void a_frame_in_a_page_that_was_dropped_truncates(void **state)
{
	struct twin_test *t = *state;
	__u64 addr;

	begin_in_pages(t, 1);
	addr = fake_expected(&t->stack, 2)->frame_addr & ~(PAGE - 1);
	fake_fault(t->fake, addr, PAGE);
	assert_int_equal(madvise(fake_at(t->fake, addr), PAGE, MADV_DONTNEED), 0);
	assert_int_equal(assert_twins_agree(t), REASON_FRAME_FAULT);
	assert_int_equal(t->record.cnt[SECTION_FRAMES], 2);
}

static void a_frame_that_reaches_into_such_a_page_truncates(void **state)
{
	struct twin_test *t = *state;

	for_each_version(v)
	{
		__u64 addr;

		begin_in_pages(t, v);
		new_page(t->fake);
		t->fake->used += PAGE - 64;
		fake_push(&t->stack, FAKE_THREAD, t->fake->code_addr, 8);
		addr = fake_expected(&t->stack, 0)->frame_addr + 64;
		assert_int_equal(assert_twins_agree(t), REASON_PYTHON);
		protect(t, addr);
		assert_int_equal(assert_twins_agree(t), REASON_FRAME_FAULT);
		assert_int_equal(t->record.cnt[SECTION_FRAMES], 0);
		unprotect(t, addr);
	}
}

static void a_runtime_interpreter_or_thread_that_cannot_be_read_is_lost(void **state)
{
	struct twin_test *t = *state;

	for_each_version(v)
	{
		__u64 head_addr;

		begin_in_pages(t, v);
		head_addr = t->record.interp_addr + t->fake->offsets.interp.threads_head;
		protect(t, t->fake->runtime_addr);
		assert_int_equal(assert_twins_agree(t), REASON_RUNTIME_FAULT);
		unprotect(t, t->fake->runtime_addr);
		protect(t, head_addr);
		assert_int_equal(assert_twins_agree(t), REASON_RUNTIME_FAULT);
		unprotect(t, head_addr);
	}
}

static void a_thread_state_that_cannot_be_read_is_lost(void **state)
{
	struct twin_test *t = *state;

	for_each_version(v)
	{
		begin_in_pages(t, v);
		protect(t, t->stack.tstate_addr);
		assert_int_equal(assert_twins_agree(t), REASON_THREAD_FAULT);
		unprotect(t, t->stack.tstate_addr);
		assert_int_equal(assert_twins_agree(t), REASON_PYTHON);
	}
}

static void random_interpreters_give_what_the_host_gives(void **state)
{
	struct twin_test *t = *state;
	struct rng rng = rng_from_environment();
	bool seen[REASON_CNT] = { false };

	for (int i = 0; i < ROUNDS; i++) {
		twin_begin(t, rng_below(&rng, FAKE_VERSION_CNT));
		fake_random(t->fake, &rng, own_thread_pointer(), &t->stack);
		seen[assert_twins_agree(t)] = true;
		assert_true(t->record.reason <= REASON_NATIVE_THREAD);
		for (int again = 0; again < 5; again++) {
			fake_mutate(t->fake, &rng, 1 + rng_below(&rng, 40));
			seen[assert_twins_agree(t)] = true;
		}
	}
	assert_true(seen[REASON_PYTHON]);
	assert_true(seen[REASON_NATIVE_THREAD]);
	assert_true(seen[REASON_THREAD_TORN]);
	assert_true(seen[REASON_BAD_FRAME]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_in_a_page_that_cannot_be_read_truncates),
		cmocka_unit_test(a_frame_in_an_unmapped_page_truncates),
		cmocka_unit_test(a_frame_in_a_page_that_was_dropped_truncates),
		cmocka_unit_test(a_frame_that_reaches_into_such_a_page_truncates),
		cmocka_unit_test(a_runtime_interpreter_or_thread_that_cannot_be_read_is_lost),
		cmocka_unit_test(a_thread_state_that_cannot_be_read_is_lost),
		cmocka_unit_test(random_interpreters_give_what_the_host_gives),
	};

	twin_skip_if_impossible();
	return cmocka_run_group_tests_name("sampler twin: faults", tests, twin_new, twin_free);
}
