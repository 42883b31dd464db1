/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_twin_greenlets.c - the sampling program follows the parents of a thread's running greenlet:
 * from a variable of this very thread, as laid out by the dynamic linker, along chains that are
 * complete, circular, torn, or longer than its limits.
 */
#include "support_twin.h"

#include "support_fake_random.h"

#define ROUNDS 300
#define PARTS_MAX KRAIT_MAX_GREENLET_PARTS
/* Offset in a greenlet's C++ object, as of greenlet 3.1 on Python 3.13. */
#define IMPL 32
#define SELF 8
#define STACK_START 56
#define STACK_STOP 64
#define TOP_FRAME 104
#define IMPL_SIZE 184
#define PARENT 184

/* greenlet's own value: { main, current }, or 1 for none. */
static __thread __u64 greenlet_variable = 1;

static __u64 greenlets[PARTS_MAX + 2]; /* the main one first */
static __u64 codes[PARTS_MAX + 2]; /* of each one's innermost frame */
static __u32 greenlet_cnt;
static struct frame parts[PARTS_MAX];
static __u32 part_cnt;

/*
 * glibc: the thread pointer leads to the table whose entry 1 is the program's own TLS block. is_static: as if a
 * descriptor said how far the variable is from the thread pointer.
 */
static struct greenlet_place place_here(struct twin_test *t, bool is_static)
{
	static const struct {
		__u32 entry;
		__s32 count, at;
	} glibc[] = TLS_TABLES;
	const char *pointer = __builtin_thread_pointer();
	const __u64 *table = *(__u64 **)(pointer + glibc->at),
		    from = is_static ? own_thread_pointer() : table[2];

	return (struct greenlet_place){
		.start_ns = t->proc.start_ns,
		.tls_module = !is_static,
		.dtv_entry = glibc->entry,
		.dtv_count = glibc->count,
		.dtv_at = glibc->at,
		.state_at = (__s32)((__u64)(unsigned long)&greenlet_variable - from),
		.impl = IMPL,
		.size = IMPL_SIZE,
		.self = SELF,
		.parent = PARENT,
		.stack_start = STACK_START,
		.stack_stop = STACK_STOP,
		.top_frame = TOP_FRAME,
	};
}

static __u64 impl_of(struct twin_test *t, __u32 number)
{
	return fake_get(t->fake, greenlets[number] + IMPL);
}

/* Makes a chain of two frames. Returns the inner one's object. */
static __u64 put_frames(struct twin_test *t, __u64 *ret_code)
{
	struct fake *f = t->fake;
	__u64 frames[2], object = fake_alloc(f, 64);

	for (int i = 0; i < 2; i++) {
		__u64 code = fake_code(f);

		frames[i] = fake_alloc(f, f->version->frame_size);
		fake_put(f, frames[i] + f->offsets.frame.executable, code);
		fake_put(f, frames[i] + f->offsets.frame.instr_ptr,
			 code + f->offsets.code.code_adaptive + 4);
		fake_put(f, frames[i] + f->offsets.frame.previous, i ? frames[0] : 0);
		*ret_code = code;
	}
	fake_put(f, object + PYOFF_FRAME_OBJECT_FRAME(&f->offsets), frames[1]);
	return object;
}

/* The last one runs; the others are suspended. */
static void put_greenlet(struct twin_test *t, bool runs)
{
	struct fake *f = t->fake;
	__u32 n = greenlet_cnt++;
	__u64 addr = fake_alloc(f, 64), impl = fake_alloc(f, PARENT + 8);

	greenlets[n] = addr;
	fake_put(f, addr + IMPL, impl);
	fake_put(f, impl + SELF, addr);
	fake_put(f, impl + STACK_START, 0x1000);
	fake_put(f, impl + STACK_STOP, n ? 0x2000 : ~0ULL);
	fake_put(f, impl + PARENT, n ? greenlets[n - 1] : 0);
	if (!runs)
		fake_put(f, impl + TOP_FRAME, put_frames(t, &codes[n]));
}

/* A thread whose greenlet has so many parents. */
static void begin(struct twin_test *t, int version, __u32 parent_cnt)
{
	struct greenlet_place place;
	__u64 state;

	twin_begin(t, version);
	place = place_here(t, version % 2);
	own_put(t->skel->maps.greenlet_places, t->pid, &place);
	t->skel->bss->greenlets_known = 1;
	fake_stack_begin(&t->stack, t->fake,
			 fake_thread(t->fake, fake_interp(t->fake), own_thread_pointer(),
				     FAKE_STATUS_BOUND));
	fake_push_entry(&t->stack);
	fake_push(&t->stack, FAKE_THREAD, fake_code(t->fake), 2);
	greenlet_cnt = 0;
	for (__u32 i = 0; i <= parent_cnt; i++)
		put_greenlet(t, i == parent_cnt);
	state = fake_alloc(t->fake, 16);
	fake_put(t->fake, state, greenlets[0]);
	fake_put(t->fake, state + 8, greenlets[parent_cnt]);
	greenlet_variable = state;
}

static int take_parts(void *ctx, void *data, size_t size)
{
	const struct record_sample *record = data;

	if (record->type != RECORD_SAMPLE)
		return 0;
	assert_true(record->cnt[SECTION_GREENLETS] <= PARTS_MAX);
	memcpy(parts, record__section(record, SECTION_GREENLETS, &part_cnt),
	       record->cnt[SECTION_GREENLETS] * sizeof(*parts));
	return 0;
}

/* Checks that both flavours agree. Returns the number of parts. */
static __u32 sample(struct twin_test *t)
{
	static struct frame first[PARTS_MAX];
	struct ring_buffer *ring =
		ring_buffer__new(bpf_map__fd(t->skel->maps.ring), take_parts, NULL, NULL);
	__u32 first_cnt = 0;

	for (int has_loop = 0; has_loop < 2; has_loop++) {
		part_cnt = ~0U;
		twin_fire(t, has_loop);
		assert_true(ring_buffer__consume(ring) >= 0);
		assert_true(part_cnt <= PARTS_MAX);
		if (has_loop) {
			assert_int_equal(part_cnt, first_cnt);
			assert_memory_equal(parts, first, part_cnt * sizeof(*parts));
		}
		first_cnt = part_cnt;
		memcpy(first, parts, part_cnt * sizeof(*parts));
	}
	ring_buffer__free(ring);
	return part_cnt;
}

static void assert_head(__u32 at, __u64 addr, __u32 notes)
{
	assert_true(at < part_cnt);
	assert_int_equal(parts[at].code_addr, 0);
	assert_int_equal(parts[at].frame_addr, addr);
	assert_int_equal(parts[at].fingerprint, notes);
}

/* Expects a suspended greenlet with both of its frames. */
static void assert_suspended(struct twin_test *t, __u32 at, __u32 number, __u32 notes)
{
	assert_head(at, greenlets[number], notes);
	assert_true(at + 2 < part_cnt);
	assert_int_equal(parts[at + 1].code_addr, codes[number]);
	assert_int_equal(parts[at + 1].instr_off, 4);
	assert_true(parts[at + 2].code_addr && parts[at + 2].code_addr != codes[number]);
}

/* ---- what is there ---------------------------------------------------------------------------- */

static void parents_come_nearest_first(void **state)
{
	static const __u32 counts[] = { 0, 1, 5 };
	struct twin_test *t = *state;

	for_each_version(v)
	{
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			begin(t, v, counts[i]);
			assert_int_equal(assert_twins_agree(t), REASON_PYTHON);
			assert_int_equal(sample(t), 3 * counts[i]);
			for (__u32 k = 0; k < counts[i]; k++)
				assert_suspended(t, 3 * k, counts[i] - 1 - k, 0);
		}
	}
}

static void threads_without_greenlets(void **state)
{
	struct twin_test *t = *state;

	begin(t, 1, 2);
	greenlet_variable = 1;
	assert_int_equal(sample(t), 0);
	greenlet_variable = 0;
	assert_int_equal(sample(t), 0);
}

/* A parent that has not started, or that is only C, has no frames. */
static void parents_without_frames(void **state)
{
	struct twin_test *t = *state;

	begin(t, 1, 2);
	fake_put(t->fake, impl_of(t, 1) + TOP_FRAME, 0);
	assert_int_equal(sample(t), 4);
	assert_head(0, greenlets[1], 0);
	assert_suspended(t, 1, 0, 0);
	begin(t, 1, 2);
	fake_put(t->fake, impl_of(t, 1) + STACK_START, 0);
	assert_int_equal(sample(t), 4);
	assert_suspended(t, 1, 0, 0);
}

/* ---- what is torn ----------------------------------------------------------------------------- */

static void the_current_one_cannot_be_read(void **state)
{
	struct twin_test *t = *state;

	begin(t, 1, 2);
	greenlet_variable = 24;
	assert_int_equal(sample(t), 1);
	assert_head(0, 0, TASK_TORN);
	begin(t, 1, 2);
	fake_put(t->fake, impl_of(t, 2) + SELF, greenlets[0]);
	assert_int_equal(sample(t), 1);
	assert_head(0, greenlets[2], TASK_TORN);
	/* It is suspended at a frame that is not the thread's. */
	begin(t, 1, 2);
	fake_put(t->fake, impl_of(t, 2) + TOP_FRAME, fake_get(t->fake, impl_of(t, 1) + TOP_FRAME));
	assert_int_equal(sample(t), 1);
	assert_head(0, greenlets[2], TASK_TORN);
}

static void a_parent_cannot_be_read(void **state)
{
	static const __u64 addresses[] = { 24, 0x7, 1ULL << 63 };
	struct twin_test *t = *state;

	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		begin(t, 1, 3);
		fake_put(t->fake, impl_of(t, 2) + PARENT, addresses[i]);
		assert_int_equal(sample(t), 4);
		assert_suspended(t, 0, 2, 0);
		assert_head(3, addresses[i], TASK_TORN);
		/* Its C++ object is unreadable. */
		begin(t, 1, 3);
		fake_put(t->fake, greenlets[1] + IMPL, addresses[i]);
		assert_int_equal(sample(t), 4);
		assert_head(3, greenlets[1], TASK_TORN);
		/* Its frame object, then its frame; the next parent follows anyway. */
		begin(t, 1, 3);
		fake_put(t->fake, impl_of(t, 1) + TOP_FRAME, addresses[i]);
		assert_int_equal(sample(t), 4);
		assert_head(3, greenlets[1], TASK_TORN);
		begin(t, 1, 3);
		fake_put(t->fake,
			 fake_get(t->fake, impl_of(t, 1) + TOP_FRAME) +
				 PYOFF_FRAME_OBJECT_FRAME(&t->fake->offsets),
			 addresses[i]);
		assert_int_equal(sample(t), 7);
		assert_head(3, greenlets[1], TASK_FRAMES);
		assert_suspended(t, 4, 0, 0);
	}
}

/* ---- what does not end ------------------------------------------------------------------------ */

static void circles_end(void **state)
{
	struct twin_test *t = *state;
	__u64 frame;

	begin(t, 1, 3);
	fake_put(t->fake, impl_of(t, 1) + PARENT, greenlets[2]);
	assert_int_equal(sample(t), PARTS_MAX);
	assert_suspended(t, 3, 1, 0);
	assert_suspended(t, 6, 2, 0);
	assert_head(PARTS_MAX - 1, greenlets[1], TASK_LIMIT);
	/* Circular frames. */
	begin(t, 1, 1);
	frame = fake_get(t->fake, fake_get(t->fake, impl_of(t, 0) + TOP_FRAME) +
					  PYOFF_FRAME_OBJECT_FRAME(&t->fake->offsets));
	fake_put(t->fake, frame + t->fake->offsets.frame.previous, frame);
	assert_int_equal(sample(t), PARTS_MAX);
	assert_head(0, greenlets[0], TASK_LIMIT);
	/* Frames that are being cleared make no parts: the step limit ends the walk. */
	fake_put(t->fake, frame + t->fake->offsets.frame.executable, 0);
	assert_int_equal(sample(t), 1);
	assert_head(0, greenlets[0], TASK_LIMIT);
}

static void long_chains_are_cut(void **state)
{
	struct twin_test *t = *state;

	/* 85 parents make 255 parts; 86 make two too many. */
	begin(t, 1, 85);
	assert_int_equal(sample(t), 255);
	assert_suspended(t, 252, 0, 0);
	begin(t, 1, 86);
	assert_int_equal(sample(t), PARTS_MAX);
	assert_head(PARTS_MAX - 1, greenlets[0], TASK_LIMIT);
	begin(t, 1, PARTS_MAX);
	assert_int_equal(sample(t), PARTS_MAX);
	assert_head(PARTS_MAX - 1, greenlets[PARTS_MAX - 1 - 85], TASK_LIMIT);
}

static void damage_is_the_same_to_both(void **state)
{
	struct twin_test *t = *state;
	struct rng rng = rng_from_environment();
	__u32 whole = 0;

	for (int round = 0; round < ROUNDS; round++) {
		begin(t, 1 + round % 2, 6);
		fake_mutate(t->fake, &rng, 1 + rng_below(&rng, 60));
		whole += sample(t) == 18;
	}
	/* Otherwise the test proved nothing. */
	assert_true(whole && whole < ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parents_come_nearest_first),
		cmocka_unit_test(threads_without_greenlets),
		cmocka_unit_test(parents_without_frames),
		cmocka_unit_test(the_current_one_cannot_be_read),
		cmocka_unit_test(a_parent_cannot_be_read),
		cmocka_unit_test(circles_end),
		cmocka_unit_test(long_chains_are_cut),
		cmocka_unit_test(damage_is_the_same_to_both),
	};

#ifndef __GLIBC__
	printf("1..0 # SKIP written for glibc's tables\n");
	return 0;
#endif
	twin_skip_if_impossible();
	return cmocka_run_group_tests(tests, twin_new, twin_free);
}
