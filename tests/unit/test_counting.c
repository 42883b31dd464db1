/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_counting.c - what a record counts besides its own stack: the length of a wait without a
 * stack, CPU time that no tick found, and the start of each wait.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "record/follow/processes.h"
#include "record/follow/threads.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/profile.h"
#include "profile/states.h"
#include "record/samples/collector.h"
#include "record/samples/counting.h"
#include "record/samples/own.h"
#include "base/system/event.h"

#define MS 1000000ULL
#define CLOCK 0
#define OFF_CPU 1

/* A thread that has returned from a wait. */
struct fixture {
	struct event_spec events[2];
	struct collector_config config;
	struct counting counting;
	struct process process;
	struct thread thread;
	struct process_own process_own;
	struct thread_own thread_own;
	struct {
		struct record_sample head;
		struct wait_facts facts;
	} record;
	__u32 node; /* of the thread */
	struct profile_sample seen[4];
	unsigned cnt;
};

static void see(void *ctx, const struct profile *profile, const struct profile_sample *sample)
{
	struct fixture *f = ctx;

	(void)profile;
	assert_true(f->cnt < 4);
	f->seen[f->cnt++] = *sample;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(event_parse(&f->events[CLOCK], "cpu-clock", strlen("cpu-clock"),
				     (char[8]){ 0 }, 8),
			 0);
	f->events[CLOCK].frequency = 1000;
	snprintf(f->events[OFF_CPU].name, sizeof(f->events[OFF_CPU].name), EVENT_OFF_CPU);
	f->events[OFF_CPU].period = 1;
	f->config = (struct collector_config){
		.events = f->events, .event_cnt = 2, .on_sample = see, .on_sample_ctx = f
	};
	f->counting = counting_of(&f->config, profile__new());
	assert_non_null(f->counting.profile);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(profile__set_event(f->counting.profile, i, &f->events[i]), 0);
	f->thread.process = &f->process;
	f->process.own = &f->process_own;
	f->thread.own = &f->thread_own;
	f->node = dict__named_child(f->counting.profile->dict, 0, FRAME_THREAD, "t", 1, 1);
	f->record.head = (struct record_sample){
		.type = RECORD_SAMPLE,
		.time_ns = 1000 * MS,
		.period = 20 * MS,
		.event = OFF_CPU,
		.reason = REASON_PYTHON,
	};
	f->record.head.cnt[SECTION_WAIT] = 1;
	f->record.facts =
		(struct wait_facts){ .length_ns = 20 * MS, .syscall = -1, .task_state = 1 };
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	profile__free(f->counting.profile);
	free(f);
	return 0;
}

static const struct accounts *accounts_of(const struct fixture *f, unsigned event)
{
	return &profile__counts(f->counting.profile, event)->accounts;
}

static unsigned come_back(struct fixture *f, __u64 time_ns, __u64 length_ns)
{
	f->record.head.time_ns = time_ns;
	f->record.head.period = f->record.facts.length_ns = length_ns;
	f->cnt = 0;
	return counting_put(&f->counting, &f->thread, &f->record.head, f->node, false);
}

/* It belongs to no stack, but its length is known. */
static void a_lost_wait_has_its_length(void **state)
{
	struct fixture *f = *state;

	counting_lost(&f->counting, &f->record.head, REASON_THREAD_TORN);
	f->record.head.period = 3 * MS;
	counting_lost(&f->counting, &f->record.head, REASON_THREAD_TORN);
	assert_int_equal(f->counting.waits_lost_ns, 23 * MS);
	assert_int_equal(accounts_of(f, CLOCK)->reasons[REASON_THREAD_TORN], 0);
	f->record.head.cnt[SECTION_WAIT] = 0;
	counting_lost(&f->counting, &f->record.head, REASON_THREAD_TORN);
	assert_int_equal(f->counting.waits_lost_ns, 23 * MS);
}

static void ticks_of_a_lost_wait_are_lost_samples_of_the_clock(void **state)
{
	struct fixture *f = *state;

	f->record.facts.ticks_ns = MS;
	counting_lost(&f->counting, &f->record.head, REASON_THREAD_TORN);
	assert_int_equal(accounts_of(f, CLOCK)->reasons[REASON_THREAD_TORN], 1);
	assert_int_equal(f->counting.parts[CLOCK], 1);
	assert_int_equal(f->counting.waits_lost_ns, 20 * MS);
}

/* Below its thread, as an event of the clock; the wait's own record is unaffected. */
static void what_no_tick_found_is_a_mark(void **state)
{
	struct fixture *f = *state;
	struct dict *dict = f->counting.profile->dict;
	__u32 node;

	counting_put_unsampled(&f->counting, &f->thread, &f->record.head, f->node);
	assert_int_equal(f->cnt, 0);
	f->record.facts.unsampled = 300;
	counting_put_unsampled(&f->counting, &f->thread, &f->record.head, f->node);
	assert_int_equal(f->cnt, 1);
	assert_int_equal(f->seen[0].event, CLOCK);
	assert_int_equal(f->seen[0].period, 300ULL << UNSAMPLED_SHIFT);
	assert_int_equal(state_of(f->seen[0].state), STATE_CPU);
	node = dict__named_child(dict, f->node, FRAME_MARK, MARK_NOT_SAMPLED, 0, 0);
	assert_int_equal(f->seen[0].node, node);
	assert_int_equal(accounts_of(f, CLOCK)->reasons[REASON_PYTHON], 1);
	assert_int_equal(f->counting.parts[CLOCK], 1);
	assert_int_equal(come_back(f, 1000 * MS, 20 * MS), 1);
	assert_int_equal(f->seen[0].event, OFF_CPU);
	assert_int_equal(f->seen[0].period, 20 * MS);
}

/*
 * The dictionary is full, or there is no memory for the thread: a lost sample of the clock, with
 * its length.
 */
static void what_no_tick_found_and_finds_no_room_is_lost(void **state)
{
	struct fixture *f = *state;

	counting_put_unsampled(&f->counting, &f->thread, &f->record.head, 0);
	assert_int_equal(f->counting.unsampled_lost_ns, 0);
	f->record.facts.unsampled = 300;
	counting_put_unsampled(&f->counting, &f->thread, &f->record.head, 0);
	counting_put_unsampled(&f->counting, NULL, &f->record.head, 0);
	assert_int_equal(f->cnt, 0);
	assert_int_equal(f->counting.unsampled_lost_ns, 600ULL << UNSAMPLED_SHIFT);
	assert_int_equal(accounts_of(f, CLOCK)->reasons[REASON_NO_ROOM], 2);
	assert_int_equal(accounts_of(f, OFF_CPU)->reasons[REASON_NO_ROOM], 0);
	assert_int_equal(f->counting.parts[CLOCK], 2);
	/* No event counts a clock: the time is still accounted for. */
	f->counting.clock = -1;
	counting_put_unsampled(&f->counting, NULL, &f->record.head, 0);
	assert_int_equal(f->counting.unsampled_lost_ns, 900ULL << UNSAMPLED_SHIFT);
	assert_int_equal(accounts_of(f, CLOCK)->reasons[REASON_NO_ROOM], 2);
}

/* It left on one CPU and returned on another, whose clock differs. */
static void waits_of_a_thread_do_not_overlap(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(come_back(f, 1000 * MS, 20 * MS), 1);
	assert_int_equal(f->seen[0].from_ns, 980 * MS);
	assert_int_equal(come_back(f, 1005 * MS, 6 * MS), 1);
	assert_int_equal(f->seen[0].from_ns, 1000 * MS);
	assert_int_equal(f->seen[0].period, 6 * MS);
	assert_int_equal(come_back(f, 1004 * MS, 2 * MS), 1);
	assert_int_equal(f->seen[0].from_ns, 1004 * MS);
	assert_int_equal(come_back(f, 1010 * MS, 2 * MS), 1);
	assert_int_equal(f->seen[0].from_ns, 1008 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_lost_wait_has_its_length, setup, teardown),
		cmocka_unit_test_setup_teardown(ticks_of_a_lost_wait_are_lost_samples_of_the_clock,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_no_tick_found_is_a_mark, setup, teardown),
		cmocka_unit_test_setup_teardown(what_no_tick_found_and_finds_no_room_is_lost, setup,
						teardown),
		cmocka_unit_test_setup_teardown(waits_of_a_thread_do_not_overlap, setup, teardown),
	};

	return cmocka_run_group_tests_name("record/samples/counting", tests, NULL, NULL);
}
