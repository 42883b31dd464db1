/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_firefox_markers.c - waits in formats written thread by thread: as markers of a Firefox
 * profile whichever event is shown, and as separate profiles for speedscope.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "profile/states.h"
#include "support_profile.h"

#define MS 1000000ULL

static const struct emit_options options = { .title = "krait" };

struct stacks {
	struct profile *profile;
	__u32 work, wait;
};

static struct stacks two_stacks(void)
{
	struct profile *p = profile__new();
	__u32 thread =
		push(p, push(p, 0, add_process(p, "python3", 7)), add_thread(p, "main", 7, 7));
	__u32 root = push(p, thread, add_function(p, "<module>", "/app/a.py", 1, 9));
	struct event_spec off;

	event_off_cpu(&off, MS);
	assert_int_equal(profile__set_event(p, 1, &off), 0);
	return (struct stacks){ p, push(p, root, add_function(p, "work", "/app/a.py", 3, 4)),
				push(p, root, add_mark(p, "[io: read pipe]")) };
}

/* Work up to 1 ms, a wait from 1 to 5, work up to 6. The caller frees the text. */
static char *emit(const char *format, struct profile *shown, const struct stacks *s, unsigned event,
		  bool joined)
{
	const struct emitter_ops *ops = format_by_name(format);
	struct profile_sample samples[] = {
		{ .time_ns = 101 * MS, .period = MS, .node = s->work, .state = STATE_PYTHON },
		{ .time_ns = 105 * MS,
		  .from_ns = 101 * MS,
		  .period = 4 * MS,
		  .node = s->wait,
		  .state = STATE_IO | STATE_HOLDS_GIL,
		  .event = 1 },
		{ .time_ns = 106 * MS, .period = MS, .node = s->work, .state = STATE_PYTHON },
	};
	struct emitter *e;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(ops->open(&e, out, &options), 0);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		samples[i].pid = samples[i].tid = 7;
		samples[i].comm = "main";
		if (shown == s->profile)
			profile__count_state(shown, samples[i].event, samples[i].node,
					     samples[i].period, samples[i].state);
		if (joined)
			samples[i].event = 0;
		assert_int_equal(ops->sample(e, shown, &samples[i]), 0);
	}
	assert_int_equal(ops->finish(e, shown, event), 0);
	ops->free(e);
	fclose(out);
	return text;
}

static void assert_has(const char *text, const char *want)
{
	if (!strstr(text, want))
		fail_msg("no %s in %s", want, text);
}

static void a_wait_is_a_marker(void **state)
{
	const struct stacks s = two_stacks();
	char *text = emit("firefox", s.profile, &s, 0, false);

	assert_has(text, "\"startTime\":[0.000000],\"endTime\":[4.000000],\"phase\":[1]");
	assert_has(text, "{\"type\":\"wait\",\"what\":\"[io: read pipe]\",\"cause\":{");
	assert_has(text, "\"weight\":null,\"weightType\":\"samples\",\"length\":2");
	assert_has(text, "\"name\":\"Waits for I/O\",\"color\":\"lightblue\"");
	free(text);
	profile__free(s.profile);
}

/* If waits are shown, they are also samples, weighted by their milliseconds. */
static void waits_are_weighed_in_milliseconds(void **state)
{
	const struct stacks s = two_stacks();
	char *text = emit("firefox", s.profile, &s, 1, false);

	assert_has(text, "\"weight\":[4.000000],\"weightType\":\"tracing-ms\",\"length\":1");
	assert_has(text, "\"endTime\":[4.000000]");
	free(text);
	profile__free(s.profile);
}

static void speedscope_has_a_profile_for_each_time(void **state)
{
	const struct stacks s = two_stacks();
	char *text = emit("speedscope", s.profile, &s, 0, false);

	assert_has(text, "\"name\":\"Thread 7 \\\"main\\\", CPU\",\"unit\":\"nanoseconds\"");
	assert_has(text, "\"weights\":[2000000],\"startValue\":0,\"endValue\":2000000");
	assert_has(text, "\"name\":\"Thread 7 \\\"main\\\", waiting\",\"unit\":\"nanoseconds\"");
	assert_has(text, "\"weights\":[4000000],\"startValue\":0,\"endValue\":4000000");
	assert_has(text, "\"activeProfileIndex\":0");
	free(text);
	profile__free(s.profile);
}

static void their_sum_is_one_profile(void **state)
{
	const struct stacks s = two_stacks();
	struct profile *wall;
	char *text;

	profile__count_state(s.profile, 0, s.work, 2 * MS, STATE_PYTHON);
	profile__count_state(s.profile, 1, s.wait, 4 * MS, STATE_IO);
	assert_int_equal(profile__new_wall(&wall, s.profile), 0);
	text = emit("speedscope", wall, &s, 0, true);
	assert_has(text,
		   "\"weights\":[1000000,4000000,1000000],\"startValue\":0,\"endValue\":6000000");
	assert_null(strstr(text, "waiting"));
	free(text);
	text = emit("firefox", wall, &s, 0, true);
	assert_has(text, "\"weight\":[1.000000,4.000000,1.000000],\"weightType\":\"tracing-ms\"");
	assert_has(text, "\"startTime\":[0.000000],\"endTime\":[4.000000]");
	free(text);
	profile__free(wall);
	profile__free(s.profile);
}

static void marks_tell_states(void **state)
{
	assert_int_equal(state_of_mark("[gil]"), STATE_GIL);
	assert_int_equal(state_of_mark("[io: recvfrom socket]"), STATE_IO);
	assert_int_equal(state_of_mark("[waiting]"), STATE_WAITING);
	assert_int_equal(state_of_mark("[gila]"), STATE_UNKNOWN);
	assert_int_equal(state_of_mark("[python]"), STATE_UNKNOWN);
	assert_int_equal(state_of_mark("gil"), STATE_UNKNOWN);
	assert_int_equal(state_of_mark("["), STATE_UNKNOWN);
	assert_int_equal(state_of_mark(""), STATE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_a_marker),
		cmocka_unit_test(waits_are_weighed_in_milliseconds),
		cmocka_unit_test(speedscope_has_a_profile_for_each_time),
		cmocka_unit_test(their_sum_is_one_profile),
		cmocka_unit_test(marks_tell_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
