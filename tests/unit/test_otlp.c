/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_otlp.c - a window as OTLP bodies: read back, they contain what was sampled.
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

#include "emit/otlp.h"
#include "emit/otlp.pb-c.h"
#include "export/deflate.h"
#include "profile/states.h"
#include "support_profile.h"

#define PERIOD_NS 52631578ULL
#define BEGAN_NS 1000000000ULL
#define WALL_NS 1700000000000000000LL

typedef Krait__Otlp__ExportProfilesServiceRequest Request;

/* ---- a window --------------------------------------------------------------------------------- */

static struct profile *new_profile(void)
{
	struct profile *p = profile__new();
	struct event_spec event;

	event_default(&event);
	assert_int_equal(profile__set_event(p, 0, &event), 0);
	event_off_cpu(&event, 0);
	assert_int_equal(profile__set_event(p, 1, &event), 0);
	return p;
}

static __u32 add_stack(struct profile *p, int pid, int tid, const char *leaf, int line)
{
	__u32 node = push(p, 0, add_process(p, "python3", pid));

	node = push(p, node, add_thread(p, "worker", pid, tid));
	node = push(p, node, add_function(p, "main", "m.py", 1, 2));
	return push(p, node, add_function(p, leaf, "m.py", 10, line));
}

static void add_tick(struct window *w, __u32 node, int pid, unsigned n, __u64 period)
{
	const struct profile_sample s = { .time_ns = BEGAN_NS + n * 1000,
					  .period = period,
					  .node = node,
					  .pid = pid,
					  .tid = pid,
					  .image = (__u32)pid };

	window__add(w, &s);
}

static void add_wait(struct window *w, __u32 node, int pid, enum state state, __u64 ns)
{
	const struct profile_sample s = { .time_ns = BEGAN_NS + 500,
					  .period = ns,
					  .node = node,
					  .state = state | STATE_HOLDS_GIL,
					  .event = 1,
					  .pid = pid,
					  .tid = pid,
					  .image = (__u32)pid };

	window__add(w, &s);
}

static void end(struct window *w)
{
	w->to_ns = BEGAN_NS + 10000000000ULL;
	w->wall_offset_ns = WALL_NS;
	window__sort(w);
}

static struct otlp_attributes resource_of(void *ctx, int pid, __u32 image)
{
	static struct otlp_attribute list[2];
	unsigned *calls = ctx;

	list[0] = (struct otlp_attribute){ .key = "service.name", .kind = OTLP_TEXT, .text = "a" };
	list[1] =
		(struct otlp_attribute){ .key = "process.pid", .kind = OTLP_NUMBER, .number = pid };
	++*calls;
	return (struct otlp_attributes){ list, 2 };
}

static Request *encode(const struct window *w, __u32 *at, size_t bytes_max)
{
	static const struct otlp_attribute facts[] = {
		{ .key = "krait.window.number", .kind = OTLP_NUMBER, .number = 7 },
	};
	unsigned calls = 0;
	const struct otlp_options options = { .resource = resource_of,
					      .resource_ctx = &calls,
					      .profile = { facts, 1 },
					      .bytes_max = bytes_max };
	struct otlp_body body;
	Request *r;

	assert_int_equal(otlp_encode(&body, w, at, &options), 0);
	r = krait__otlp__export_profiles_service_request__unpack(NULL, body.bytes.len,
								 body.bytes.data);
	assert_non_null(r);
	assert_int_equal(calls, r->n_resource_profiles);
	/* The batch has its first profile's id. */
	assert_memory_equal(
		body.id, r->resource_profiles[0]->scope_profiles[0]->profiles[0]->profile_id.data,
		OTLP_ID_SIZE);
	bytes_free(&body.bytes);
	return r;
}

static void free_request(Request *r)
{
	krait__otlp__export_profiles_service_request__free_unpacked(r, NULL);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static const char *string_at(const Request *r, int32_t index)
{
	assert_in_range(index, 0, r->dictionary->n_string_table - 1);
	return r->dictionary->string_table[index];
}

static const char *function_at(const Request *r, int32_t location)
{
	const Krait__Otlp__Location *l;

	assert_in_range(location, 1, r->dictionary->n_location_table - 1);
	l = r->dictionary->location_table[location];
	assert_int_equal(l->n_lines, 1);
	assert_in_range(l->lines[0]->function_index, 1, r->dictionary->n_function_table - 1);
	return string_at(r,
			 r->dictionary->function_table[l->lines[0]->function_index]->name_strindex);
}

typedef void (*sample_fn)(const Request *r, const Krait__Otlp__Profile *p,
			  const Krait__Otlp__Sample *s, void *ctx);

static void each_sample(const Request *r, sample_fn fn, void *ctx)
{
	for (size_t i = 0; i < r->n_resource_profiles; i++) {
		const Krait__Otlp__ScopeProfiles *scope =
			r->resource_profiles[i]->scope_profiles[0];

		assert_int_equal(r->resource_profiles[i]->n_scope_profiles, 1);
		for (size_t k = 0; k < scope->n_profiles; k++) {
			for (size_t n = 0; n < scope->profiles[k]->n_samples; n++)
				fn(r, scope->profiles[k], scope->profiles[k]->samples[n], ctx);
		}
	}
}

struct wanted {
	const char *type, *leaf;
	__u64 ticks, weight, samples;
};

static void add_up(const Request *r, const Krait__Otlp__Profile *p, const Krait__Otlp__Sample *s,
		   void *ctx)
{
	struct wanted *w = ctx;
	const Krait__Otlp__Stack *stack;

	assert_in_range(s->stack_index, 1, r->dictionary->n_stack_table - 1);
	stack = r->dictionary->stack_table[s->stack_index];
	if (strcmp(string_at(r, p->sample_type->type_strindex), w->type) ||
	    (w->leaf && strcmp(function_at(r, stack->location_indices[0]), w->leaf)))
		return;
	w->samples++;
	w->ticks += s->n_timestamps_unix_nano;
	for (size_t i = 0; i < s->n_timestamps_unix_nano; i++) {
		assert_in_range(s->timestamps_unix_nano[i], p->time_unix_nano,
				p->time_unix_nano + p->duration_nano - 1);
		w->weight += s->n_values ? (__u64)s->values[i] : (__u64)p->period;
	}
	assert_true(!s->n_values || s->n_values == s->n_timestamps_unix_nano);
}

static struct wanted sum(const Request *r, const char *type, const char *leaf)
{
	struct wanted w = { .type = type, .leaf = leaf };

	each_sample(r, add_up, &w);
	return w;
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void sums_are_those_of_the_window(void **state)
{
	struct profile *p = new_profile();
	struct window w;
	Request *r;
	__u32 at = 0;

	window__begin(&w, p, BEGAN_NS);
	for (unsigned i = 0; i < 5; i++)
		add_tick(&w, add_stack(p, 7, 7, "a", 11), 7, i, PERIOD_NS);
	add_tick(&w, add_stack(p, 7, 7, "b", 11), 7, 9, PERIOD_NS);
	add_tick(&w, add_stack(p, 8, 8, "a", 11), 8, 9, PERIOD_NS);
	add_wait(&w, add_stack(p, 8, 8, "a", 11), 8, STATE_IO, 300);
	add_wait(&w, add_stack(p, 8, 8, "a", 11), 8, STATE_LOCK, 40);
	add_wait(&w, add_stack(p, 8, 8, "a", 11), 8, STATE_GIL, 5);
	end(&w);
	r = encode(&w, &at, 1 << 20);
	assert_int_equal(at, w.cnt);
	assert_int_equal(sum(r, "samples", "a").ticks, 6);
	assert_int_equal(sum(r, "samples", "a").weight, 6 * PERIOD_NS);
	/* One per process: all times of a stack are in one sample. */
	assert_int_equal(sum(r, "samples", "a").samples, 2);
	assert_int_equal(sum(r, "samples", "b").ticks, 1);
	assert_int_equal(sum(r, "off_cpu", NULL).weight, 340);
	/* Waits for different things are separate samples. */
	assert_int_equal(sum(r, "off_cpu", NULL).samples, 2);
	assert_int_equal(sum(r, "gil_wait", NULL).weight, 5);
	assert_int_equal(r->n_resource_profiles, 2);
	free_request(r);
	window__end(&w);
	profile__free(p);
}

/* Entry 0 of each table is the zero value; entries shared by processes exist once. */
static void the_dictionary_is_shared(void **state)
{
	struct profile *p = new_profile();
	const Krait__Otlp__ProfilesDictionary *d;
	struct window w;
	Request *r;
	__u32 at = 0;

	window__begin(&w, p, BEGAN_NS);
	for (int pid = 1; pid <= 50; pid++)
		add_tick(&w, add_stack(p, pid, pid, "a", 11), pid, 1, PERIOD_NS);
	end(&w);
	r = encode(&w, &at, 1 << 20);
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
	free_request(r);
	window__end(&w);
	profile__free(p);
}

/*
 * Frames of the dictionary that differ only in the column are one line here, and their samples are
 * one sample.
 */
static void what_no_line_tells_apart_is_one_sample(void **state)
{
	struct profile *p = new_profile();
	struct profile_frame f = { .kind = FRAME_PYTHON, .line = 5, .first_line = 1, .code = 0 };
	__u32 root = add_stack(p, 7, 7, "a", 11), at = 0;
	struct window w;
	Request *r;

	f.name = dict__string(p->dict, "leaf");
	window__begin(&w, p, BEGAN_NS);
	for (int column = 1; column <= 3; column++) {
		f.column = column;
		add_tick(&w, push(p, root, dict__frame(p->dict, &f)), 7, (unsigned)column,
			 PERIOD_NS);
	}
	end(&w);
	r = encode(&w, &at, 1 << 20);
	assert_int_equal(sum(r, "samples", "leaf").samples, 1);
	assert_int_equal(sum(r, "samples", "leaf").ticks, 3);
	free_request(r);
	window__end(&w);
	profile__free(p);
}

static void another_rate_is_another_profile(void **state)
{
	struct profile *p = new_profile();
	struct window w;
	Request *r;
	__u32 at = 0;

	window__begin(&w, p, BEGAN_NS);
	add_tick(&w, add_stack(p, 7, 7, "a", 11), 7, 1, PERIOD_NS);
	add_tick(&w, add_stack(p, 7, 7, "a", 11), 7, 2, 2 * PERIOD_NS);
	end(&w);
	r = encode(&w, &at, 1 << 20);
	assert_int_equal(r->n_resource_profiles, 1);
	assert_int_equal(r->resource_profiles[0]->scope_profiles[0]->n_profiles, 2);
	assert_int_equal(sum(r, "samples", "a").weight, 3 * PERIOD_NS);
	assert_memory_not_equal(
		r->resource_profiles[0]->scope_profiles[0]->profiles[0]->profile_id.data,
		r->resource_profiles[0]->scope_profiles[0]->profiles[1]->profile_id.data,
		OTLP_ID_SIZE);
	free_request(r);
	window__end(&w);
	profile__free(p);
}

/* Returns the gzip'ed size, as sent, for so many processes with a sample each. */
static size_t sent_bytes(unsigned processes)
{
	struct profile *p = new_profile();
	const struct otlp_options options = { .resource = resource_of,
					      .resource_ctx = &(unsigned){ 0 },
					      .bytes_max = 1 << 20 };
	cleanup_bytes struct bytes packed = { 0 };
	struct otlp_body body;
	struct window w;
	__u32 at = 0;

	window__begin(&w, p, BEGAN_NS);
	for (unsigned i = 0; i < processes; i++) {
		int pid = 1000 + 7 * (int)i;

		add_tick(&w, add_stack(p, pid, pid, "a", 11), pid, i * 2654435761U, PERIOD_NS);
	}
	end(&w);
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
	struct profile *p = new_profile();
	__u32 at = 0, before = 0, bodies = 0;
	__u64 ticks = 0;
	struct ids ids = { .cnt = 0 };
	struct window w;
	char name[32];

	window__begin(&w, p, BEGAN_NS);
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		add_tick(&w, add_stack(p, 1 + (int)i % 3, 1, name, 11), 1 + (int)i % 3, i,
			 PERIOD_NS);
	}
	end(&w);
	for (; at < w.cnt; bodies++) {
		Request *r = encode(&w, &at, 20000);

		assert_true(at > before);
		before = at;
		ticks += sum(r, "samples", NULL).ticks;
		take_ids(&ids, r);
		/* The limit, and what the last sample has brought. */
		assert_true(krait__otlp__export_profiles_service_request__get_packed_size(r) <
			    22000);
		free_request(r);
	}
	assert_int_equal(ticks, 3000);
	assert_in_range(bodies, 8, 40);
	window__end(&w);
	profile__free(p);
}

/* Protobuf's strings are UTF-8: protoc and the Collector refuse bodies with others. */
static void names_are_harmless(void **state)
{
	struct profile *p = new_profile();
	struct window w;
	Request *r;
	__u32 at = 0;

	window__begin(&w, p, BEGAN_NS);
	add_tick(&w, add_stack(p, 7, 7, "\xff\xfe\n\033[31m", 11), 7, 1, PERIOD_NS);
	end(&w);
	r = encode(&w, &at, 1 << 20);
	assert_int_equal(sum(r, "samples", "\\xff\\xfe\\n\\x1b[31m").ticks, 1);
	free_request(r);
	window__end(&w);
	profile__free(p);
}

/* Its accounts are reported, and it does not look like a missing one. */
static void an_empty_window_counts_itself(void **state)
{
	struct profile *p = new_profile();
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
	end(&w);
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
	free_request(r);
	bytes_free(&body.bytes);
	window__end(&w);
	profile__free(p);
}

/* Ids change when the dictionary forgets: an open window follows. */
static void a_window_outlives_what_is_forgotten(void **state)
{
	struct profile *p = new_profile();
	__u32 kept, at = 0;
	struct window w;
	Request *r;

	window__begin(&w, p, BEGAN_NS);
	for (int i = 0; i < 100; i++)
		add_stack(p, 9, 9, "forgotten", i);
	kept = add_stack(p, 7, 7, "kept", 11);
	add_tick(&w, kept, 7, 1, PERIOD_NS);
	assert_int_equal(dict__forget(p->dict), 0);
	assert_int_not_equal(w.list[0].node, kept);
	end(&w);
	r = encode(&w, &at, 1 << 20);
	assert_int_equal(sum(r, "samples", "kept").ticks, 1);
	free_request(r);
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
		cmocka_unit_test(a_process_more_takes_few_bytes),
		cmocka_unit_test(a_large_window_is_several_bodies),
		cmocka_unit_test(names_are_harmless),
		cmocka_unit_test(an_empty_window_counts_itself),
		cmocka_unit_test(a_window_outlives_what_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
