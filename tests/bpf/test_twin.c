/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_twin.c - the sampling program in the kernel, over fake interpreters in this process's
 * memory: its output must equal that of the same headers on the host.
 */
#include "support_twin.h"

#include <time.h>

#include "bpf/share.h"

/* This thread owns the only state of the only interpreter. */
static void begin_with_thread(struct twin_test *t, int version)
{
	twin_begin(t, version);
	fake_stack_begin(&t->stack, t->fake,
			 fake_thread(t->fake, fake_interp(t->fake), own_thread_pointer(),
				     FAKE_STATUS_BOUND));
}

static void push_frames(struct twin_test *t, __u32 cnt)
{
	if (t->stack.cnt < 2)
		fake_push_entry(&t->stack);
	while (t->stack.cnt < cnt) {
		if (t->stack.cnt % 7 == 0)
			fake_push_entry(&t->stack);
		else
			fake_push(&t->stack, t->stack.cnt % 5 ? FAKE_THREAD : FAKE_GENERATOR,
				  fake_code(t->fake), 2 * t->stack.cnt);
	}
}

static void assert_whole(struct twin_test *t)
{
	assert_int_equal(assert_twins_agree(t), REASON_PYTHON);
	assert_int_equal(t->record.cnt[SECTION_FRAMES], t->stack.cnt);
	for (__u32 i = 0; i < t->stack.cnt; i++)
		assert_memory_equal(&t->frames[i], fake_expected(&t->stack, i),
				    offsetof(struct frame, fingerprint));
}

static void finds_whole_stacks_of_every_version(void **state)
{
	struct twin_test *t = *state;

	for_each_version(v)
	{
		begin_with_thread(t, v);
		assert_whole(t);
		push_frames(t, 3);
		assert_whole(t);
		push_frames(t, 100);
		assert_whole(t);
		push_frames(t, 1000);
		assert_whole(t);
	}
}

static void finds_the_deepest_stack_and_truncates_a_deeper_one(void **state)
{
	struct twin_test *t = *state;

	for_each_version(v)
	{
		begin_with_thread(t, v);
		push_frames(t, KRAIT_MAX_FRAMES);
		assert_whole(t);
		fake_push(&t->stack, FAKE_THREAD, t->fake->code_addr, 6);
		assert_int_equal(assert_twins_agree(t), REASON_DEPTH);
		assert_int_equal(t->record.cnt[SECTION_FRAMES], KRAIT_MAX_FRAMES);
		push_frames(t, 3000);
		assert_int_equal(assert_twins_agree(t), REASON_DEPTH);
	}
}

static void circles_of_frames_end(void **state)
{
	static const __u32 lengths[] = { 1, 2, 3, 4, 5, 64, 100, 1023, 1024, 2047, 2048, 2900 };
	struct twin_test *t = *state;

	begin_with_thread(t, 1);
	push_frames(t, 3000);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		__u64 link_addr = fake_expected(&t->stack, lengths[i] - 1)->frame_addr +
				  t->fake->offsets.frame.previous;
		__u64 link = fake_get(t->fake, link_addr);

		fake_put(t->fake, link_addr, fake_expected(&t->stack, 0)->frame_addr);
		assert_int_not_equal(assert_twins_agree(t), REASON_PYTHON);
		fake_put(t->fake, link_addr, link);
	}
}

static void fingerprints_are_those_of_user_space(void **state)
{
	struct twin_test *t = *state;

	for_each_version(v)
	{
		begin_with_thread(t, v);
		push_frames(t, 20);
		assert_int_equal(twin_interrupt(t, true), 1);
		for (__u32 i = 0; i < t->record.cnt[SECTION_FRAMES]; i++) {
			__u64 addr = t->frames[i].code_addr;

			assert_int_equal(t->frames[i].fingerprint,
					 addr ? fake_fingerprint(t->fake, addr) : 0);
		}
	}
}

static void threads_are_found_as_on_the_host(void **state)
{
	struct twin_test *t = *state;

	for_each_version(v)
	{
		__u64 interp_addr, tstate_addr;

		twin_begin(t, v);
		assert_int_equal(assert_twins_agree(t), REASON_NO_RUNTIME);
		interp_addr = fake_interp(t->fake);
		assert_int_equal(assert_twins_agree(t), REASON_NATIVE_THREAD);
		for (int i = 1; i < 20; i++)
			fake_thread(t->fake, interp_addr, own_thread_pointer() + 64 * i,
				    FAKE_STATUS_BOUND);
		assert_int_equal(assert_twins_agree(t), REASON_NATIVE_THREAD);
		fake_stack_begin(&t->stack, t->fake,
				 fake_thread(t->fake, fake_interp(t->fake), own_thread_pointer(),
					     FAKE_STATUS_IDLE));
		assert_whole(t);
		tstate_addr =
			fake_thread(t->fake, interp_addr, own_thread_pointer(), FAKE_STATUS_BOUND);
		fake_stack_begin(&t->stack, t->fake, tstate_addr);
		push_frames(t, 10);
		assert_whole(t);
		fake_put(t->fake, tstate_addr + t->fake->offsets.thread.prev, interp_addr);
		assert_int_equal(assert_twins_agree(t), REASON_THREAD_TORN);
	}
}

static void a_slot_remembers_the_state_until_it_goes(void **state)
{
	struct twin_test *t = *state;
	__u32 tid = gettid();

	for_each_version(v)
	{
		struct thread_ref ref = { .slot = 7 };
		struct thread_slot slot;
		__u32 key = ref.slot;

		begin_with_thread(t, v);
		push_frames(t, 10);
		assert_whole(t);
		assert_false(t->record.flags & SAMPLE_HAS_SLOT);
		ref.start_ns = t->record.thread_start_ns;
		own_put(t->skel->maps.threads, tid, &ref);
		for (int i = 0; i < 3; i++) {
			assert_whole(t);
			assert_true(t->record.flags & SAMPLE_HAS_SLOT);
		}
		assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.slots), &key, &slot),
				 0);
		assert_int_equal(slot.tstate_addr, t->stack.tstate_addr);
		fake_unlink_thread(t->fake, t->stack.tstate_addr);
		assert_int_equal(assert_twins_agree(t), REASON_NATIVE_THREAD);
		ref.start_ns++; /* of an earlier thread with this id */
		own_put(t->skel->maps.threads, tid, &ref);
		assert_int_equal(assert_twins_agree(t), REASON_NATIVE_THREAD);
		assert_false(t->record.flags & SAMPLE_HAS_SLOT);
		bpf_map_delete_elem(bpf_map__fd(t->skel->maps.threads), &tid);
	}
}

/*
 * Without Python frames, the shutdown itself is running; a __del__() called by it is ordinary
 * Python.
 */
static void an_interpreter_that_ends_says_so(void **state)
{
	struct twin_test *t = *state;

	for_each_version(v)
	{
		__u64 addr;

		begin_with_thread(t, v);
		addr = t->fake->runtime_addr + t->fake->offsets.runtime.finalizing;
		assert_int_equal(assert_twins_agree(t), REASON_PYTHON);
		fake_put(t->fake, addr, t->stack.tstate_addr);
		assert_int_equal(assert_twins_agree(t), REASON_FINALIZING);
		push_frames(t, 3);
		assert_whole(t);
	}
}

static void a_process_that_is_only_followed_leaves_no_record(void **state)
{
	struct twin_test *t = *state;

	begin_with_thread(t, 2);
	t->proc.flags = 0;
	own_put(t->skel->maps.procs, t->pid, &t->proc);
	assert_int_equal(twin_interrupt(t, true), 0);
}

static void an_untracked_process_leaves_no_record(void **state)
{
	struct twin_test *t = *state;

	begin_with_thread(t, 2);
	t->proc.start_ns += KRAIT_NS_PER_TICK; /* an earlier process with this id */
	own_put(t->skel->maps.procs, t->pid, &t->proc);
	assert_int_equal(twin_interrupt(t, true), 0);
	bpf_map_delete_elem(bpf_map__fd(t->skel->maps.procs), &t->pid);
	assert_int_equal(twin_interrupt(t, false), 0);
}

static void a_layout_that_is_not_there_is_an_error(void **state)
{
	struct twin_test *t = *state;

	begin_with_thread(t, 2);
	t->proc.layout = KRAIT_MAX_LAYOUTS;
	own_put(t->skel->maps.procs, t->pid, &t->proc);
	assert_int_equal(twin_interrupt(t, true), 1);
	assert_twin_says(t, REASON_NO_LAYOUT);
}

/* ---- shares ----------------------------------------------------------------------------------- */

#define OWNER 5
#define FIRES 100

static struct owner_use twin_use(struct twin_test *t, __u32 owner)
{
	struct owner_books books;
	__u32 key = 0;

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.owners), &key, &books), 0);
	return books.use[owner];
}

static void twin_own(struct twin_test *t, __u32 owner)
{
	t->proc.owner = owner;
	t->proc.payer = 1; /* ours, uid 0: no sample makes it change its owner */
	own_put(t->skel->maps.procs, t->pid, &t->proc);
}

/*
 * Nobody reads: the owner that fills the ring loses only its own samples, and others still find
 * room.
 */
static void who_holds_most_of_the_ring_loses_its_own(void **state)
{
	struct twin_test *t = *state;
	struct owner_use before, use;
	__u64 produced;

	begin_with_thread(t, 1);
	push_frames(t, 1000);
	twin_own(t, OWNER);
	/* Until almost all code objects have been described: 64 at a time. */
	for (int i = 0; i < 20; i++)
		assert_int_equal(twin_interrupt(t, true), 1);
	before = twin_use(t, OWNER);
	for (int i = 0; i < FIRES; i++)
		twin_fire(t, i % 2);
	use = twin_use(t, OWNER);
	produced = use.produced - before.produced;
	assert_true(use.samples_dropped > FIRES / 2);
	assert_in_range(produced, 512 << 10, 800 << 10);
	for (__u32 owner = OWNER + 1; owner < OWNER + 4; owner++) {
		twin_own(t, owner);
		twin_fire(t, true);
		assert_int_equal(twin_use(t, owner).samples_dropped, 0);
	}
	twin_own(t, OWNER_ROOT);
	twin_fire(t, true);
	assert_int_equal(twin_use(t, OWNER_ROOT).samples_dropped, 0);
	assert_int_equal(twin_consume(t), FIRES + 4 - (int)use.samples_dropped);
	assert_int_equal(t->record.owner, OWNER_ROOT);
}

/* Smaller than any snapshot of the image's code objects. */
#define SNAPSHOT_MIN 256

/* A process that has sent much: its samples come without snapshots, which follow later. */
static void a_process_without_budget_sends_no_snapshots(void **state)
{
	struct twin_test *t = *state;
	struct timespec now;
	int codes = t->codes;
	const __u64 none[2] = { 0 };
	__u64 refilled;

	/* Forget what earlier tests have described at these addresses. */
	for (__u32 i = 0; i < bpf_map__max_entries(t->skel->maps.codes); i++)
		own_put(t->skel->maps.codes, i, none);
	begin_with_thread(t, 1);
	push_frames(t, 40);
	clock_gettime(CLOCK_MONOTONIC, &now);
	t->proc.code_ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	t->proc.code_bytes = 0;
	own_put(t->skel->maps.procs, t->pid, &t->proc);
	assert_int_equal(twin_interrupt(t, true), 1);
	/* On a slow machine the budget is refilled meanwhile. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	refilled = (now.tv_sec * 1000000000ULL + now.tv_nsec - t->proc.code_ns) >> CODE_RATE_SHIFT;
	assert_true(t->codes - codes < 10 + (int)(refilled / SNAPSHOT_MIN));
	t->proc.code_bytes = CODE_BYTES_MAX;
	own_put(t->skel->maps.procs, t->pid, &t->proc);
	assert_int_equal(twin_interrupt(t, true), 1);
	assert_true(t->codes - codes > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_whole_stacks_of_every_version),
		cmocka_unit_test(finds_the_deepest_stack_and_truncates_a_deeper_one),
		cmocka_unit_test(circles_of_frames_end),
		cmocka_unit_test(fingerprints_are_those_of_user_space),
		cmocka_unit_test(threads_are_found_as_on_the_host),
		cmocka_unit_test(a_slot_remembers_the_state_until_it_goes),
		cmocka_unit_test(an_interpreter_that_ends_says_so),
		cmocka_unit_test(a_process_that_is_only_followed_leaves_no_record),
		cmocka_unit_test(an_untracked_process_leaves_no_record),
		cmocka_unit_test(a_layout_that_is_not_there_is_an_error),
		cmocka_unit_test(a_process_without_budget_sends_no_snapshots),
		cmocka_unit_test(who_holds_most_of_the_ring_loses_its_own),
	};

	twin_skip_if_impossible();
	return cmocka_run_group_tests_name("sampler twin", tests, twin_new, twin_free);
}
