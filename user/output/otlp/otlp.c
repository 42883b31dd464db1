/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/otlp/otlp.h"

#include <errno.h>
#include <stdlib.h>

#include "output/otlp/otlp_profile.h"
#include "base/data/cleanup.h"

/* ---- a process -------------------------------------------------------------------------------- */

static void put_scope(struct otlp_encoder *e)
{
	Krait__Otlp__ScopeProfilesParts part = KRAIT__OTLP__SCOPE_PROFILES_PARTS__INIT;
	Krait__Otlp__InstrumentationScope scope = KRAIT__OTLP__INSTRUMENTATION_SCOPE__INIT;

	e->scope.len = 0;
	scope.name = (char *)"krait";
	scope.version = (char *)KRAIT_VERSION;
	part.scope = &scope;
	otlp_put_message(e, &e->scope, &part.base);
}

static void add_profile(struct otlp_encoder *e)
{
	Krait__Otlp__ScopeProfilesParts part = KRAIT__OTLP__SCOPE_PROFILES_PARTS__INIT;
	ProtobufCBinaryData profile = { e->profile.len, e->profile.data };

	part.profiles = &profile;
	part.n_profiles = 1;
	otlp_put_message(e, &e->scope, &part.base);
	e->profile.len = 0;
}

/* Moves a finished resource into the body. */
static void put_resource(struct otlp_encoder *e, Krait__Otlp__Resource *resource)
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
		otlp_fail(e, -ENOMEM);
		return;
	}
	krait__otlp__resource_profiles_parts__pack(&whole, packed.data);
	request.resource_profiles = &packed;
	request.n_resource_profiles = 1;
	otlp_put_message(e, &e->body->bytes, &request.base);
	free(packed.data);
}

static void put_attributes(struct otlp_encoder *e, const struct otlp_attributes *attributes)
{
	size_t cnt = attributes->cnt;
	cleanup_free struct otlp_value_room *rooms = calloc(cnt + 1, sizeof(*rooms));
	cleanup_free Krait__Otlp__KeyValue *pairs = calloc(cnt + 1, sizeof(*pairs));
	cleanup_free Krait__Otlp__KeyValue **list = calloc(cnt + 1, sizeof(*list));
	Krait__Otlp__Resource resource = KRAIT__OTLP__RESOURCE__INIT;

	if (!rooms || !pairs || !list) {
		otlp_fail(e, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < cnt; i++) {
		krait__otlp__key_value__init(&pairs[i]);
		pairs[i].key = (char *)attributes->list[i].key;
		pairs[i].value = &rooms[i].value;
		list[i] = &pairs[i];
		if (otlp_value_fill(&rooms[i], &attributes->list[i]))
			otlp_fail(e, -ENOMEM);
	}
	resource.attributes = list;
	resource.n_attributes = cnt;
	if (!e->err)
		put_resource(e, &resource);
	for (size_t i = 0; i < cnt; i++)
		otlp_value_free(&rooms[i]);
}

/* Writes all profiles of one process, or as many as the body has room for. */
static void put_process(struct otlp_encoder *e)
{
	const struct stored_sample *first = &e->w->samples.list[e->at];
	struct otlp_attributes attributes =
		e->options->resource(e->options->resource_ctx, first->pid, first->image);

	put_scope(e);
	do {
		otlp_profile_put(e);
		add_profile(e);
	} while (!e->err && e->at < e->w->samples.cnt &&
		 window__same_process(first, &e->w->samples.list[e->at]) && !otlp_is_full(e, 0));
	if (!e->err)
		put_attributes(e, &attributes);
	e->scope.len = 0;
}

/* ---- the whole -------------------------------------------------------------------------------- */

static void put_dictionary(struct otlp_encoder *e)
{
	Krait__Otlp__RequestParts part = KRAIT__OTLP__REQUEST_PARTS__INIT;
	cleanup_bytes struct bytes whole = { 0 };

	otlp_tables_put(&e->tables, &whole);
	if (whole.failed) {
		otlp_fail(e, -ENOMEM);
		return;
	}
	part.dictionary = (ProtobufCBinaryData){ whole.len, whole.data };
	otlp_put_message(e, &e->body->bytes, &part.base);
}

static void prepare(struct otlp_encoder *e)
{
	unsigned cnt = e->options->profile.cnt;

	otlp_profile_begin_ids(e);
	e->attributes = calloc((size_t)cnt + 1, sizeof(*e->attributes));
	if (!e->attributes || otlp_tables_init(&e->tables, e->w->profile->dict, e->options)) {
		otlp_fail(e, -ENOMEM);
		return;
	}
	for (unsigned i = 0; i < cnt; i++)
		e->attributes[i] = otlp_tables_attribute(&e->tables, &e->options->profile.list[i]);
}

/* Puts everything into the body, or nothing. */
static void finish(struct otlp_encoder *e)
{
	if (!e->err)
		put_dictionary(e);
	if (e->tables.failed)
		otlp_fail(e, -ENOMEM);
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
	struct otlp_encoder e = { .w = w, .options = options, .body = ret, .at = *at };

	*ret = (struct otlp_body){ 0 };
	prepare(&e);
	while (!e.err && e.at < w->samples.cnt && !otlp_is_full(&e, 0))
		put_process(&e);
	finish(&e);
	if (!e.err)
		*at = e.at;
	return e.err;
}

int otlp_encode_empty(struct otlp_body *ret, const struct window *w,
		      const struct otlp_attributes *resource, const struct otlp_options *options)
{
	struct otlp_encoder e = { .w = w, .options = options, .body = ret };

	*ret = (struct otlp_body){ 0 };
	prepare(&e);
	if (!e.err) {
		put_scope(&e);
		otlp_profile_put_empty(&e);
		add_profile(&e);
		put_attributes(&e, resource);
	}
	finish(&e);
	return e.err;
}
