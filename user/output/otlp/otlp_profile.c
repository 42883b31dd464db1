/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/otlp/otlp_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/data/vec.h"

/* Bytes of a profile's id that distinguish it from those of other bodies. */
#define ID_RANDOM 12

/* Most bytes that one more tick adds: a sample of its own with one value. */
#define TICK_BYTES 48U

/* ---- what all parts need ------------------------------------------------------------------------- */

void otlp_fail(struct otlp_encoder *e, int err)
{
	if (!e->err)
		e->err = err;
}

bool otlp_is_full(const struct otlp_encoder *e, __u32 ticks)
{
	return e->tables.packed_len + e->body->bytes.len + e->scope.len + e->profile.len +
		       ticks * TICK_BYTES >=
	       e->options->bytes_max;
}

void otlp_put_message(struct otlp_encoder *e, struct bytes *ret, const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message), at = ret->len;

	bytes_fill(ret, 0, size);
	if (ret->failed)
		otlp_fail(e, -ENOMEM);
	else
		protobuf_c_message_pack(message, ret->data + at);
}

/* ---- a sample --------------------------------------------------------------------------------- */

static const struct profile_frame *thread_of(const struct dict *d, __u32 node)
{
	for (; node; node = dict__node_at(d, node)->parent) {
		const struct profile_frame *f = dict__frame_at(d, dict__node_at(d, node)->frame);

		if (f->kind == FRAME_THREAD)
			return f;
	}
	return NULL;
}

static size_t fill_attributes(struct otlp_encoder *e, const struct stored_sample *s,
			      __s32 list[OTLP_SAMPLE_ATTRIBUTES])
{
	const struct profile_frame *thread = thread_of(e->w->profile->dict, s->node);
	const struct otlp_attribute state = { .key = "krait.state",
					      .kind = OTLP_TEXT,
					      .text = state_name(s->state) };
	size_t cnt = 0;

	list[cnt++] = otlp_tables_number(&e->tables, "thread.id", s->tid);
	if (thread && thread->name)
		list[cnt++] = otlp_tables_string(&e->tables, "thread.name", thread->name);
	if (!window__is_clock(e->w, s) && s->state && s->state != STATE_GIL) {
		if (!e->states[s->state])
			e->states[s->state] = otlp_tables_attribute(&e->tables, &state);
		list[cnt++] = e->states[s->state];
	}
	return cnt;
}

/*
 * Samples with the same key (stack and attributes) merge. Frames that differ only in more than
 * their line are one stack here.
 */
static int compare_ticks(const void *x, const void *y)
{
	const struct otlp_tick *a = x, *b = y;
	int order = memcmp(&a->key, &b->key, sizeof(a->key));

	return order ? order : a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* Adds the window's next sample to the profile. */
static void take_tick(struct otlp_encoder *e, __u32 cnt)
{
	const struct stored_sample *s = &e->w->samples.list[e->at];
	struct otlp_tick *t;

	if (vec_reserve(e->ticks, e->tick_cap, cnt + 1)) {
		otlp_fail(e, -ENOMEM);
		return;
	}
	t = &e->ticks[cnt];
	memset(t, 0, sizeof(*t));
	t->key.stack = otlp_tables_stack(&e->tables, s->node);
	t->key.attribute_cnt = (__u32)fill_attributes(e, s, t->key.attributes);
	t->time_ns = s->time_ns + (__u64)e->w->wall_offset_ns;
	t->weight = (__s64)s->weight;
	e->at++;
}

/*
 * Writes all ticks of one key as one sample with many times. Returns how many of the ticks these
 * were.
 */
static __u32 put_sample(struct otlp_encoder *e, struct otlp_tick *first, __u32 left, bool clock)
{
	Krait__Otlp__Profile part = KRAIT__OTLP__PROFILE__INIT;
	Krait__Otlp__Sample sample = KRAIT__OTLP__SAMPLE__INIT, *list[] = { &sample };
	__u32 cnt = 0;

	for (; cnt < left && !memcmp(&first[cnt].key, &first->key, sizeof(first->key)); cnt++) {
		if (vec_reserve(e->times, e->time_cap, cnt + 1) ||
		    vec_reserve(e->values, e->value_cap, cnt + 1)) {
			otlp_fail(e, -ENOMEM);
			return left;
		}
		e->times[cnt] = first[cnt].time_ns;
		e->values[cnt] = first[cnt].weight;
	}
	sample.stack_index = first->key.stack;
	sample.attribute_indices = first->key.attributes;
	sample.n_attribute_indices = first->key.attribute_cnt;
	sample.timestamps_unix_nano = (uint64_t *)e->times;
	sample.n_timestamps_unix_nano = cnt;
	if (!clock) {
		sample.values = (int64_t *)e->values;
		sample.n_values = cnt;
	}
	part.samples = list;
	part.n_samples = 1;
	otlp_put_message(e, &e->profile, &part.base);
	e->body->samples += cnt;
	return cnt;
}

/* ---- a profile -------------------------------------------------------------------------------- */

/* s NULL: a window without samples. */
static void fill_types(struct otlp_encoder *e, const struct stored_sample *s,
		       Krait__Otlp__Profile *part)
{
	bool clock;
	const char *type;

	if (!s) {
		part->sample_type->type_strindex = otlp_tables_key(&e->tables, "windows");
		part->sample_type->unit_strindex = otlp_tables_key(&e->tables, "count");
		part->period_type = NULL;
		return;
	}
	clock = window__is_clock(e->w, s);
	type = clock ? "samples" : s->state == STATE_GIL ? "gil_wait" : "off_cpu";
	part->sample_type->type_strindex = otlp_tables_key(&e->tables, type);
	part->sample_type->unit_strindex =
		otlp_tables_key(&e->tables, clock ? "count" : "nanoseconds");
	if (!clock) {
		part->period_type = NULL;
		return;
	}
	part->period_type->type_strindex = otlp_tables_key(&e->tables, "cpu");
	part->period_type->unit_strindex = otlp_tables_key(&e->tables, "nanoseconds");
	part->period = (int64_t)s->weight;
}

void otlp_profile_begin_ids(struct otlp_encoder *e)
{
	if (getrandom(e->id, ID_RANDOM, 0) != ID_RANDOM)
		otlp_fail(e, -EIO);
}

static void next_id(struct otlp_encoder *e)
{
	__u32 number = e->body->profiles++;

	for (int i = OTLP_ID_SIZE; i-- > ID_RANDOM; number >>= 8)
		e->id[i] = (__u8)number;
	if (e->body->profiles == 1)
		memcpy(e->body->id, e->id, sizeof(e->id));
}

static void put_head(struct otlp_encoder *e, const struct stored_sample *first, __u64 from_ns,
		     __u64 to_ns)
{
	Krait__Otlp__Profile part = KRAIT__OTLP__PROFILE__INIT;
	Krait__Otlp__ValueType type = KRAIT__OTLP__VALUE_TYPE__INIT, period = type;

	next_id(e);
	part.sample_type = &type;
	part.period_type = &period;
	fill_types(e, first, &part);
	part.time_unix_nano = from_ns + (__u64)e->w->wall_offset_ns;
	part.duration_nano = to_ns - from_ns;
	part.profile_id = (ProtobufCBinaryData){ sizeof(e->id), e->id };
	part.attribute_indices = e->attributes;
	part.n_attribute_indices = e->options->profile.cnt;
	otlp_put_message(e, &e->profile, &part.base);
}

void otlp_profile_put(struct otlp_encoder *e)
{
	const struct stored_sample *first = &e->w->samples.list[e->at];
	__u64 from_ns = e->w->from_ns, to_ns = e->w->to_ns;
	__u32 begin = e->at, cnt;
	bool clock = window__is_clock(e->w, first);

	e->profile.len = 0;
	for (cnt = 0; !e->err && e->at < e->w->samples.cnt &&
		      window__same_profile(e->w, first, &e->w->samples.list[e->at]) &&
		      (!cnt || !otlp_is_full(e, cnt));
	     cnt++)
		take_tick(e, cnt);
	if (e->err)
		return;
	for (__u32 i = begin; i < e->at; i++) {
		__u64 time_ns = e->w->samples.list[i].time_ns;

		if (time_ns < from_ns)
			from_ns = time_ns;
		if (time_ns >= to_ns)
			to_ns = time_ns + 1;
	}
	put_head(e, first, from_ns, to_ns);
	qsort(e->ticks, cnt, sizeof(e->ticks[0]), compare_ticks);
	for (__u32 i = 0; i < cnt && !e->err;)
		i += put_sample(e, &e->ticks[i], cnt - i, clock);
}

void otlp_profile_put_empty(struct otlp_encoder *e)
{
	Krait__Otlp__Profile part = KRAIT__OTLP__PROFILE__INIT;
	Krait__Otlp__Sample sample = KRAIT__OTLP__SAMPLE__INIT, *list[] = { &sample };
	int64_t one = 1;

	sample.values = &one;
	sample.n_values = 1;
	part.samples = list;
	part.n_samples = 1;
	otlp_put_message(e, &e->profile, &part.base);
	put_head(e, NULL, e->w->from_ns, e->w->to_ns);
}
