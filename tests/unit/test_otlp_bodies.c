/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_otlp_bodies.c - how many bodies a window becomes, how large they are, and what identifies them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <linux/types.h>
#include <cmocka.h>

#include "agent/export/deflate.h"
#include "support_otlp.h"

/* Returns the gzip'ed size, as sent, for so many processes with a sample each. */
static size_t sent_bytes(unsigned processes)
{
	struct profile *p = otlp_profile_new();
	const struct otlp_options options = { .resource = otlp_resource,
					      .resource_ctx = &(unsigned){ 0 },
					      .bytes_max = 1 << 20 };
	cleanup_bytes struct bytes packed = { 0 };
	struct otlp_body body;
	struct window w;
	__u32 at = 0;

	window__begin(&w, p, BEGAN_NS);
	for (unsigned i = 0; i < processes; i++) {
		int pid = 1000 + 7 * (int)i;

		otlp_tick(&w, otlp_stack(p, pid, pid, "a", 11), pid, i * 2654435761U, PERIOD_NS);
	}
	otlp_window_end(&w);
	assert_int_equal(otlp_encode(&body, &w, &at, &options), 0);
	assert_int_equal(body.profiles, processes);
	assert_int_equal(deflate_gzip(&packed, body.bytes.data, body.bytes.len), 0);
	bytes_free(&body.bytes);
	window__end(&w);
	profile__free(p);
	return packed.len;
}

/*
 * Only a sample's time is random; what else a process adds is its number and its differences from
 * the previous one.
 */
static void a_process_more_takes_few_bytes(void **state)
{
	assert_in_range((sent_bytes(201) - sent_bytes(1)) / 200, 8, 24);
}

struct ids {
	__u8 list[1000][OTLP_ID_SIZE];
	unsigned cnt;
};

/* None of them was met before. */
static void take_ids(struct ids *ids, const Request *r)
{
	for (size_t i = 0; i < r->n_resource_profiles; i++) {
		const Krait__Otlp__ScopeProfiles *s = r->resource_profiles[i]->scope_profiles[0];

		for (size_t j = 0; j < s->n_profiles; j++) {
			assert_int_equal(s->profiles[j]->profile_id.len, OTLP_ID_SIZE);
			assert_true(ids->cnt < 1000);
			for (unsigned k = 0; k < ids->cnt; k++)
				assert_memory_not_equal(ids->list[k],
							s->profiles[j]->profile_id.data,
							OTLP_ID_SIZE);
			memcpy(ids->list[ids->cnt++], s->profiles[j]->profile_id.data,
			       OTLP_ID_SIZE);
		}
	}
}

/* As many bodies as needed; each sample is in exactly one, and each body is complete in itself. */
static void a_large_window_is_several_bodies(void **state)
{
	struct profile *p = otlp_profile_new();
	__u32 at = 0, before = 0, bodies = 0;
	__u64 ticks = 0;
	struct ids ids = { .cnt = 0 };
	struct window w;
	char name[32];

	window__begin(&w, p, BEGAN_NS);
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		otlp_tick(&w, otlp_stack(p, 1 + (int)i % 3, 1, name, 11), 1 + (int)i % 3, i,
			  PERIOD_NS);
	}
	otlp_window_end(&w);
	for (; at < w.samples.cnt; bodies++) {
		Request *r = otlp_request(&w, &at, 20000);

		assert_true(at > before);
		before = at;
		ticks += otlp_sum(r, "samples", NULL).ticks;
		take_ids(&ids, r);
		/* The limit, and what the last sample has brought. */
		assert_true(krait__otlp__export_profiles_service_request__get_packed_size(r) <
			    22000);
		otlp_request_free(r);
	}
	assert_int_equal(ticks, 3000);
	assert_in_range(bodies, 8, 40);
	window__end(&w);
	profile__free(p);
}

/* Its accounts are reported, and it does not look like a missing one. */
static void an_empty_window_counts_itself(void **state)
{
	struct profile *p = otlp_profile_new();
	const struct otlp_attribute name = { .key = "service.name",
					     .kind = OTLP_TEXT,
					     .text = "k" };
	const struct otlp_attribute number = { .key = "krait.window.number",
					       .kind = OTLP_NUMBER,
					       .number = 7 };
	const struct otlp_attributes resource = { &name, 1 };
	const struct otlp_options options = { .profile = { &number, 1 }, .bytes_max = 1 << 20 };
	const Krait__Otlp__Profile *profile;
	struct otlp_body body;
	struct window w;
	Request *r;

	window__begin(&w, p, BEGAN_NS);
	otlp_window_end(&w);
	assert_int_equal(otlp_encode_empty(&body, &w, &resource, &options), 0);
	r = krait__otlp__export_profiles_service_request__unpack(NULL, body.bytes.len,
								 body.bytes.data);
	assert_non_null(r);
	profile = r->resource_profiles[0]->scope_profiles[0]->profiles[0];
	assert_int_equal(body.samples, 0);
	assert_int_equal(profile->n_samples, 1);
	assert_int_equal(profile->samples[0]->n_values, 1);
	assert_int_equal(profile->samples[0]->values[0], 1);
	assert_int_equal(profile->samples[0]->stack_index, 0);
	assert_string_equal(r->dictionary->string_table[profile->sample_type->type_strindex],
			    "windows");
	assert_null(profile->period_type);
	assert_int_equal(profile->n_attribute_indices, 1);
	assert_int_equal(profile->duration_nano, w.to_ns - w.from_ns);
	assert_memory_equal(body.id, profile->profile_id.data, OTLP_ID_SIZE);
	otlp_request_free(r);
	bytes_free(&body.bytes);
	window__end(&w);
	profile__free(p);
}

/* Ids change when the dictionary forgets: an open window follows. */
static void a_window_outlives_what_is_forgotten(void **state)
{
	struct profile *p = otlp_profile_new();
	__u32 kept, at = 0;
	struct window w;
	Request *r;

	window__begin(&w, p, BEGAN_NS);
	for (int i = 0; i < 100; i++)
		otlp_stack(p, 9, 9, "forgotten", i);
	kept = otlp_stack(p, 7, 7, "kept", 11);
	otlp_tick(&w, kept, 7, 1, PERIOD_NS);
	assert_int_equal(dict__forget(p->dict), 0);
	assert_int_not_equal(w.samples.list[0].node, kept);
	otlp_window_end(&w);
	r = otlp_request(&w, &at, 1 << 20);
	assert_int_equal(otlp_sum(r, "samples", "kept").ticks, 1);
	otlp_request_free(r);
	window__end(&w);
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_more_takes_few_bytes),
		cmocka_unit_test(a_large_window_is_several_bodies),
		cmocka_unit_test(an_empty_window_counts_itself),
		cmocka_unit_test(a_window_outlives_what_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
