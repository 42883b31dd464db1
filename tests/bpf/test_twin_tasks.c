/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_twin_tasks.c - the sampling program in the kernel follows asyncio tasks like the same
 * headers on the host, in complete chains and over randomly damaged tasks.
 */
#include "support_twin.h"

#include "support_fake_tasks.h"

#define ROUNDS 300
/* Offset in the fake's thread states, which end before the real one. */
#define RUNNING_LOOP 600

static struct fake_tasks tasks;
static __u64 tstate_addr;
static struct frame parts[KRAIT_MAX_TASK_PARTS];
static __u32 part_cnt;

static void begin(struct twin_test *t, int version)
{
	twin_begin(t, version);
	fake_tasks_begin(&tasks, t->fake);
	tasks.layout.start_ns = t->proc.start_ns;
	tasks.layout.running_loop = RUNNING_LOOP;
	t->skel->data_layouts->layouts[0] = t->fake->offsets;
	own_put(t->skel->maps.task_layouts, t->pid, &tasks.layout);
	t->skel->bss->tasks_known = 1;
	tstate_addr =
		fake_thread(t->fake, fake_interp(t->fake), own_thread_pointer(), FAKE_STATUS_BOUND);
	fake_stack_begin(&t->stack, t->fake, tstate_addr);
	fake_push_entry(&t->stack);
	fake_push(&t->stack, FAKE_THREAD, fake_code(t->fake), 2);
}

static int take_parts(void *ctx, void *data, size_t size)
{
	const struct record_sample *record = data;

	if (record->type != RECORD_SAMPLE)
		return 0;
	memcpy(parts, record__section(record, SECTION_TASKS, &part_cnt),
	       record->cnt[SECTION_TASKS] * sizeof(*parts));
	return 0;
}

/* Checks that both flavours agree with the host. */
static __u32 assert_same(struct twin_test *t, __u64 running)
{
	const struct task_walk_config config = { .memory = &t->fake->memory,
						 .offsets = &t->fake->offsets,
						 .layout = &tasks.layout,
						 .names = true };
	struct ring_buffer *ring =
		ring_buffer__new(bpf_map__fd(t->skel->maps.ring), take_parts, NULL, NULL);

	fake_put(t->fake, tstate_addr + RUNNING_LOOP + 8, running);
	for (int has_loop = 0; has_loop < 2; has_loop++) {
		memset(&tasks.result, 0, sizeof(tasks.result));
		if (running)
			task_walk_from(&config, running, &tasks.result);
		part_cnt = ~0U;
		twin_fire(t, has_loop);
		assert_true(ring_buffer__consume(ring) >= 0);
		assert_int_equal(part_cnt, tasks.result.cnt);
		for (__u32 i = 0; i < part_cnt; i++) {
			/*
			 * The kernel fingerprints code; a task's part has a note instead, which
			 * both sides have.
			 */
			size_t size = parts[i].code_addr ? offsetof(struct frame, fingerprint) :
							   sizeof(struct frame);

			assert_memory_equal(&parts[i], &tasks.result.parts[i], size);
		}
	}
	ring_buffer__free(ring);
	return part_cnt;
}

static void chains_are_those_of_the_host(void **state)
{
	struct twin_test *t = *state;

	for_each_new(v)
	{
		__u64 inner, outer, list[3], running;

		begin(t, v);
		assert_int_equal(assert_twins_agree(t), REASON_PYTHON);
		assert_int_equal(assert_same(t, 0), 0);
		inner = fake_suspended(&tasks, fake_future(&tasks), 4);
		outer = fake_suspended(&tasks, fake_wrapper(&tasks, inner), 6);
		list[0] = fake_task(&tasks, outer, 0);
		list[1] = fake_task(&tasks, fake_suspended(&tasks, fake_future(&tasks), 8), 0);
		list[2] = fake_task(&tasks, fake_suspended(&tasks, fake_future(&tasks), 10), 0);
		fake_await_set(&tasks, list[2], fake_task_set(&tasks, 32, list, 2));
		running = fake_task(&tasks,
				    fake_coroutine(&tasks, tasks.layout.state_executing, 0, 12),
				    list[2]);
		assert_int_equal(assert_same(t, running), 7);
	}
}

static void long_chains_end_where_those_of_the_host_do(void **state)
{
	struct twin_test *t = *state;
	__u64 last = 0;

	begin(t, 1);
	for (int i = 0; i < KRAIT_MAX_TASK_PARTS; i++) {
		last = fake_task(&tasks, fake_suspended(&tasks, fake_future(&tasks), 2), last);
		if (i % 32 == 0)
			assert_same(t, last);
	}
	assert_int_equal(assert_same(t, last), KRAIT_MAX_TASK_PARTS);
}

static void damaged_tasks_are_the_same_to_both(void **state)
{
	struct twin_test *t = *state;

	for (int round = 0; round < ROUNDS; round++) {
		begin(t, 1 + round % 2);
		assert_true(assert_same(t, fake_tasks_garbage(&tasks, (__u64)round + 1)) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_are_those_of_the_host),
		cmocka_unit_test(long_chains_end_where_those_of_the_host_do),
		cmocka_unit_test(damaged_tasks_are_the_same_to_both),
	};

	twin_skip_if_impossible();
	return cmocka_run_group_tests(tests, twin_new, twin_free);
}
