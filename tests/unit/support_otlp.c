/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>
#include <cmocka.h>

#include "profile/states.h"
#include "support_otlp.h"
#include "support_profile.h"

#define WALL_NS 1700000000000000000LL

/* ---- a window --------------------------------------------------------------------------------- */

struct profile *otlp_profile_new(void)
{
	struct profile *p = profile__new();
	struct event_spec event;

	event_default(&event);
	assert_int_equal(profile__set_event(p, 0, &event), 0);
	event_off_cpu(&event, 0);
	assert_int_equal(profile__set_event(p, 1, &event), 0);
	return p;
}

__u32 otlp_stack(struct profile *p, int pid, int tid, const char *leaf, int line)
{
	__u32 node = push(p, 0, add_process(p, "python3", pid));

	node = push(p, node, add_thread(p, "worker", pid, tid));
	node = push(p, node, add_function(p, "main", "m.py", 1, 2));
	return push(p, node, add_function(p, leaf, "m.py", 10, line));
}

void otlp_tick(struct window *w, __u32 node, int pid, unsigned n, __u64 period)
{
	const struct profile_sample s = { .time_ns = BEGAN_NS + n * 1000,
					  .period = period,
					  .node = node,
					  .pid = pid,
					  .tid = pid,
					  .image = (__u32)pid };

	(void)sample_store_add(&w->samples, &s);
}

void otlp_wait(struct window *w, __u32 node, int pid, enum state state, __u64 ns)
{
	const struct profile_sample s = { .time_ns = BEGAN_NS + 500,
					  .period = ns,
					  .node = node,
					  .state = state | STATE_HOLDS_GIL,
					  .event = 1,
					  .pid = pid,
					  .tid = pid,
					  .image = (__u32)pid };

	(void)sample_store_add(&w->samples, &s);
}

void otlp_window_end(struct window *w)
{
	w->to_ns = BEGAN_NS + 10000000000ULL;
	w->wall_offset_ns = WALL_NS;
	window__sort(w);
}

struct otlp_attributes otlp_resource(void *ctx, int pid, __u32 image)
{
	static struct otlp_attribute list[2];
	unsigned *calls = ctx;

	list[0] = (struct otlp_attribute){ .key = "service.name", .kind = OTLP_TEXT, .text = "a" };
	list[1] =
		(struct otlp_attribute){ .key = "process.pid", .kind = OTLP_NUMBER, .number = pid };
	++*calls;
	return (struct otlp_attributes){ list, 2 };
}

Request *otlp_request(const struct window *w, __u32 *at, size_t bytes_max)
{
	static const struct otlp_attribute facts[] = {
		{ .key = "krait.window.number", .kind = OTLP_NUMBER, .number = 7 },
	};
	unsigned calls = 0;
	const struct otlp_options options = { .resource = otlp_resource,
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

void otlp_request_free(Request *r)
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

static void add_up(const Request *r, const Krait__Otlp__Profile *p, const Krait__Otlp__Sample *s,
		   void *ctx)
{
	struct otlp_sum *w = ctx;
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

struct otlp_sum otlp_sum(const Request *r, const char *type, const char *leaf)
{
	struct otlp_sum w = { .type = type, .leaf = leaf };

	each_sample(r, add_up, &w);
	return w;
}
