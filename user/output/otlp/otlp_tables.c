/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/otlp/otlp_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/otlp/otlp_values.h"
#include "base/data/cleanup.h"
#include "base/text/printable.h"
#include "base/data/vec.h"

/* ---- packing ---------------------------------------------------------------------------------- */

/* An entry of that table. */
static void put_part(struct otlp_tables *t, enum otlp_table table,
		     const Krait__Otlp__ProfilesDictionary *part)
{
	size_t size = krait__otlp__profiles_dictionary__get_packed_size(part);
	struct bytes *packed = &t->packed[table];
	size_t at = packed->len;

	bytes_fill(packed, 0, size);
	if (packed->failed)
		t->failed = true;
	else
		krait__otlp__profiles_dictionary__pack(part, packed->data + at);
	t->packed_len += size;
}

void otlp_tables_put(const struct otlp_tables *t, struct bytes *ret)
{
	for (int i = 0; i < OTLP_TABLE_CNT; i++)
		bytes_put(ret, t->packed[i].data, t->packed[i].len);
}

static __u32 put_string(struct otlp_tables *t, const char *text)
{
	Krait__Otlp__ProfilesDictionary part = KRAIT__OTLP__PROFILES_DICTIONARY__INIT;
	cleanup_free char *safe = printable(text);
	char *list[] = { safe };

	if (!safe) {
		t->failed = true;
		return 0;
	}
	part.string_table = list;
	part.n_string_table = 1;
	put_part(t, OTLP_STRINGS, &part);
	return t->string_cnt++;
}

static __s32 put_attribute(struct otlp_tables *t, __s32 key, Krait__Otlp__AnyValue *value)
{
	Krait__Otlp__ProfilesDictionary part = KRAIT__OTLP__PROFILES_DICTIONARY__INIT;
	Krait__Otlp__KeyValueAndUnit attribute = KRAIT__OTLP__KEY_VALUE_AND_UNIT__INIT;
	Krait__Otlp__KeyValueAndUnit *list[] = { &attribute };

	attribute.key_strindex = key;
	attribute.value = value;
	part.attribute_table = list;
	part.n_attribute_table = 1;
	put_part(t, OTLP_ATTRIBUTES, &part);
	return (__s32)t->attribute_cnt++;
}

/* ---- strings and attributes ------------------------------------------------------------------- */

__s32 otlp_tables_key(struct otlp_tables *t, const char *text)
{
	for (unsigned i = 0; i < t->key_cnt; i++) {
		if (!strcmp(t->keys[i].text, text))
			return (__s32)t->keys[i].index;
	}
	if (t->key_cnt == OTLP_KEYS_MAX) {
		t->failed = true;
		return 0;
	}
	t->keys[t->key_cnt].text = text;
	t->keys[t->key_cnt].index = put_string(t, text);
	return (__s32)t->keys[t->key_cnt++].index;
}

static __s32 string_of(struct otlp_tables *t, __u32 string)
{
	__u32 at;

	if (!string)
		return 0;
	at = places_add_string(&t->strings, string);
	if (at == PLACE_NONE || vec_reserve(t->string_index, t->string_index_cap, at + 1)) {
		t->failed = true;
		return 0;
	}
	if (t->string_index_cnt <= at) {
		t->string_index[at] = put_string(t, place_name(t->dict, &t->strings.list[at]));
		t->string_index_cnt = at + 1;
	}
	return (__s32)t->string_index[at];
}

static bool same_fact(const struct otlp_fact *a, const struct otlp_fact *b)
{
	return a->key == b->key && a->text == b->text && a->number == b->number;
}

/* Returns the attribute's index in the table. */
static __s32 attribute_of(struct otlp_tables *t, const struct otlp_fact *fact, const char *text)
{
	__u32 hash = idindex_hash_bytes(fact, sizeof(*fact), 0);
	const struct idindex_slot *slot;
	struct otlp_attribute a = { .kind = OTLP_NUMBER, .number = fact->number };
	struct otlp_value_room room;

	idindex_for_each(&t->fact_find, hash, slot)
		if (same_fact(&t->facts[slot->id - 1], fact))
			return (__s32)t->fact_index[slot->id - 1];
	if (text) {
		a.kind = OTLP_TEXT;
		a.text = text;
	}
	if (vec_reserve(t->facts, t->fact_cap, t->fact_cnt + 1) ||
	    vec_reserve(t->fact_index, t->fact_index_cap, t->fact_cnt + 1) ||
	    idindex_reserve(&t->fact_find) || otlp_value_fill(&room, &a)) {
		t->failed = true;
		return 0;
	}
	t->facts[t->fact_cnt] = *fact;
	t->fact_index[t->fact_cnt] = (__u32)put_attribute(t, (__s32)fact->key, &room.value);
	otlp_value_free(&room);
	idindex_insert(&t->fact_find, hash, t->fact_cnt + 1);
	return (__s32)t->fact_index[t->fact_cnt++];
}

__s32 otlp_tables_number(struct otlp_tables *t, const char *key, __s64 number)
{
	struct otlp_fact fact = { 0 };

	fact.key = (__u32)otlp_tables_key(t, key);
	fact.number = number;
	return attribute_of(t, &fact, NULL);
}

__s32 otlp_tables_string(struct otlp_tables *t, const char *key, __u32 string)
{
	struct otlp_fact fact = { 0 };

	fact.key = (__u32)otlp_tables_key(t, key);
	fact.text = string;
	return attribute_of(t, &fact, dict__text(t->dict, string));
}

__s32 otlp_tables_attribute(struct otlp_tables *t, const struct otlp_attribute *a)
{
	struct otlp_value_room room;
	__s32 index = 0;

	if (otlp_value_fill(&room, a))
		t->failed = true;
	else
		index = put_attribute(t, otlp_tables_key(t, a->key), &room.value);
	otlp_value_free(&room);
	return index;
}

/* ---- functions, locations, stacks ------------------------------------------------------------- */

static __s32 function_of(struct otlp_tables *t, struct profile_frame place)
{
	Krait__Otlp__ProfilesDictionary part = KRAIT__OTLP__PROFILES_DICTIONARY__INIT;
	Krait__Otlp__Function function = KRAIT__OTLP__FUNCTION__INIT;
	Krait__Otlp__Function *list[] = { &function };
	__u32 before = t->functions.cnt, at;

	place.line = -1;
	at = places_add(&t->functions, &place);
	if (at == PLACE_NONE)
		t->failed = true;
	if (at == PLACE_NONE || at < before)
		return (__s32)at + 1;
	function.name_strindex = string_of(t, place.name);
	function.filename_strindex = string_of(t, place.file);
	function.start_line = place.first_line > 0 ? place.first_line : 0;
	part.function_table = list;
	part.n_function_table = 1;
	put_part(t, OTLP_FUNCTIONS, &part);
	return (__s32)at + 1;
}

/* Returns the attribute's index; 0 if the build ID is unknown. */
static __s32 build_id_of(struct otlp_tables *t, const char *file)
{
	const struct otlp_options *o = t->options;
	char text[64];
	const struct otlp_attribute a = { .key = "process.executable.build_id.gnu",
					  .kind = OTLP_TEXT,
					  .text = text };

	return o->build_id && o->build_id(o->resource_ctx, file, text, sizeof(text)) ?
		       otlp_tables_attribute(t, &a) :
		       0;
}

/* Returns the library of native code; 0 for other code. */
static __s32 mapping_of(struct otlp_tables *t, const struct profile_frame *f)
{
	Krait__Otlp__ProfilesDictionary part = KRAIT__OTLP__PROFILES_DICTIONARY__INIT;
	Krait__Otlp__Mapping mapping = KRAIT__OTLP__MAPPING__INIT;
	Krait__Otlp__Mapping *list[] = { &mapping };
	__u32 before = t->mappings.cnt, at;
	__s32 build_id = 0;

	if ((f->kind != FRAME_NATIVE && f->kind != FRAME_KERNEL) || !f->file)
		return 0;
	at = places_add_string(&t->mappings, f->file);
	if (at == PLACE_NONE)
		t->failed = true;
	if (at == PLACE_NONE || at < before)
		return (__s32)at + 1;
	mapping.filename_strindex = string_of(t, f->file);
	if (f->kind == FRAME_NATIVE)
		build_id = build_id_of(t, dict__text(t->dict, f->file));
	mapping.attribute_indices = &build_id;
	mapping.n_attribute_indices = build_id != 0;
	part.mapping_table = list;
	part.n_mapping_table = 1;
	put_part(t, OTLP_MAPPINGS, &part);
	return (__s32)at + 1;
}

/* Returns 0 if the format has no word for it. */
static __s32 frame_type_of(struct otlp_tables *t, enum frame_kind kind)
{
	static const char *const names[FRAME_KIND_CNT] = {
		[FRAME_PYTHON] = "cpython",
		[FRAME_NATIVE] = "native",
		[FRAME_KERNEL] = "kernel",
	};
	const struct otlp_attribute a = { .key = "profile.frame.type",
					  .kind = OTLP_TEXT,
					  .text = names[kind] };

	if (names[kind] && !t->frame_types[kind])
		t->frame_types[kind] = (__u32)otlp_tables_attribute(t, &a);
	return (__s32)t->frame_types[kind];
}

static __s32 location_of(struct otlp_tables *t, const struct profile_frame *f)
{
	Krait__Otlp__ProfilesDictionary part = KRAIT__OTLP__PROFILES_DICTIONARY__INIT;
	Krait__Otlp__Location location = KRAIT__OTLP__LOCATION__INIT;
	Krait__Otlp__Location *list[] = { &location };
	Krait__Otlp__Line line = KRAIT__OTLP__LINE__INIT, *lines[] = { &line };
	__u32 before = t->lines.cnt, at = places_add_frame(&t->lines, f, true);
	__s32 type;

	if (at == PLACE_NONE)
		t->failed = true;
	if (at == PLACE_NONE || at < before)
		return (__s32)at + 1;
	line.function_index = function_of(t, t->lines.list[at]);
	line.line = t->lines.list[at].line > 0 ? t->lines.list[at].line : 0;
	location.mapping_index = mapping_of(t, f);
	location.lines = lines;
	location.n_lines = 1;
	type = frame_type_of(t, f->kind);
	location.attribute_indices = &type;
	location.n_attribute_indices = type != 0;
	part.location_table = list;
	part.n_location_table = 1;
	put_part(t, OTLP_LOCATIONS, &part);
	return (__s32)at + 1;
}

static __s32 put_stack(struct otlp_tables *t, __u32 from, __u32 cnt)
{
	Krait__Otlp__ProfilesDictionary part = KRAIT__OTLP__PROFILES_DICTIONARY__INIT;
	Krait__Otlp__Stack stack = KRAIT__OTLP__STACK__INIT, *list[] = { &stack };

	t->stacks[t->stack_cnt] = (struct otlp_stack){ from, cnt };
	stack.location_indices = t->locations + from;
	stack.n_location_indices = cnt;
	part.stack_table = list;
	part.n_stack_table = 1;
	put_part(t, OTLP_STACKS, &part);
	return (__s32)t->stack_cnt++;
}

/* Makes the locations from index from on a stack. Returns its index, old or new. */
static __s32 intern_stack(struct otlp_tables *t, __u32 from)
{
	__u32 cnt = t->location_cnt - from;
	size_t size = cnt * sizeof(t->locations[0]);
	__u32 hash = idindex_hash_bytes(t->locations + from, size, 0);
	const struct idindex_slot *slot;

	idindex_for_each(&t->stack_find, hash, slot) {
		const struct otlp_stack *s = &t->stacks[slot->id];

		if (s->cnt == cnt && !memcmp(t->locations + s->at, t->locations + from, size)) {
			t->location_cnt = from;
			return (__s32)slot->id;
		}
	}
	if (vec_reserve(t->stacks, t->stack_cap, t->stack_cnt + 1) ||
	    idindex_reserve(&t->stack_find)) {
		t->failed = true;
		return 0;
	}
	idindex_insert(&t->stack_find, hash, t->stack_cnt);
	return put_stack(t, from, cnt);
}

__s32 otlp_tables_stack(struct otlp_tables *t, __u32 node)
{
	__u32 from = t->location_cnt, at = node;

	if (t->stack_of[node])
		return (__s32)t->stack_of[node];
	while (at) {
		const struct profile_node *n = dict__node_at(t->dict, at);
		const struct profile_frame *f = dict__frame_at(t->dict, n->frame);

		if (is_code(f)) {
			if (vec_reserve(t->locations, t->location_cap, t->location_cnt + 1)) {
				t->failed = true;
				return 0;
			}
			t->locations[t->location_cnt] = location_of(t, f);
			t->location_cnt++;
		}
		at = n->parent;
	}
	if (t->location_cnt > from)
		t->stack_of[node] = (__u32)intern_stack(t, from);
	return (__s32)t->stack_of[node];
}

/* ---- life ------------------------------------------------------------------------------------- */

/* Writes entry 0 of every table. */
static void put_zeroes(struct otlp_tables *t)
{
	Krait__Otlp__Mapping mapping = KRAIT__OTLP__MAPPING__INIT, *mappings[] = { &mapping };
	Krait__Otlp__Location location = KRAIT__OTLP__LOCATION__INIT, *locations[] = { &location };
	Krait__Otlp__Function function = KRAIT__OTLP__FUNCTION__INIT, *functions[] = { &function };
	Krait__Otlp__Link link = KRAIT__OTLP__LINK__INIT, *links[] = { &link };
	Krait__Otlp__KeyValueAndUnit attribute = KRAIT__OTLP__KEY_VALUE_AND_UNIT__INIT;
	Krait__Otlp__KeyValueAndUnit *attributes[] = { &attribute };
	Krait__Otlp__Stack stack = KRAIT__OTLP__STACK__INIT, *stacks[] = { &stack };
	Krait__Otlp__ProfilesDictionary parts[OTLP_TABLE_CNT];

	for (int i = 0; i < OTLP_TABLE_CNT; i++)
		krait__otlp__profiles_dictionary__init(&parts[i]);
	parts[OTLP_MAPPINGS].mapping_table = mappings;
	parts[OTLP_LOCATIONS].location_table = locations;
	parts[OTLP_FUNCTIONS].function_table = functions;
	parts[OTLP_LINKS].link_table = links;
	parts[OTLP_ATTRIBUTES].attribute_table = attributes;
	parts[OTLP_STACKS].stack_table = stacks;
	parts[OTLP_MAPPINGS].n_mapping_table = parts[OTLP_LOCATIONS].n_location_table = 1;
	parts[OTLP_FUNCTIONS].n_function_table = parts[OTLP_LINKS].n_link_table = 1;
	parts[OTLP_ATTRIBUTES].n_attribute_table = parts[OTLP_STACKS].n_stack_table = 1;
	for (int i = 0; i < OTLP_TABLE_CNT; i++)
		put_part(t, (enum otlp_table)i, &parts[i]);
	put_string(t, "");
	t->attribute_cnt = t->stack_cnt = 1;
}

int otlp_tables_init(struct otlp_tables *t, const struct dict *dict,
		     const struct otlp_options *options)
{
	*t = (struct otlp_tables){ .dict = dict, .options = options };
	t->stack_of = calloc((size_t)dict__node_cnt(dict) + 1, sizeof(*t->stack_of));
	if (!t->stack_of || vec_reserve(t->stacks, t->stack_cap, 1))
		return -ENOMEM;
	put_zeroes(t);
	return t->failed ? -ENOMEM : 0;
}

void otlp_tables_free(struct otlp_tables *t)
{
	for (int i = 0; i < OTLP_TABLE_CNT; i++)
		bytes_free(&t->packed[i]);
	places_free(&t->strings);
	places_free(&t->functions);
	places_free(&t->lines);
	places_free(&t->mappings);
	idindex_free(&t->fact_find);
	idindex_free(&t->stack_find);
	free(t->string_index);
	free(t->facts);
	free(t->fact_index);
	free(t->locations);
	free(t->stacks);
	free(t->stack_of);
	*t = (struct otlp_tables){ 0 };
}
