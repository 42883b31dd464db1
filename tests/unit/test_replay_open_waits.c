/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_open_waits.c - waits that last beyond the end of a recording: each is counted once, by the kernel side, which
 * still takes the stacks of those that come back, or from outside.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <linux/types.h>
#include <stdint.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "replay_outside.h"
#include "replay_scene.h"
#include "bpf/wait/switch.h"
#include "base/system/clock.h"

/* How many samples there are of the thread as it is seen at the first look, the second, and when the kernel side has ended. */
static __u64 samples(const struct thread_look *first, const struct thread_look *second,
		     const struct thread_look *last, __u64 end_ago_ns)
{
	const struct thread_look *const looks[] = { first, second, last };
	struct replay *r;
	struct script s;
	__u64 cnt;

	script_begin(&s);
	script_look(&s, 0, &python);
	script_sample(&s, 10, &python, "ab");
	r = scene_replay(&s, false);
	cnt = replay_open_waits(r, replay_now_ns() - end_ago_ns, looks);
	replay_free(r);
	script_free(&s);
	return cnt;
}

/* It has been off the CPU since then; it has come to one so often. */
static struct thread_look seen(__u64 since_ns, __u64 runs)
{
	return (struct thread_look){ .thread_start_ns = START_NS,
				     .runs = runs,
				     .since_ns = since_ns,
				     .facts = { .syscall = -1, .task_state = !!since_ns },
				     .pid = PID,
				     .tid = PID };
}

#define SINCE 1000

static void who_sleeps_on_is_read_from_outside(void **state)
{
	const struct thread_look asleep = seen(SINCE, 5), came = seen(SINCE, 6);

	assert_int_equal(samples(&asleep, &asleep, &asleep, 0), 1);
	/* It comes when nobody takes its stack any more. */
	assert_int_equal(samples(&asleep, &asleep, &came, 0), 1);
}

/* Before its stack was read, while it was, and after that. */
static void who_comes_back_in_time_is_the_kernels(void **state)
{
	const struct thread_look asleep = seen(SINCE, 5), back = seen(0, 6);

	assert_int_equal(samples(&back, &back, &back, 0), 0);
	assert_int_equal(samples(&asleep, &back, &back, 0), 0);
	assert_int_equal(samples(&asleep, &asleep, &back, 0), 0);
	/* To end. */
	assert_int_equal(samples(&asleep, NULL, NULL, 0), 0);
	assert_int_equal(samples(&asleep, &asleep, NULL, 0), 0);
}

/* It has run, and the kernel side has not seen it, or not in time: its wait counts, as lost. */
static void who_comes_back_unseen_is_not_forgotten(void **state)
{
	const struct thread_look asleep = seen(SINCE, 5), came = seen(SINCE, 6);

	assert_int_equal(samples(&asleep, &came, &came, 0), 1);
	assert_int_equal(samples(&asleep, NULL, NULL, SWITCH_GRACE_NS + NS_PER_SEC), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_sleeps_on_is_read_from_outside),
		cmocka_unit_test(who_comes_back_in_time_is_the_kernels),
		cmocka_unit_test(who_comes_back_unseen_is_not_forgotten),
	};

	return cmocka_run_group_tests_name("record/run/open_waits", tests, scene_setup,
					   scene_teardown);
}
