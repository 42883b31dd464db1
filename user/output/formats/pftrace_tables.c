/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/formats/pftrace_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/text/printable.h"

/* Frames in a stack's text, the leaf first; its numbers have them all. */
#define TEXT_FRAMES 48

int pftrace_tables_build(struct pftrace_tables *t)
{
	__u32 cnt = dict__frame_cnt(t->dict);

	t->line_of = calloc((size_t)cnt + 1, sizeof(*t->line_of));
	t->used = calloc((size_t)dict__node_cnt(t->dict) + 1, sizeof(*t->used));
	if (!t->line_of || !t->used)
		return -ENOMEM;
	t->line_of[0] = PLACE_NONE;
	for (__u32 i = 1; i <= cnt; i++) {
		const struct profile_frame *f = dict__frame_at(t->dict, i);

		t->line_of[i] = PLACE_NONE;
		if (!is_code(f))
			continue;
		t->line_of[i] = places_add_frame(&t->lines, f, true);
		if (t->line_of[i] == PLACE_NONE ||
		    places_add_string(&t->names, f->name) == PLACE_NONE ||
		    places_add_string(&t->files, t->lines.list[t->line_of[i]].file) == PLACE_NONE)
			return -ENOMEM;
	}
	return 0;
}

void pftrace_tables_free(struct pftrace_tables *t)
{
	places_free(&t->lines);
	places_free(&t->names);
	places_free(&t->files);
	free(t->line_of);
	free(t->used);
}

/* ---- strings ---------------------------------------------------------------------------------- */

/* The fields of InternedData that are string lists. */
enum field { CATEGORIES, EVENT_NAMES, NOTE_NAMES, FUNCTIONS, MAPPINGS, SOURCES, VALUES };

static int put_text(struct pftrace_tables *t, enum field field, __u64 iid, const char *text)
{
	Krait__Perfetto__InternedString string = KRAIT__PERFETTO__INTERNED_STRING__INIT;
	Krait__Perfetto__InternedString *list[] = { &string };
	Krait__Perfetto__InternedData data = KRAIT__PERFETTO__INTERNED_DATA__INIT;
	cleanup_free char *safe = printable(text);
	const struct {
		Krait__Perfetto__InternedString ***list;
		size_t *cnt;
	} fields[] = {
		[CATEGORIES] = { &data.event_categories, &data.n_event_categories },
		[EVENT_NAMES] = { &data.event_names, &data.n_event_names },
		[NOTE_NAMES] = { &data.debug_annotation_names, &data.n_debug_annotation_names },
		[FUNCTIONS] = { &data.function_names, &data.n_function_names },
		[MAPPINGS] = { &data.mapping_paths, &data.n_mapping_paths },
		[SOURCES] = { &data.source_paths, &data.n_source_paths },
		[VALUES] = { &data.debug_annotation_string_values,
			     &data.n_debug_annotation_string_values },
	};

	if (!safe)
		return -ENOMEM;
	string.iid = iid;
	string.str = (ProtobufCBinaryData){ strlen(safe), (__u8 *)safe };
	*fields[field].list = list;
	*fields[field].cnt = 1;
	return t->put(t->put_ctx, &data);
}

static int put_fixed(struct pftrace_tables *t)
{
	static const char *const notes[PFTRACE_NOTES] = {
		[PFTRACE_NOTE_STACK] = "stack",	      [PFTRACE_NOTE_COMMAND] = "command",
		[PFTRACE_NOTE_HOST] = "host",	      [PFTRACE_NOTE_KERNEL] = "kernel",
		[PFTRACE_NOTE_ACCOUNTS] = "accounts",
	};
	int err = 0;

	for (int i = 1; i < STATE_CNT && !err; i++) {
		err = put_text(t, CATEGORIES, (__u64)i, state_name((enum state)i));
		if (!err)
			err = put_text(t, EVENT_NAMES, (__u64)i, state_name((enum state)i));
	}
	for (int i = 1; i < PFTRACE_NOTES && !err; i++)
		err = put_text(t, NOTE_NAMES, (__u64)i, notes[i]);
	if (!err)
		err = put_text(t, CATEGORIES, PFTRACE_CATEGORY_FUNCTION, "function");
	if (!err)
		err = put_text(t, CATEGORIES, PFTRACE_CATEGORY_EVENT, "event");
	if (!err)
		err = put_text(t, EVENT_NAMES, PFTRACE_NAME_RECORDING, "recording");
	for (unsigned i = 0; i < t->profile->event_cnt && !err; i++)
		err = put_text(t, EVENT_NAMES, PFTRACE_NAME_EVENTS + i,
			       profile__counts(t->profile, i)->event.name);
	return err;
}

static int put_names(struct pftrace_tables *t)
{
	int err = 0;

	for (__u32 i = 0; i < t->names.cnt && !err; i++) {
		const char *name = place_name(t->dict, &t->names.list[i]);

		err = put_text(t, FUNCTIONS, i + 1, name);
		if (!err)
			err = put_text(t, EVENT_NAMES, PFTRACE_NAMES + i, name);
	}
	return err;
}

/* A file is also a mapping: viewers group functions by mappings. */
static int put_files(struct pftrace_tables *t)
{
	int err = 0;

	for (__u32 i = 0; i < t->files.cnt && !err; i++) {
		const char *path = dict__text(t->dict, t->files.list[i].name);
		uint64_t iid = i + 1;
		Krait__Perfetto__Mapping mapping = KRAIT__PERFETTO__MAPPING__INIT;
		Krait__Perfetto__Mapping *list[] = { &mapping };
		Krait__Perfetto__InternedData data = KRAIT__PERFETTO__INTERNED_DATA__INIT;

		mapping.iid = iid;
		mapping.path_string_ids = &iid;
		mapping.n_path_string_ids = 1;
		data.mappings = list;
		data.n_mappings = 1;
		err = put_text(t, MAPPINGS, iid, path);
		if (!err)
			err = put_text(t, SOURCES, iid, path);
		if (!err)
			err = t->put(t->put_ctx, &data);
	}
	return err;
}

int pftrace_tables_put_note(struct pftrace_tables *t, __u64 number, const char *text)
{
	return put_text(t, VALUES, number, text);
}

/* ---- frames and stacks ------------------------------------------------------------------------ */

static Krait__Perfetto__Frame__Kind kind_of(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_PYTHON:
		return KRAIT__PERFETTO__FRAME__KIND__KIND_INTERPRETED;
	case FRAME_NATIVE:
		return KRAIT__PERFETTO__FRAME__KIND__KIND_NATIVE;
	case FRAME_KERNEL:
		return KRAIT__PERFETTO__FRAME__KIND__KIND_KERNEL;
	default:
		return KRAIT__PERFETTO__FRAME__KIND__KIND_UNKNOWN;
	}
}

static int put_frames(struct pftrace_tables *t)
{
	int err = 0;

	for (__u32 i = 0; i < t->lines.cnt && !err; i++) {
		const struct profile_frame *place = &t->lines.list[i];
		Krait__Perfetto__Frame frame = KRAIT__PERFETTO__FRAME__INIT;
		Krait__Perfetto__Frame *list[] = { &frame };
		Krait__Perfetto__InternedData data = KRAIT__PERFETTO__INTERNED_DATA__INIT;

		frame.iid = i + 1;
		frame.function_name_id = places_add_string(&t->names, place->name) + 1;
		frame.mapping_id = places_add_string(&t->files, place->file) + 1;
		frame.source_path_iid = place->file ? frame.mapping_id : 0;
		frame.line_number = place->line > 0 ? (__u32)place->line : 0;
		frame.kind = kind_of(place->kind);
		data.frames = list;
		data.n_frames = 1;
		err = t->put(t->put_ctx, &data);
	}
	return err;
}

static __u32 line_at(const struct pftrace_tables *t, __u32 node)
{
	return t->line_of[dict__node_at(t->dict, node)->frame];
}

bool pftrace_has_code(const struct pftrace_tables *t, __u32 node)
{
	for (; node; node = dict__node_at(t->dict, node)->parent) {
		if (line_at(t, node) != PLACE_NONE)
			return true;
	}
	return false;
}

/* "recv (socket.py:12) < fetch (a.py:7) < …". */
static char *stack_text(const struct pftrace_tables *t, __u32 node)
{
	unsigned shown = 0, more = 0;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (; node; node = dict__node_at(t->dict, node)->parent) {
		const __u32 line = line_at(t, node);
		const struct profile_frame *place;
		const char *file;

		if (line == PLACE_NONE)
			continue;
		place = &t->lines.list[line];
		if (shown == TEXT_FRAMES) {
			more++;
			continue;
		}
		file = dict__text(t->dict, place->file);
		file = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
		fprintf(out, "%s%s", shown++ ? " < " : "", place_name(t->dict, place));
		if (*file && place->line > 0)
			fprintf(out, " (%s:%d)", file, place->line);
		else if (*file)
			fprintf(out, " (%s)", file);
	}
	if (more)
		fprintf(out, " < %u more", more);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* path: has room for the deepest stack. */
static int put_stack(struct pftrace_tables *t, __u32 node, uint64_t *path, __u32 depth)
{
	Krait__Perfetto__Callstack stack = KRAIT__PERFETTO__CALLSTACK__INIT;
	Krait__Perfetto__Callstack *list[] = { &stack };
	Krait__Perfetto__InternedData data = KRAIT__PERFETTO__INTERNED_DATA__INIT;
	cleanup_free char *text = stack_text(t, node);
	__u32 at = depth;
	int err;

	if (!text)
		return -ENOMEM;
	stack.iid = node;
	for (__u32 n = node; n && at; n = dict__node_at(t->dict, n)->parent) {
		if (line_at(t, n) != PLACE_NONE)
			path[--at] = line_at(t, n) + 1;
	}
	stack.frame_ids = path + at;
	stack.n_frame_ids = depth - at;
	data.callstacks = list;
	data.n_callstacks = 1;
	err = t->put(t->put_ctx, &data);
	return err ? err : put_text(t, VALUES, node, text);
}

static int put_stacks(struct pftrace_tables *t)
{
	__u32 cnt = dict__node_cnt(t->dict), depth = 0;
	cleanup_free uint64_t *path = NULL;
	int err = 0;

	for (__u32 i = 1; i <= cnt; i++) {
		if (dict__node_at(t->dict, i)->depth > depth)
			depth = dict__node_at(t->dict, i)->depth;
	}
	path = calloc((size_t)depth + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	for (__u32 i = 1; i <= cnt && !err; i++) {
		if (t->used[i])
			err = put_stack(t, i, path, depth + 1);
	}
	return err;
}

int pftrace_tables_put(struct pftrace_tables *t)
{
	int err = put_fixed(t);

	if (!err)
		err = put_names(t);
	if (!err)
		err = put_files(t);
	if (!err)
		err = put_frames(t);
	return err ? err : put_stacks(t);
}

__u64 pftrace_function(const struct pftrace_tables *t, __u32 node)
{
	__u32 leaf = PLACE_NONE, name;
	struct places *names = (struct places *)&t->names;

	for (; node; node = dict__node_at(t->dict, node)->parent) {
		const __u32 line = line_at(t, node);

		if (line == PLACE_NONE)
			continue;
		if (leaf == PLACE_NONE || t->lines.list[line].kind == FRAME_PYTHON)
			leaf = line;
		if (t->lines.list[line].kind == FRAME_PYTHON)
			break;
	}
	if (leaf == PLACE_NONE)
		return 0;
	name = places_add_string(names, t->lines.list[leaf].name);
	return name == PLACE_NONE ? 0 : PFTRACE_NAMES + name;
}
