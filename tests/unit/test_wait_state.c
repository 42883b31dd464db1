/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_wait_state.c - what a thread waited for, derived from the kernel's facts; anything that does
 * not follow from them is unknown. Also the words for states.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "record/samples/wait_state.h"

#define INTERRUPTIBLE 1
#define UNINTERRUPTIBLE 2

static struct wait_facts in_call(int number, __u64 first, __u16 mode)
{
	return (struct wait_facts){ .length_ns = 1000,
				    .syscall = number,
				    .args = { first, 1, 0 },
				    .task_state = INTERRUPTIBLE,
				    .file_mode = mode,
				    .flags = WAIT_HAS_SYSCALL };
}

static void assert_says(const struct wait_facts *w, enum state state, const char *want)
{
	char text[WAIT_TEXT_SIZE];

	wait_text(text, w);
	assert_string_equal(text, want);
	assert_int_equal(wait_state(w), state);
}

static void a_system_call_says_what_it_waits_for(void **state)
{
	struct wait_facts w = in_call(SYS_read, 3, S_IFIFO | 0600);

	assert_says(&w, STATE_IO, "[io: read pipe]");
	w = in_call(SYS_recvfrom, 3, S_IFSOCK);
	assert_says(&w, STATE_IO, "[io: recvfrom socket]");
	/* An anonymous file is of no kind, and neither is an invalid descriptor. */
	w = in_call(SYS_read, 3, 0600);
	assert_says(&w, STATE_IO, "[io: read]");
	w = in_call(SYS_wait4, 3, S_IFREG);
	assert_says(&w, STATE_IO, "[io: wait4]");
	w = in_call(SYS_clock_nanosleep, 1, 0);
	assert_says(&w, STATE_SLEEP, "[sleep]");
	w = in_call(SYS_mmap, 0, 0);
	assert_says(&w, STATE_FAULT, "[fault: mmap]");
}

static void a_futex_is_the_gils_or_a_lock(void **state)
{
	struct wait_facts w = in_call(SYS_futex, 0x1000, 0);

	assert_says(&w, STATE_LOCK, "[lock]");
	w.flags |= WAIT_GIL;
	assert_says(&w, STATE_GIL, "[gil]");
}

/* Whatever it was in when it was frozen. Who was stopped by a signal counts as frozen for the kernel, too. */
static void a_frozen_thread_is_stopped(void **state)
{
	struct wait_facts w = in_call(-1, 0, 0);

	assert_says(&w, STATE_FAULT, "[fault]");
	w.flags |= WAIT_FROZEN;
	assert_says(&w, STATE_STOPPED, "[stopped: frozen]");
	w = in_call(SYS_clock_nanosleep, 1, 0);
	w.flags |= WAIT_FROZEN;
	assert_says(&w, STATE_STOPPED, "[stopped: frozen]");
	w.task_state = 4;
	assert_says(&w, STATE_STOPPED, "[stopped]");
	w.task_state = TASK_STATE_UNKNOWN;
	assert_says(&w, STATE_STOPPED, "[stopped]");
	w = in_call(-1, 0, 0);
	w.task_state = 0x8000;
	assert_says(&w, STATE_STOPPED, "[stopped: frozen]");
	w.task_state = 0;
	w.flags |= WAIT_FROZEN;
	assert_says(&w, STATE_RUNNABLE, "[runnable]");
}

static void free_threaded_builds_have_waits_of_their_own(void **state)
{
	struct wait_facts w = in_call(SYS_futex, 0x1000, 0);

	w.flags |= WAIT_WORLD;
	assert_says(&w, STATE_WORLD, "[stop-the-world]");
	w = in_call(SYS_futex, 0x1000, 0);
	w.flags |= WAIT_SECTION;
	assert_says(&w, STATE_SECTION, "[critical-section]");
	/* A futex wait has nothing to do with reading from a socket. */
	w = in_call(SYS_recvfrom, 3, S_IFSOCK);
	w.flags |= WAIT_SECTION | WAIT_WORLD;
	assert_says(&w, STATE_IO, "[io: recvfrom socket]");
}

static void select_of_nothing_is_sleep(void **state)
{
	struct wait_facts w = in_call(SYS_pselect6, 0, 0);

	assert_says(&w, STATE_SLEEP, "[sleep]");
	w = in_call(SYS_pselect6, 5, 0);
	assert_says(&w, STATE_IO, "[io: pselect6]");
	w = in_call(SYS_ppoll, 0, 0);
	assert_says(&w, STATE_IO, "[io: ppoll]");
	w.args[1] = 0;
	assert_says(&w, STATE_SLEEP, "[sleep]");
}

static void outside_of_system_calls(void **state)
{
	struct wait_facts w = in_call(-1, 0, 0);

	w.task_state = UNINTERRUPTIBLE;
	assert_says(&w, STATE_FAULT, "[fault]");
	w.task_state = 0;
	assert_says(&w, STATE_RUNNABLE, "[runnable]");
	w.task_state = 8;
	assert_says(&w, STATE_STOPPED, "[stopped]");
}

static void what_does_not_follow_is_unknown(void **state)
{
	struct wait_facts w = in_call(-1, 0, 0);

	w.flags = 0; /* nobody could read the registers */
	assert_says(&w, STATE_WAITING, "[waiting]");
	w = in_call(99999, 0, 0);
	assert_says(&w, STATE_WAITING, "[waiting: system call 99999]");
	/* Its wait began before anybody looked. */
	w = in_call(-1, 0, 0);
	w.task_state = 0xffff;
	assert_says(&w, STATE_WAITING, "[waiting]");
	w = in_call(SYS_read, 0, S_IFCHR);
	w.task_state = 0xffff;
	assert_says(&w, STATE_IO, "[io: read device]");
}

static void both_parts_are_right_on_average(void **state)
{
	static const __u64 delays[] = { 0, 10, 500, 930, 999, 1000 };
	struct wait_facts w = in_call(SYS_read, 3, 0);

	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		double runnable = 0;

		w.runnable_ns = delays[i];
		for (__u32 k = 0; k < 4096; k++) {
			struct wait_parts p = wait_split(&w, 1 << 20, k << 20);

			assert_int_equal(p.waited_ns + p.runnable_ns, 1 << 20);
			runnable += (double)p.runnable_ns / 4096;
		}
		assert_true(runnable >= (double)(delays[i] << 20) / 1000 * 0.99 - 64 &&
			    runnable <= (double)(delays[i] << 20) / 1000 * 1.01 + 64);
	}
	w.task_state = 0;
	assert_int_equal(wait_split(&w, 77, 0).runnable_ns, 77);
	assert_int_equal(wait_split(&w, 77, 0).waited_ns, 0);
}

static void every_state_has_a_word_of_its_own(void **state)
{
	__u64 on, off, set;

	for (int i = STATE_UNKNOWN + 1; i < STATE_CNT; i++) {
		assert_int_equal(states_parse(&set, state_name(i)), 0);
		for (__u32 k = 0; k < STATE_CNT; k++)
			assert_int_equal(states_has(set, k | STATE_HOLDS_GIL), k == (__u32)i);
	}
	assert_int_equal(states_parse(&on, "on"), 0);
	assert_int_equal(states_parse(&off, "off"), 0);
	for (__u32 k = STATE_UNKNOWN + 1; k < STATE_CNT; k++)
		assert_int_equal(states_has(on, k) + states_has(off, k), 1);
	assert_int_equal(states_parse(&set, "gc,lock"), 0);
	assert_true(states_has(set, STATE_PYTHON | STATE_GC) && states_has(set, STATE_LOCK));
	assert_false(states_has(set, STATE_PYTHON) || states_has(set, STATE_UNKNOWN));
	assert_int_equal(states_parse(&set, "exception"), 0);
	assert_true(states_has(set, STATE_NATIVE | STATE_EXCEPTION));
	assert_false(states_has(set, STATE_NATIVE | STATE_GC | STATE_STILL_WAITS));
	assert_false(states_has_off(set) || states_has_off(on));
	assert_true(states_has_off(off));
	assert_int_equal(states_parse(&set, "python,lock"), 0);
	assert_true(states_has_off(set));
	assert_int_equal(states_parse(&set, ""), -22);
	assert_int_equal(states_parse(&set, "gil,"), -22);
	assert_int_equal(states_parse(&set, "gi"), -22);
	assert_int_equal(state_of(0xffffffff), STATE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_system_call_says_what_it_waits_for),
		cmocka_unit_test(a_futex_is_the_gils_or_a_lock),
		cmocka_unit_test(a_frozen_thread_is_stopped),
		cmocka_unit_test(free_threaded_builds_have_waits_of_their_own),
		cmocka_unit_test(select_of_nothing_is_sleep),
		cmocka_unit_test(outside_of_system_calls),
		cmocka_unit_test(what_does_not_follow_is_unknown),
		cmocka_unit_test(both_parts_are_right_on_average),
		cmocka_unit_test(every_state_has_a_word_of_its_own),
	};

	return cmocka_run_group_tests_name("record/samples/wait_state", tests, NULL, NULL);
}
