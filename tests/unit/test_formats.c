/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_formats.c - speedscope, Firefox Profiler, callgrind, pprof: fixed texts for a small profile,
 * and sums that must hold for all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "output/formats/pprof.pb-c.h"
#include "profile/frames.h"
#include "profile/states.h"
#include "support_profile.h"

static const struct emit_options options = { .title = "krait",
					     .recording.command_line = "krait record" };

/* A few samples of two threads; names with characters that JSON and markup use. */
static struct profile *tiny_profile(void)
{
	struct profile *p = profile__new();
	__u32 process = push(p, 0, add_process(p, "python3", 7));
	__u32 thread = push(p, process, add_thread(p, "main", 4711, 4712));
	__u32 node = push(p, thread, add_function(p, "<module>", "/app/a \"b\".py", 1, 9));

	add_samples(p, push(p, node, add_function(p, "</script>\n", "/app/c.py", 3, 4)), 2);
	add_samples(p, push(p, node, add_function(p, "</script>\n", "/app/c.py", 3, 5)), 1);
	add_samples(p, push(p, thread, add_mark(p, "[native thread]")), 1);
	return p;
}

static void speedscope_is_as_expected(void **state)
{
	struct profile *p = tiny_profile();
	char *text = emit_text("speedscope", p, &options);

	assert_golden("tiny.speedscope.json", text);
	free(text);
	profile__free(p);
}

/* All are in one list in which users look for a program. */
static void speedscope_names_programs_where_there_are_several_processes(void **state)
{
	const struct emitter_ops *ops = format_by_name("speedscope");
	struct profile *p = profile__new();
	struct profile_sample s = { .period = 1000, .cpu = 1, .comm = "python3" };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct emitter *e = NULL;

	assert_int_equal(ops->open(&e, out, &options), 0);
	for (s.pid = 20; s.pid <= 40; s.pid += 10) {
		const char *program = s.pid == 20 ? "python3 [\"shop\".py]" : "celery";
		__u32 node = s.pid < 40 ? push(p, 0, add_process(p, program, s.pid)) : 0;

		s.tid = s.pid + 1;
		s.node = push(p, node, add_function(p, "f", "/srv/a.py", 1, 2));
		s.time_ns += s.period;
		add_samples(p, s.node, 1);
		assert_int_equal(ops->sample(e, p, &s), 0);
	}
	assert_int_equal(ops->finish(e, p, 0), 0);
	ops->free(e);
	assert_int_equal(fclose(out), 0);
	assert_non_null(
		strstr(text, "\"python3 [\\\"shop\\\".py] Process 20 Thread 21 \\\"python3\\\"\""));
	assert_non_null(strstr(text, "\"celery Process 30 Thread 31 \\\"python3\\\"\""));
	assert_non_null(strstr(text, "\"Process 40 Thread 41 \\\"python3\\\"\""));
	free(text);
	profile__free(p);
}

static void callgrind_is_as_expected(void **state)
{
	struct profile *p = tiny_profile();
	char *text = emit_text("callgrind", p, &options);

	assert_golden("tiny.callgrind", text);
	free(text);
	profile__free(p);
}

static unsigned long occurrences(const char *text, const char *what)
{
	unsigned long cnt = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		cnt++;
	return cnt;
}

/* The start time is the machine's, so the text varies. */
static void firefox_has_every_name_once(void **state)
{
	struct profile *p = tiny_profile();
	char *text = emit_text("firefox", p, &options);

	assert_int_equal(occurrences(text, "\\u003c/script\\u003e\\\\n"), 1);
	assert_int_equal(occurrences(text, "\\u003cmodule\\u003e"), 1);
	assert_int_equal(occurrences(text, "</script>"), 0);
	assert_non_null(strstr(text, "\"preprocessedProfileVersion\":61"));
	assert_non_null(strstr(text, "\"weightType\":\"samples\",\"length\":4"));
	free(text);
	profile__free(p);
}

static Krait__Pprof__Profile *unpack(const struct profile *p)
{
	const struct emitter_ops *ops = format_by_name("pprof");
	static __u8 plain[8 << 20];
	z_stream zip = { 0 };
	struct emitter *e;
	char *packed = NULL;
	size_t size;
	FILE *out = open_memstream(&packed, &size);
	Krait__Pprof__Profile *profile;

	assert_int_equal(ops->open(&e, out, &options), 0);
	assert_int_equal(ops->finish(e, p, 0), 0);
	ops->free(e);
	fclose(out);
	assert_int_equal(inflateInit2(&zip, 15 + 16), Z_OK);
	zip.next_in = (void *)packed;
	zip.avail_in = (unsigned)size;
	zip.next_out = plain;
	zip.avail_out = sizeof(plain);
	assert_int_equal(inflate(&zip, Z_FINISH), Z_STREAM_END);
	profile = krait__pprof__profile__unpack(NULL, zip.total_out, plain);
	inflateEnd(&zip);
	free(packed);
	return profile;
}

/* A clock has Go's names; two events have a pair of columns each. */
static void pprof_has_sample_types_for_each_event(void **state)
{
	static const char *const names[] = { "cpu-clock-samples", "cpu-clock", "faults-samples",
					     "faults" };
	static const struct event_spec faults = { .name = "faults", .type = 1, .config = 2 };
	struct profile *p = tiny_profile();
	Krait__Pprof__Profile *profile = unpack(p);
	__s64 sums[4] = { 0 };

	assert_int_equal(profile->n_sample_type, 2);
	assert_string_equal(profile->string_table[profile->sample_type[1]->type], "cpu");
	krait__pprof__profile__free_unpacked(profile, NULL);
	assert_int_equal(profile__set_event(p, 1, &faults), 0);
	profile__count(p, 1, 3, 5);
	profile__count(p, 1, 4, 5);
	profile = unpack(p);
	assert_int_equal(profile->n_sample_type, 4);
	for (int i = 0; i < 4; i++)
		assert_string_equal(profile->string_table[profile->sample_type[i]->type], names[i]);
	assert_string_equal(profile->string_table[profile->sample_type[3]->unit], "count");
	assert_string_equal(profile->string_table[profile->default_sample_type], "cpu-clock");
	for (size_t s = 0; s < profile->n_sample; s++) {
		assert_int_equal(profile->sample[s]->n_value, 4);
		for (int i = 0; i < 4; i++)
			sums[i] += profile->sample[s]->value[i];
	}
	assert_int_equal(sums[0], sample_cnt(p));
	assert_int_equal(sums[1], profile__counts(p, 0)->weight);
	assert_int_equal(sums[2], 2);
	assert_int_equal(sums[3], 10);
	krait__pprof__profile__free_unpacked(profile, NULL);
	profile__free(p);
}

/* Only beside a clock: nanoseconds, and those that wait for the GIL. */
static void pprof_has_time_off_the_cpu(void **state)
{
	static const char *const names[] = { "samples", "cpu", "off-cpu-samples", "off-cpu",
					     "gil-wait" };
	static const char *const units[] = { "count", "nanoseconds", "count", "nanoseconds",
					     "nanoseconds" };
	struct profile *p = tiny_profile();
	const __s64 want[] = { 4, (__s64)profile__counts(p, 0)->weight, 3, 800, 500 };
	Krait__Pprof__Profile *profile;
	struct event_spec off;
	__s64 sums[5] = { 0 };

	event_off_cpu(&off, 1000000);
	assert_int_equal(profile__set_event(p, 1, &off), 0);
	profile__count_state(p, 1, 3, 500, STATE_GIL);
	profile__count_state(p, 1, 3, 200, STATE_LOCK);
	profile__count_state(p, 1, 4, 100, STATE_SLEEP);
	profile = unpack(p);
	assert_int_equal(profile->n_sample_type, 5);
	for (int i = 0; i < 5; i++) {
		const Krait__Pprof__ValueType *type = profile->sample_type[i];

		assert_string_equal(profile->string_table[type->type], names[i]);
		assert_string_equal(profile->string_table[type->unit], units[i]);
	}
	assert_string_equal(profile->string_table[profile->default_sample_type], "cpu");
	for (size_t s = 0; s < profile->n_sample; s++) {
		for (int i = 0; i < 5; i++)
			sums[i] += profile->sample[s]->value[i];
		assert_true(profile->sample[s]->value[4] <= profile->sample[s]->value[3]);
	}
	assert_memory_equal(sums, want, sizeof(want));
	krait__pprof__profile__free_unpacked(profile, NULL);
	profile__free(p);
}

static const char *label_text(const Krait__Pprof__Profile *profile,
			      const Krait__Pprof__Sample *sample, const char *key)
{
	for (size_t i = 0; i < sample->n_label; i++) {
		if (!strcmp(profile->string_table[sample->label[i]->key], key))
			return profile->string_table[sample->label[i]->str];
	}
	return "none";
}

/* Labels say the origin of the leaf's code; a mark has none. */
static void pprof_labels_samples_by_origin(void **state)
{
	static const char numpy[] = "/x/lib/python3.12/site-packages/numpy/_core/a.so";
	static const char *const want[] = { "numpy", "kernel", "none", "numpy" };
	struct profile *p = tiny_profile();
	__u32 at = 3, nodes[4];
	Krait__Pprof__Profile *profile;

	nodes[0] = dict__child(
		p->dict, at,
		frame_native(p->dict, &(struct native_place){ .name = "sort", .path = numpy }));
	nodes[1] = dict__child(p->dict, nodes[0], frame_kernel(p->dict, "read", "[kernel]", 0));
	nodes[2] = dict__child(p->dict, nodes[0], frame_mark(p->dict, "[truncated]"));
	nodes[3] = dict__child(
		p->dict, at,
		frame_native(p->dict, &(struct native_place){ .name = "dot", .path = numpy }));
	for (int i = 0; i < 4; i++)
		profile__count(p, 0, nodes[i], 1);
	profile = unpack(p);
	for (int i = 0; i < 4; i++)
		assert_string_equal(label_text(profile,
					       profile->sample[profile->n_sample - 4 + (size_t)i],
					       "origin"),
				    want[i]);
	krait__pprof__profile__free_unpacked(profile, NULL);
	profile__free(p);
}

static void pprof_refers_to_what_is_there(void **state)
{
	struct profile *profiles[] = { tiny_profile(), small_profile(), hostile_profile(),
				       deep_profile(1500), large_profile(2000) };

	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		Krait__Pprof__Profile *profile = unpack(profiles[i]);
		__u64 sum = 0;

		assert_non_null(profile);
		assert_string_equal(profile->string_table[0], "");
		for (size_t s = 0; s < profile->n_sample; s++) {
			const Krait__Pprof__Sample *sample = profile->sample[s];

			assert_int_equal(sample->n_value, 2);
			sum += (__u64)sample->value[0];
			for (size_t l = 0; l < sample->n_location_id; l++)
				assert_in_range(sample->location_id[l], 1, profile->n_location);
		}
		assert_int_equal(sum, sample_cnt(profiles[i]));
		for (size_t l = 0; l < profile->n_location; l++)
			assert_in_range(profile->location[l]->line[0]->function_id, 1,
					profile->n_function);
		for (size_t f = 0; f < profile->n_function; f++) {
			assert_in_range(profile->function[f]->name, 1, profile->n_string_table - 1);
			assert_in_range(profile->function[f]->filename, 0,
					profile->n_string_table - 1);
		}
		krait__pprof__profile__free_unpacked(profile, NULL);
		profile__free(profiles[i]);
	}
}

/* Self costs: lines of two numbers that do not follow "calls=". */
static void callgrind_costs_add_up(void **state)
{
	struct profile *profiles[] = { small_profile(), hostile_profile(), deep_profile(1500),
				       large_profile(2000) };

	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		char *text = emit_text("callgrind", profiles[i], &options), *rest = text, *line;
		unsigned long long sum = 0, cost, totals = 0;
		bool call = false;
		int at;

		while ((line = strsep(&rest, "\n"))) {
			if (sscanf(line, "%d %llu", &at, &cost) == 2 && !call)
				sum += cost;
			call = !strncmp(line, "calls=", 6);
			sscanf(line, "totals: %llu", &totals);
		}
		assert_int_equal(sum, sample_cnt(profiles[i]));
		assert_int_equal(totals, sum);
		free(text);
		profile__free(profiles[i]);
	}
}

static void assert_guess(const char *path, const char *want)
{
	char *guess = formats_guess(path);

	if (want)
		assert_string_equal(guess, want);
	else
		assert_null(guess);
	free(guess);
}

static void a_mistyped_suffix_finds_its_neighbour(void **state)
{
	assert_guess("x.htlm", ".html");
	assert_guess("/tmp/a.b/X.HTLM", ".html");
	assert_guess("x.dat", ".data");
	assert_guess("x.foldd", ".folded");
	assert_guess("x.pb.gs", ".pb.gz");
}

static void an_ending_of_several_formats_names_them(void **state)
{
	assert_guess("x.json", ".speedscope.json or .firefox.json");
	assert_guess("profile.v2.JSON", ".speedscope.json or .firefox.json");
	assert_guess("x.gz", ".pb.gz");
}

static void what_is_far_from_all_has_no_guess(void **state)
{
	assert_guess("x.ppt", NULL);
	assert_guess("x.unknown", NULL);
	assert_guess("x", NULL);
	assert_guess("", NULL);
	assert_guess("x.", NULL);
	assert_guess("a.htlm/x", NULL);
	assert_string_equal(format_nearest("folder"), "folded");
	assert_null(format_nearest("nonsense"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speedscope_is_as_expected),
		cmocka_unit_test(speedscope_names_programs_where_there_are_several_processes),
		cmocka_unit_test(callgrind_is_as_expected),
		cmocka_unit_test(firefox_has_every_name_once),
		cmocka_unit_test(pprof_refers_to_what_is_there),
		cmocka_unit_test(pprof_labels_samples_by_origin),
		cmocka_unit_test(pprof_has_sample_types_for_each_event),
		cmocka_unit_test(pprof_has_time_off_the_cpu),
		cmocka_unit_test(callgrind_costs_add_up),
		cmocka_unit_test(a_mistyped_suffix_finds_its_neighbour),
		cmocka_unit_test(an_ending_of_several_formats_names_them),
		cmocka_unit_test(what_is_far_from_all_has_no_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
