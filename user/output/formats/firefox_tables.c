/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/formats/firefox_tables.h"

#include <errno.h>
#include <stdlib.h>

#include "base/data/cleanup.h"

/* Adds a function, with the file that its lines refer to. */
static __u32 add_function(struct firefox_tables *t, const struct profile_frame *f, __u32 file)
{
	const struct profile_frame place = {
		.kind = f->kind,
		.name = f->name,
		.file = file,
		.first_line = f->first_line > 0 ? f->first_line : -1,
		.line = -1,
	};

	return places_add(&t->functions, &place);
}

static int number_places(struct firefox_tables *t)
{
	__u32 cnt = dict__frame_cnt(t->dict);
	cleanup_free bool *counted = places_counted(t->profile);

	t->line_of = calloc((size_t)cnt + 1, sizeof(*t->line_of));
	t->function_of = calloc((size_t)cnt + 1, sizeof(*t->function_of));
	t->source_of = calloc((size_t)cnt + 1, sizeof(*t->source_of));
	if (!t->line_of || !t->function_of || !t->source_of || !counted)
		return -ENOMEM;
	t->line_of[0] = PLACE_NONE;
	for (__u32 i = 1; i <= cnt; i++) {
		const struct profile_frame *f = dict__frame_at(t->dict, i);
		__u32 line, function, source, file;

		t->line_of[i] = PLACE_NONE;
		if (!counted[i] || !is_code(f))
			continue;
		line = places_add_frame(&t->lines, f, true);
		file = f->source ? f->source : f->file;
		function = add_function(t, f, file);
		source = file ? places_add_string(&t->sources, file) : 0;
		if (line == PLACE_NONE || function == PLACE_NONE || source == PLACE_NONE ||
		    places_add_string(&t->names, f->name) == PLACE_NONE)
			return -ENOMEM;
		t->line_of[i] = line;
		t->function_of[line] = function;
		t->source_of[function] = file ? source : PLACE_NONE;
	}
	return 0;
}

static int number_stacks(struct firefox_tables *t)
{
	__u32 cnt = dict__node_cnt(t->dict), next = 0;

	t->stack_of = calloc((size_t)cnt + 1, sizeof(*t->stack_of));
	if (!t->stack_of)
		return -ENOMEM;
	t->stack_of[0] = PLACE_NONE;
	for (__u32 i = 1; i <= cnt; i++) {
		const struct profile_node *n = dict__node_at(t->dict, i);

		t->stack_of[i] = t->line_of[n->frame] == PLACE_NONE ? t->stack_of[n->parent] :
								      next++;
	}
	return 0;
}

void firefox_put_index(struct json *j, __u32 index)
{
	if (index == PLACE_NONE)
		json_null(j);
	else
		json_number(j, index);
}

/* Writes a column of a table: "name": [value of 0, value of 1 …]. */
static void put_same(struct json *j, const char *key, __u32 cnt, int value)
{
	json_put_array(j, key);
	for (__u32 i = 0; i < cnt; i++)
		json_number(j, value);
	json_close_array(j);
}

static void put_nulls(struct json *j, const char *key, __u32 cnt)
{
	json_put_array(j, key);
	for (__u32 i = 0; i < cnt; i++)
		json_null(j);
	json_close_array(j);
}

static void put_stack_table(struct firefox_tables *t, struct json *j)
{
	__u32 nodes = dict__node_cnt(t->dict), cnt = 0;

	json_put_object(j, "stackTable");
	json_put_array(j, "frame");
	for (__u32 i = 1; i <= nodes; i++) {
		__u32 line = t->line_of[dict__node_at(t->dict, i)->frame];

		if (line == PLACE_NONE)
			continue;
		json_number(j, line);
		cnt++;
	}
	json_close_array(j);
	json_put_array(j, "prefix");
	for (__u32 i = 1; i <= nodes; i++) {
		const struct profile_node *n = dict__node_at(t->dict, i);

		if (t->line_of[n->frame] != PLACE_NONE)
			firefox_put_index(j, t->stack_of[n->parent]);
	}
	json_close_array(j);
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

static unsigned category_of(const struct firefox_tables *t, const struct profile_frame *place)
{
	enum state state;

	switch (place->kind) {
	case FRAME_PYTHON:
		return FIREFOX_PYTHON;
	case FRAME_NATIVE:
		return FIREFOX_NATIVE;
	case FRAME_KERNEL:
		return FIREFOX_KERNEL;
	default:
		state = state_of_mark(dict__text(t->dict, place->name));
		return state == STATE_UNKNOWN ? FIREFOX_OTHER : firefox_wait_category(state);
	}
}

static void put_frame_table(struct firefox_tables *t, struct json *j)
{
	__u32 cnt = t->lines.cnt;

	json_put_object(j, "frameTable");
	put_same(j, "address", cnt, -1);
	put_same(j, "inlineDepth", cnt, 0);
	json_put_array(j, "category");
	for (__u32 i = 0; i < cnt; i++)
		json_number(j, category_of(t, &t->lines.list[i]));
	json_close_array(j);
	put_same(j, "subcategory", cnt, 0);
	json_put_array(j, "func");
	for (__u32 i = 0; i < cnt; i++)
		json_number(j, t->function_of[i]);
	json_close_array(j);
	put_nulls(j, "nativeSymbol", cnt);
	put_nulls(j, "innerWindowID", cnt);
	json_put_array(j, "line");
	for (__u32 i = 0; i < cnt; i++)
		firefox_put_index(j, t->lines.list[i].line > 0 ? (__u32)t->lines.list[i].line :
								 PLACE_NONE);
	json_close_array(j);
	put_nulls(j, "column", cnt);
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

/* String indexes: the names first, then the files. */
static void put_func_table(struct firefox_tables *t, struct json *j)
{
	__u32 cnt = t->functions.cnt;

	json_put_object(j, "funcTable");
	json_put_array(j, "name");
	for (__u32 i = 0; i < cnt; i++)
		json_number(j, places_add_string(&t->names, t->functions.list[i].name));
	json_close_array(j);
	json_put_array(j, "isJS");
	for (__u32 i = 0; i < cnt; i++)
		json_bool(j, false);
	json_close_array(j);
	json_put_array(j, "relevantForJS");
	for (__u32 i = 0; i < cnt; i++)
		json_bool(j, t->functions.list[i].kind == FRAME_PYTHON);
	json_close_array(j);
	put_same(j, "resource", cnt, -1);
	json_put_array(j, "source");
	for (__u32 i = 0; i < cnt; i++)
		firefox_put_index(j, t->source_of[i]);
	json_close_array(j);
	json_put_array(j, "lineNumber");
	for (__u32 i = 0; i < cnt; i++) {
		int line = t->functions.list[i].first_line;

		firefox_put_index(j, line > 0 ? (__u32)line : PLACE_NONE);
	}
	json_close_array(j);
	put_nulls(j, "columnNumber", cnt);
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

static void put_sources(struct firefox_tables *t, struct json *j)
{
	__u32 cnt = t->sources.cnt;

	json_put_object(j, "sources");
	put_nulls(j, "id", cnt);
	json_put_array(j, "filename");
	for (__u32 i = 0; i < cnt; i++)
		json_number(j, t->names.cnt + i);
	json_close_array(j);
	put_same(j, "startLine", cnt, 1);
	put_same(j, "startColumn", cnt, 1);
	put_nulls(j, "sourceMapURL", cnt);
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

int firefox_tables_build(struct firefox_tables *t)
{
	int err = number_places(t);

	return err ? err : number_stacks(t);
}

void firefox_tables_free(struct firefox_tables *t)
{
	places_free(&t->lines);
	places_free(&t->functions);
	places_free(&t->sources);
	places_free(&t->names);
	free(t->line_of);
	free(t->function_of);
	free(t->source_of);
	free(t->stack_of);
}

/* Writes a table that has columns (NULL-terminated) but no rows. */
static void put_empty(struct json *j, const char *name, const char *const *columns)
{
	json_put_object(j, name);
	for (; *columns; columns++) {
		json_put_array(j, *columns);
		json_close_array(j);
	}
	json_put_number(j, "length", 0);
	json_close_object(j);
}

__u32 firefox_state_string(const struct firefox_tables *t, enum state state)
{
	return t->names.cnt + t->sources.cnt + (__u32)state;
}

void firefox_tables_put(struct firefox_tables *t, struct json *j)
{
	static const char *const resource[] = { "lib", "name", "host", "type", NULL };
	static const char *const native[] = { "libIndex", "address", "name", "functionSize", NULL };

	json_put_object(j, "shared");
	put_stack_table(t, j);
	json_newline(j);
	put_frame_table(t, j);
	json_newline(j);
	put_func_table(t, j);
	json_newline(j);
	put_empty(j, "resourceTable", resource);
	put_empty(j, "nativeSymbols", native);
	put_sources(t, j);
	json_put_array(j, "stringArray");
	for (__u32 i = 0; i < t->names.cnt; i++) {
		json_newline(j);
		json_string(j, place_name(t->dict, &t->names.list[i]));
	}
	for (__u32 i = 0; i < t->sources.cnt; i++) {
		json_newline(j);
		json_string(j, dict__text(t->dict, t->sources.list[i].name));
	}
	for (int state = 0; state < STATE_CNT; state++)
		json_string(j, state_name((enum state)state));
	json_close_array(j);
	json_close_object(j);
	json_newline(j);
}
