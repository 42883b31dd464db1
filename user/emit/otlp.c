/* SPDX-License-Identifier: BSD-2-Clause */
#include "emit/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "emit/otlp_tables.h"
#include "emit/otlp_values.h"
#include "profile/states.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/vec.h"

/* Attributes of a sample beside its stack: thread's number, name and state. */
enum { SAMPLE_ATTRIBUTES = 3 };

/* Bytes of a profile's id that distinguish it from those of other bodies. */
#define ID_RANDOM 12

/* Most bytes that one more tick adds: a sample of its own with one value. */
#define TICK_BYTES 48U

/* A sample of the window, as the profile needs it. */
struct tick_of {
	struct {
		__s32 stack, attributes[SAMPLE_ATTRIBUTES];
		__u32 attribute_cnt;
	} key;
	__u64 time_ns; /* since 1970 */
	__s64 weight;
};

struct encoder {
	const struct window *w;
	const struct otlp_options *options;
	struct otlp_body *body;
	struct otlp_tables tables;
	struct bytes profile, scope; /* one profile, and all of a process */
	__u8 id[OTLP_ID_SIZE]; /* of the last profile */
	__s32 states[STATE_CNT]; /* attribute indexes; 0: not yet made */
	__s32 *attributes; /* of every profile */
	__u64 *times;
	__s64 *values;
	struct tick_of *ticks; /* of a profile */
	__u32 time_cap, value_cap, tick_cap;
	__u32 at; /* the next sample to encode */
	int err;
};

static void fail(struct encoder *e, int err)
{
	if (!e->err)
		e->err = err;
}

/* Tells whether a body is full, counting ticks not packed yet. */
static bool is_full(const struct encoder *e, __u32 ticks)
{
	return e->tables.packed_len + e->body->bytes.len + e->scope.len + e->profile.len +
		       ticks * TICK_BYTES >=
	       e->options->bytes_max;
}

/* Appends: concatenated parts of a protobuf message are one message. */
static void put_message(struct encoder *e, struct bytes *ret, const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message), at = ret->len;

	bytes_fill(ret, 0, size);
	if (ret->failed)
		fail(e, -ENOMEM);
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

static size_t fill_attributes(struct encoder *e, const struct window_sample *s,
			      __s32 list[SAMPLE_ATTRIBUTES])
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
	const struct tick_of *a = x, *b = y;
	int order = memcmp(&a->key, &b->key, sizeof(a->key));

	return order ? order : a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* Adds the window's next sample to the profile. */
static void take_tick(struct encoder *e, __u32 cnt)
{
	const struct window_sample *s = &e->w->list[e->at];
	struct tick_of *t;

	if (vec_reserve(e->ticks, e->tick_cap, cnt + 1)) {
		fail(e, -ENOMEM);
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
static __u32 put_sample(struct encoder *e, struct tick_of *first, __u32 left, bool clock)
{
	Krait__Otlp__Profile part = KRAIT__OTLP__PROFILE__INIT;
	Krait__Otlp__Sample sample = KRAIT__OTLP__SAMPLE__INIT, *list[] = { &sample };
	__u32 cnt = 0;

	for (; cnt < left && !memcmp(&first[cnt].key, &first->key, sizeof(first->key)); cnt++) {
		if (vec_reserve(e->times, e->time_cap, cnt + 1) ||
		    vec_reserve(e->values, e->value_cap, cnt + 1)) {
			fail(e, -ENOMEM);
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
	put_message(e, &e->profile, &part.base);
	e->body->samples += cnt;
	return cnt;
}

/* ---- a profile -------------------------------------------------------------------------------- */

/* s NULL: a window without samples. */
static void fill_types(struct encoder *e, const struct window_sample *s, Krait__Otlp__Profile *part)
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

/*
 * 12 random bytes tell this body's profiles from all others, and a number tells them apart: gzip needs
 * 3 bytes for each, where 16 random ones took 19.
 */
static void begin_ids(struct encoder *e)
{
	if (getrandom(e->id, ID_RANDOM, 0) != ID_RANDOM)
		fail(e, -EIO);
}

static void next_id(struct encoder *e)
{
	__u32 number = e->body->profiles++;

	for (int i = OTLP_ID_SIZE; i-- > ID_RANDOM; number >>= 8)
		e->id[i] = (__u8)number;
	if (e->body->profiles == 1)
		memcpy(e->body->id, e->id, sizeof(e->id));
}

static void put_head(struct encoder *e, const struct window_sample *first, __u64 from_ns,
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
	put_message(e, &e->profile, &part.base);
}

/* Writes the profile of one process, kind and rate: its time span covers all its samples. */
static void put_profile(struct encoder *e)
{
	const struct window_sample *first = &e->w->list[e->at];
	__u64 from_ns = e->w->from_ns, to_ns = e->w->to_ns;
	__u32 begin = e->at, cnt;
	bool clock = window__is_clock(e->w, first);

	e->profile.len = 0;
	for (cnt = 0;
	     !e->err && e->at < e->w->cnt &&
	     window__same_profile(e->w, first, &e->w->list[e->at]) && (!cnt || !is_full(e, cnt));
	     cnt++)
		take_tick(e, cnt);
	if (e->err)
		return;
	for (__u32 i = begin; i < e->at; i++) {
		__u64 time_ns = e->w->list[i].time_ns;

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

/* ---- a process -------------------------------------------------------------------------------- */

static void put_scope(struct encoder *e)
{
	Krait__Otlp__ScopeProfilesParts part = KRAIT__OTLP__SCOPE_PROFILES_PARTS__INIT;
	Krait__Otlp__InstrumentationScope scope = KRAIT__OTLP__INSTRUMENTATION_SCOPE__INIT;

	e->scope.len = 0;
	scope.name = (char *)"krait";
	scope.version = (char *)KRAIT_VERSION;
	part.scope = &scope;
	put_message(e, &e->scope, &part.base);
}

static void add_profile(struct encoder *e)
{
	Krait__Otlp__ScopeProfilesParts part = KRAIT__OTLP__SCOPE_PROFILES_PARTS__INIT;
	ProtobufCBinaryData profile = { e->profile.len, e->profile.data };

	part.profiles = &profile;
	part.n_profiles = 1;
	put_message(e, &e->scope, &part.base);
	e->profile.len = 0;
}

/* Moves a finished resource into the body. */
static void put_resource(struct encoder *e, Krait__Otlp__Resource *resource)
{
	Krait__Otlp__ResourceProfilesParts whole = KRAIT__OTLP__RESOURCE_PROFILES_PARTS__INIT;
	Krait__Otlp__RequestParts request = KRAIT__OTLP__REQUEST_PARTS__INIT;
	ProtobufCBinaryData scope = { e->scope.len, e->scope.data }, packed;

	whole.resource = resource;
	whole.scope_profiles = &scope;
	whole.n_scope_profiles = 1;
	packed.len = krait__otlp__resource_profiles_parts__get_packed_size(&whole);
	packed.data = malloc(packed.len);
	if (!packed.data) {
		fail(e, -ENOMEM);
		return;
	}
	krait__otlp__resource_profiles_parts__pack(&whole, packed.data);
	request.resource_profiles = &packed;
	request.n_resource_profiles = 1;
	put_message(e, &e->body->bytes, &request.base);
	free(packed.data);
}

static void put_attributes(struct encoder *e, const struct otlp_attributes *attributes)
{
	size_t cnt = attributes->cnt;
	cleanup_free struct otlp_value_room *rooms = calloc(cnt + 1, sizeof(*rooms));
	cleanup_free Krait__Otlp__KeyValue *pairs = calloc(cnt + 1, sizeof(*pairs));
	cleanup_free Krait__Otlp__KeyValue **list = calloc(cnt + 1, sizeof(*list));
	Krait__Otlp__Resource resource = KRAIT__OTLP__RESOURCE__INIT;

	if (!rooms || !pairs || !list) {
		fail(e, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < cnt; i++) {
		krait__otlp__key_value__init(&pairs[i]);
		pairs[i].key = (char *)attributes->list[i].key;
		pairs[i].value = &rooms[i].value;
		list[i] = &pairs[i];
		if (otlp_value_fill(&rooms[i], &attributes->list[i]))
			fail(e, -ENOMEM);
	}
	resource.attributes = list;
	resource.n_attributes = cnt;
	if (!e->err)
		put_resource(e, &resource);
	for (size_t i = 0; i < cnt; i++)
		otlp_value_free(&rooms[i]);
}

/* Writes all profiles of one process, or as many as the body has room for. */
static void put_process(struct encoder *e)
{
	const struct window_sample *first = &e->w->list[e->at];
	struct otlp_attributes attributes =
		e->options->resource(e->options->resource_ctx, first->pid, first->image);

	put_scope(e);
	do {
		put_profile(e);
		add_profile(e);
	} while (!e->err && e->at < e->w->cnt && window__same_process(first, &e->w->list[e->at]) &&
		 !is_full(e, 0));
	if (!e->err)
		put_attributes(e, &attributes);
	e->scope.len = 0;
}

/* ---- the whole -------------------------------------------------------------------------------- */

static void put_dictionary(struct encoder *e)
{
	Krait__Otlp__RequestParts part = KRAIT__OTLP__REQUEST_PARTS__INIT;
	cleanup_bytes struct bytes whole = { 0 };

	otlp_tables_put(&e->tables, &whole);
	if (whole.failed) {
		fail(e, -ENOMEM);
		return;
	}
	part.dictionary = (ProtobufCBinaryData){ whole.len, whole.data };
	put_message(e, &e->body->bytes, &part.base);
}

static void prepare(struct encoder *e)
{
	unsigned cnt = e->options->profile.cnt;

	begin_ids(e);
	e->attributes = calloc((size_t)cnt + 1, sizeof(*e->attributes));
	if (!e->attributes || otlp_tables_init(&e->tables, e->w->profile->dict, e->options)) {
		fail(e, -ENOMEM);
		return;
	}
	for (unsigned i = 0; i < cnt; i++)
		e->attributes[i] = otlp_tables_attribute(&e->tables, &e->options->profile.list[i]);
}

/* Puts everything into the body, or nothing. */
static void finish(struct encoder *e)
{
	if (!e->err)
		put_dictionary(e);
	if (e->tables.failed)
		fail(e, -ENOMEM);
	if (e->err)
		bytes_free(&e->body->bytes);
	otlp_tables_free(&e->tables);
	bytes_free(&e->profile);
	bytes_free(&e->scope);
	free(e->attributes);
	free(e->times);
	free(e->ticks);
	free(e->values);
}

int otlp_encode(struct otlp_body *ret, const struct window *w, __u32 *at,
		const struct otlp_options *options)
{
	struct encoder e = { .w = w, .options = options, .body = ret, .at = *at };

	*ret = (struct otlp_body){ 0 };
	prepare(&e);
	while (!e.err && e.at < w->cnt && !is_full(&e, 0))
		put_process(&e);
	finish(&e);
	if (!e.err)
		*at = e.at;
	return e.err;
}

/* The profile counts the window itself: a Collector drops a request that counts nothing. */
static void put_window(struct encoder *e)
{
	Krait__Otlp__Profile part = KRAIT__OTLP__PROFILE__INIT;
	Krait__Otlp__Sample sample = KRAIT__OTLP__SAMPLE__INIT, *list[] = { &sample };
	int64_t one = 1;

	sample.values = &one;
	sample.n_values = 1;
	part.samples = list;
	part.n_samples = 1;
	put_message(e, &e->profile, &part.base);
	put_head(e, NULL, e->w->from_ns, e->w->to_ns);
}

int otlp_encode_empty(struct otlp_body *ret, const struct window *w,
		      const struct otlp_attributes *resource, const struct otlp_options *options)
{
	struct encoder e = { .w = w, .options = options, .body = ret };

	*ret = (struct otlp_body){ 0 };
	prepare(&e);
	if (!e.err) {
		put_scope(&e);
		put_window(&e);
		add_profile(&e);
		put_attributes(&e, resource);
	}
	finish(&e);
	return e.err;
}
