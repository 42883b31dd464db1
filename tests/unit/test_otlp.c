/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_otlp.c - a window as an OTLP body: read back, it contains what was sampled.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <linux/types.h>
#include <cmocka.h>

#include "support_otlp.h"
#include "support_profile.h"

static void sums_are_those_of_the_window(void **state)
{
	struct profile *p = otlp_profile_new();
	struct window w;
	Request *r;
	__u32 at = 0;

	window__begin(&w, p, BEGAN_NS);
	for (unsigned i = 0; i < 5; i++)
		otlp_tick(&w, otlp_stack(p, 7, 7, "a", 11), 7, i, PERIOD_NS);
	otlp_tick(&w, otlp_stack(p, 7, 7, "b", 11), 7, 9, PERIOD_NS);
	otlp_tick(&w, otlp_stack(p, 8, 8, "a", 11), 8, 9, PERIOD_NS);
	otlp_wait(&w, otlp_stack(p, 8, 8, "a", 11), 8, STATE_IO, 300);
	otlp_wait(&w, otlp_stack(p, 8, 8, "a", 11), 8, STATE_LOCK, 40);
	otlp_wait(&w, otlp_stack(p, 8, 8, "a", 11), 8, STATE_GIL, 5);
	otlp_window_end(&w);
	r = otlp_request(&w, &at, 1 << 20);
	assert_int_equal(at, w.samples.cnt);
	assert_int_equal(otlp_sum(r, "samples", "a").ticks, 6);
	assert_int_equal(otlp_sum(r, "samples", "a").weight, 6 * PERIOD_NS);
	/* One per process: all times of a stack are in one sample. */
	assert_int_equal(otlp_sum(r, "samples", "a").samples, 2);
	assert_int_equal(otlp_sum(r, "samples", "b").ticks, 1);
	assert_int_equal(otlp_sum(r, "off_cpu", NULL).weight, 340);
	/* Waits for different things are separate samples. */
	assert_int_equal(otlp_sum(r, "off_cpu", NULL).samples, 2);
	assert_int_equal(otlp_sum(r, "gil_wait", NULL).weight, 5);
	assert_int_equal(r->n_resource_profiles, 2);
	otlp_request_free(r);
	window__end(&w);
	profile__free(p);
}

/* Entry 0 of each table is the zero value; entries shared by processes exist once. */
static void the_dictionary_is_shared(void **state)
{
	struct profile *p = otlp_profile_new();
	const Krait__Otlp__ProfilesDictionary *d;
	struct window w;
	Request *r;
	__u32 at = 0;

	window__begin(&w, p, BEGAN_NS);
	for (int pid = 1; pid <= 50; pid++)
		otlp_tick(&w, otlp_stack(p, pid, pid, "a", 11), pid, 1, PERIOD_NS);
	otlp_window_end(&w);
	r = otlp_request(&w, &at, 1 << 20);
	d = r->dictionary;
	assert_int_equal(d->n_stack_table, 2);
	assert_int_equal(d->n_location_table, 3);
	assert_int_equal(d->n_function_table, 3);
	assert_int_equal(d->n_mapping_table, 1);
	assert_int_equal(d->n_link_table, 1);
	assert_string_equal(d->string_table[0], "");
	assert_int_equal(krait__otlp__link__get_packed_size(d->link_table[0]), 0);
	assert_int_equal(krait__otlp__stack__get_packed_size(d->stack_table[0]), 0);
	assert_int_equal(krait__otlp__key_value_and_unit__get_packed_size(d->attribute_table[0]),
			 0);
	assert_int_equal(r->n_resource_profiles, 50);
	for (size_t i = 1; i < d->n_string_table; i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(d->string_table[i], d->string_table[k]);
	}
	otlp_request_free(r);
	window__end(&w);
	profile__free(p);
}

/*
 * Frames of the dictionary that differ only in the column are one line here, and their samples are
 * one sample.
 */
static void what_no_line_tells_apart_is_one_sample(void **state)
{
	struct profile *p = otlp_profile_new();
	struct profile_frame f = { .kind = FRAME_PYTHON, .line = 5, .first_line = 1, .code = 0 };
	__u32 root = otlp_stack(p, 7, 7, "a", 11), at = 0;
	struct window w;
	Request *r;

	f.name = dict__string(p->dict, "leaf");
	window__begin(&w, p, BEGAN_NS);
	for (int column = 1; column <= 3; column++) {
		f.column = column;
		otlp_tick(&w, push(p, root, dict__frame(p->dict, &f)), 7, (unsigned)column,
			  PERIOD_NS);
	}
	otlp_window_end(&w);
	r = otlp_request(&w, &at, 1 << 20);
	assert_int_equal(otlp_sum(r, "samples", "leaf").samples, 1);
	assert_int_equal(otlp_sum(r, "samples", "leaf").ticks, 3);
	otlp_request_free(r);
	window__end(&w);
	profile__free(p);
}

static void another_rate_is_another_profile(void **state)
{
	struct profile *p = otlp_profile_new();
	struct window w;
	Request *r;
	__u32 at = 0;

	window__begin(&w, p, BEGAN_NS);
	otlp_tick(&w, otlp_stack(p, 7, 7, "a", 11), 7, 1, PERIOD_NS);
	otlp_tick(&w, otlp_stack(p, 7, 7, "a", 11), 7, 2, 2 * PERIOD_NS);
	otlp_window_end(&w);
	r = otlp_request(&w, &at, 1 << 20);
	assert_int_equal(r->n_resource_profiles, 1);
	assert_int_equal(r->resource_profiles[0]->scope_profiles[0]->n_profiles, 2);
	assert_int_equal(otlp_sum(r, "samples", "a").weight, 3 * PERIOD_NS);
	assert_memory_not_equal(
		r->resource_profiles[0]->scope_profiles[0]->profiles[0]->profile_id.data,
		r->resource_profiles[0]->scope_profiles[0]->profiles[1]->profile_id.data,
		OTLP_ID_SIZE);
	otlp_request_free(r);
	window__end(&w);
	profile__free(p);
}

/* Protobuf's strings are UTF-8: protoc and the Collector refuse bodies with others. */
static void names_are_harmless(void **state)
{
	struct profile *p = otlp_profile_new();
	struct window w;
	Request *r;
	__u32 at = 0;

	window__begin(&w, p, BEGAN_NS);
	otlp_tick(&w, otlp_stack(p, 7, 7, "\xff\xfe\n\033[31m", 11), 7, 1, PERIOD_NS);
	otlp_window_end(&w);
	r = otlp_request(&w, &at, 1 << 20);
	assert_int_equal(otlp_sum(r, "samples", "\\xff\\xfe\\n\\x1b[31m").ticks, 1);
	otlp_request_free(r);
	window__end(&w);
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_of_the_window),
		cmocka_unit_test(the_dictionary_is_shared),
		cmocka_unit_test(what_no_line_tells_apart_is_one_sample),
		cmocka_unit_test(another_rate_is_another_profile),
		cmocka_unit_test(names_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
