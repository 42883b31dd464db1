/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "profile/profile.h"
#include "replay_scene.h"

struct program old, new;
const struct actor python = { .pid = PID, .start_ns = START_NS, .comm = "old", .program = &old };

int scene_setup(void **state)
{
	program_make(&old, "");
	program_make(&new, "N");
	return 0;
}

int scene_teardown(void **state)
{
	program_drop(&old);
	program_drop(&new);
	return 0;
}

struct replay *scene_replay(struct script *s, bool all)
{
	struct replay *r;

	script_end(s, 60000);
	r = replay_new(s->log, s->size, all);
	if (!all)
		replay_follow(r, PID);
	replay_run(r);
	return r;
}

__u64 scene_accounted(struct replay *r)
{
	const struct accounts *accounts = &profile__counts(replay_profile(r), 0)->accounts;
	__u64 sum = accounts->unwanted;

	for (unsigned i = 0; i < REASON_CNT; i++)
		sum += accounts->reasons[i];
	return sum;
}

char *scene_stacks(struct replay *r)
{
	static const char file[] = " (p.py)";
	static char text[4096];
	char *at;

	snprintf(text, sizeof(text), "%s", replay_folded(r));
	while ((at = strstr(text, file)))
		memmove(at, at + strlen(file), strlen(at + strlen(file)) + 1);
	return text;
}

const char *scene_refused(struct replay *r)
{
	static char text[4096];
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_non_null(out);
	text[0] = '\0';
	replay_print_refused(r, out);
	fclose(out);
	return text;
}

void scene_expect(struct script *s, bool all, const char *folded, __u64 ring_full)
{
	struct replay *r = scene_replay(s, all);

	if (folded)
		assert_string_equal(scene_stacks(r), folded);
	assert_int_equal(scene_accounted(r), s->sample_cnt + ring_full);
	replay_free(r);
	script_free(s);
}
