/* SPDX-License-Identifier: BSD-2-Clause */
#include "import/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dso/dso.h"
#include "dso/dso_reader.h"
#include "import/code_listing.h"
#include "import/mappings.h"
#include "import/object_file.h"
#include "import/running_kernel.h"
#include "profile/frames.h"
#include "profile/idindex.h"
#include "profile/marks.h"
#include "profile/parts.h"
#include "symbol/fetched_symbols.h"
#include "symbol/kernel_symbols.h"
#include "proc/modules.h"
#include "symbol/native_files.h"
#include "symbol/source_halves.h"
#include "symbol/source_lines.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* A machine has some thousand; a hostile file may claim any number. */
#define MAX_OBJECTS 65536

struct object {
	struct object_file file;
	bool asked; /* a server was asked for its symbols */
	__u32 frame; /* stands for all of it; 0: not made yet */
};

/* An answer, by object and offset. */
struct answer {
	__u64 offset;
	__u32 object, frame;
};

struct objects {
	struct dict *dict;
	const char *capture_path;
	struct object *list;
	__u32 cnt, cap;
	struct idindex by_name; /* ids are numbers + 1 */
	struct answer *answers; /* [0] is unused */
	__u32 answer_cnt, answer_cap;
	struct idindex index;
	struct modules *modules;
	struct native_files *files; /* NULL: no file is opened */
	struct running_kernel kernel;
	struct idindex kernel_index; /* of answers for addresses of the kernel */
	struct source_lines *sources; /* NULL: not wanted, or no file is opened */
	bool want_sources, want_inlined;
	struct fetched_symbols fetched;
	__u32 unknown_frame; /* 0: not made yet */
	__u64 unresolved;
};

struct objects *objects__new(struct dict *dict, const char *capture_path, bool alone)
{
	struct objects *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->modules = alone ? NULL : modules__new();
	o->files = o->modules ? native_files__new(o->modules) : NULL;
	if (!o->files && !alone) {
		modules__free(o->modules);
		free(o);
		return NULL;
	}
	o->dict = dict;
	o->capture_path = capture_path;
	return o;
}

void objects__free(struct objects *o)
{
	if (!o)
		return;
	for (__u32 i = 0; i < o->cnt; i++) {
		object_file_close(&o->list[i].file);
	}
	free(o->list);
	free(o->answers);
	idindex_free(&o->index);
	idindex_free(&o->by_name);
	idindex_free(&o->kernel_index);
	if (o->sources && o->want_inlined)
		source_halves__say_missing(source_lines__halves(o->sources));
	source_lines__free(o->sources);
	native_files__free(o->files);
	modules__free(o->modules);
	running_kernel_free(&o->kernel);
	free(o);
}

void objects__want_sources(struct objects *o, bool inlined)
{
	o->want_sources = true;
	o->want_inlined = inlined;
	if (o->files && !o->sources)
		o->sources = source_lines__new(o->files);
}

int objects__find(struct objects *o, const struct perf_read *record, __u32 *ret)
{
	__u32 hash = idindex_hash_bytes(record->text, strlen(record->text), record->build_id_size);
	const struct idindex_slot *slot;
	int err;

	idindex_for_each(&o->by_name, hash, slot) {
		if (object_file_is(&o->list[slot->id - 1].file, record)) {
			*ret = slot->id - 1;
			return 0;
		}
	}
	if (o->cnt == MAX_OBJECTS)
		return -E2BIG;
	if (vec_reserve(o->list, o->cap, o->cnt + 1) || idindex_reserve(&o->by_name))
		return -ENOMEM;
	o->list[o->cnt] = (struct object){ 0 };
	err = object_file_open(&o->list[o->cnt].file, record, o->files, o->capture_path);
	if (err)
		return err;
	*ret = o->cnt++;
	idindex_insert(&o->by_name, hash, o->cnt);
	return 0;
}

/* ---- frames ----------------------------------------------------------------------------------- */

/*
 * All addresses of an object whose symbols are unknown here share one frame, as in the recording:
 * "[libfoo.so]".
 */
static __u32 object_frame(struct objects *o, struct object *object)
{
	/* Memory without a file, as perf writes it. */
	const char *path = strcmp(object->file.path, "//anon") ? object->file.path : "";
	cleanup_free char *name = object->frame ? NULL : native_unnamed(path);

	if (name)
		object->frame =
			frame_native(o->dict, &(struct native_place){ .name = name, .path = path });
	return object->frame;
}

void objects__set_kernel(struct objects *o, __u64 text_start)
{
	running_kernel_set_text(&o->kernel, text_start);
}

void objects__same_kernel(struct objects *o)
{
	o->kernel.is_captured = true;
}

/* Uses the names stored when the capture was made; the newest DSO has the most. */
static __u32 stored_kernel_frame(struct objects *o, __u64 address)
{
	const struct kernel_name *name = NULL;

	for (__u32 i = o->cnt; i-- > 0 && !name;) {
		if (o->list[i].file.is_dso)
			name = object_file_kernel(&o->list[i].file, address);
	}
	return name ? frame_kernel(o->dict, name->name, name->module, 0) : 0;
}

static __u32 resolve_kernel(struct objects *o, __u64 address)
{
	__u32 frame = stored_kernel_frame(o, address);
	struct kernel_symbol *s;

	if (frame)
		return frame;
	s = running_kernel_find(&o->kernel, address);
	if (!s)
		return frame_kernel(o->dict, NULL, "", 0);
	if (!s->tag)
		s->tag = frame_kernel(o->dict, s->name, s->module, 0);
	return (__u32)s->tag;
}

/*
 * The frame of a place with known lines: these become its parts, and its address, which is unique,
 * is the place's number.
 */
static __u32 place_frame(struct objects *o, struct native_place *place,
			 const struct source_frame *lines, unsigned cnt)
{
	__u32 frame;

	if (!cnt)
		return frame_native(o->dict, place);
	place->address = (__u64)o->answer_cnt + 1;
	frame = frame_native(o->dict, place);
	place->address = 0;
	if (frame && !parts_add(o->dict, frame, place, lines, cnt, o->want_inlined))
		return frame;
	return frame_native(o->dict, place);
}

/* From the file's DWARF. */
static unsigned read_lines(struct objects *o, const struct object *object, __u64 offset,
			   struct source_frame *ret)
{
	if (!o->sources || !object->file.native ||
	    source_lines__find(o->sources, object->file.native, &offset, 1) <= 0)
		return 0;
	return source_lines__at(o->sources, 0, ret);
}

/* Stored beside the name. */
static unsigned stored_lines(const struct native_names *names, const struct native_name *name,
			     struct source_frame *ret)
{
	unsigned cnt = 0;

	for (; cnt < name->line_cnt && cnt < SOURCE_FRAMES_MAX; cnt++) {
		const struct native_line *line = &names->lines[name->first_line + cnt];

		ret[cnt] = (struct source_frame){
			line->name ? native_names_text(names, line->name) : NULL,
			line->source ? native_names_text(names, line->source) : NULL, line->line
		};
	}
	return cnt;
}

/* The stored name; NULL: unknown. */
static const struct native_name *find_stored(struct objects *o, const struct object *object,
					     __u64 offset, const struct native_names **ret)
{
	const struct native_name *name = NULL;

	for (__u32 i = o->cnt; i-- > 0 && !name;) {
		if (!o->list[i].file.is_dso)
			continue;
		name = object_file_native(&o->list[i].file, object->file.path, offset);
		*ret = o->list[i].file.natives;
	}
	return name;
}

/* If the file is gone or has been replaced. */
static __u32 stored_native_frame(struct objects *o, const struct object *object, __u64 offset)
{
	struct source_frame lines[SOURCE_FRAMES_MAX];
	const struct native_names *names = NULL;
	const struct native_name *name = find_stored(o, object, offset, &names);
	struct native_place place = { .path = object->file.path };

	if (!name)
		return 0;
	place.name = native_names_text(names, name->name);
	place.is_wrapper = name->is_wrapper;
	return place_frame(o, &place, lines,
			   o->want_sources ? stored_lines(names, name, lines) : 0);
}

/* Has the recording a name, perhaps from a server, that the file lacks? */
static bool knows_better(struct objects *o, const struct object *object, __u64 offset,
			 const struct native_symbol *found)
{
	const struct native_names *names = NULL;
	const struct native_name *stored;

	if (found != native_files__unnamed(o->files, object->file.native))
		return false;
	stored = find_stored(o, object, offset, &names);
	return stored && strcmp(native_names_text(names, stored->name), found->name) != 0;
}

/* From the file, together with what was stored because it had been read then. */
static __u32 native_frame(struct objects *o, struct object *object, __u64 offset)
{
	struct source_frame lines[SOURCE_FRAMES_MAX];
	struct native_symbol *s;
	struct native_place place = { .path = object->file.path };
	const struct native_names *names = NULL;
	const struct native_name *stored;
	unsigned cnt = 0;

	if (!object->asked)
		fetched_symbols_add(&o->fetched, o->files, object->file.native);
	object->asked = true;
	s = native_files__find(o->files, object->file.native, offset);
	if (!s)
		return 0;
	if (knows_better(o, object, offset, s))
		return stored_native_frame(o, object, offset);
	place.name = s->name;
	place.is_wrapper = s->is_wrapper;
	if (o->want_sources) {
		stored = find_stored(o, object, offset, &names);
		cnt = stored ? stored_lines(names, stored, lines) : 0;
		if (!cnt)
			cnt = read_lines(o, object, offset, lines);
	}
	if (cnt)
		return place_frame(o, &place, lines, cnt);
	if (!s->tag)
		s->tag = frame_native(o->dict, &place);
	return (__u32)s->tag;
}

static __u32 resolve(struct objects *o, struct object *object, __u64 offset)
{
	struct profile_frame frame;
	char text[64];
	__u16 opcode = 0;

	if (!object->file.is_dso) {
		__u32 native = object->file.native ? native_frame(o, object, offset) :
						     stored_native_frame(o, object, offset);

		return native ? native : object_frame(o, object);
	}
	opcode = (__u16)(offset / DSO_OPCODE_STRIDE);
	offset %= DSO_OPCODE_STRIDE;
	if (!object->file.dso || !dso_reader__find(object->file.dso, o->dict, offset, &frame)) {
		/* Without names, places can still be told apart. */
		o->unresolved++;
		snprintf(text, sizeof(text), MARK_PYTHON_FORMAT, (unsigned long long)offset);
		return frame_mark(o->dict, text);
	}
	if (opcode && frame.kind != FRAME_MARK)
		frame.opcode = opcode;
	else
		frame.unit = -1;
	return dict__frame(o->dict, &frame);
}

static int reserve_answer(struct objects *o)
{
	if (vec_reserve(o->answers, o->answer_cap, o->answer_cnt + 2))
		return -ENOMEM;
	return idindex_reserve(&o->index);
}

static __u32 answer(struct objects *o, __u32 object, __u64 offset)
{
	__u32 hash = idindex_hash_pair(object + (__u32)(offset >> 32), (__u32)offset), frame;
	const struct idindex_slot *slot;

	idindex_for_each(&o->index, hash, slot) {
		const struct answer *a = &o->answers[slot->id];

		if (a->object == object && a->offset == offset)
			return a->frame;
	}
	frame = resolve(o, &o->list[object], offset);
	if (!frame || reserve_answer(o))
		return frame;
	o->answers[++o->answer_cnt] = (struct answer){ offset, object, frame };
	idindex_insert(&o->index, hash, o->answer_cnt);
	return frame;
}

static __u32 kernel_frame(struct objects *o, __u64 address)
{
	__u32 hash = idindex_hash_pair((__u32)(address >> 32), (__u32)address), frame;
	const struct idindex_slot *slot;

	idindex_for_each(&o->kernel_index, hash, slot) {
		if (o->answers[slot->id].offset == address)
			return o->answers[slot->id].frame;
	}
	frame = resolve_kernel(o, address);
	if (!frame || reserve_answer(o) || idindex_reserve(&o->kernel_index))
		return frame;
	o->answers[++o->answer_cnt] = (struct answer){ .offset = address, .frame = frame };
	idindex_insert(&o->kernel_index, hash, o->answer_cnt);
	return frame;
}

bool objects__is_python(const struct objects *o, const struct mappings *m, __u64 address)
{
	const struct mapping *at = mappings_find(m, address);

	return at && o->list[at->object].file.is_dso;
}

/*
 * The offset in the file. A DSO is mapped once per opcode; the opcode is in the bits above the
 * offset.
 */
static __u64 place_in(const struct objects *o, const struct mapping *at, __u64 address)
{
	__u64 offset = address - at->start + at->offset;

	if (!o->list[at->object].file.is_dso)
		return offset;
	return offset % DSO_OPCODE_STRIDE +
	       (dso_has(at->start) ? dso_opcode(at->start) * DSO_OPCODE_STRIDE : 0);
}

__u32 objects__frame(struct objects *o, const struct mappings *m, __u64 address, bool kernel)
{
	const struct mapping *at;

	if (kernel)
		return kernel_frame(o, address);
	at = mappings_find(m, address);
	if (at)
		return answer(o, (__u32)at->object, place_in(o, at, address));
	if (!o->unknown_frame)
		o->unknown_frame = frame_unknown(o->dict);
	return o->unknown_frame;
}

int objects__list_code(struct objects *o)
{
	cleanup_free struct code_place *places = calloc((size_t)o->answer_cnt + 1, sizeof(*places));
	__u32 cnt = 0;

	if (!places)
		return -ENOMEM;
	for (__u32 i = 1; i <= o->answer_cnt; i++) {
		const struct answer *a = &o->answers[i];
		const struct profile_frame *frame = dict__frame_at(o->dict, a->frame);
		struct object_file *file = a->object < o->cnt ? &o->list[a->object].file : NULL;

		if (!file || !file->is_dso || !file->dso || !frame->opcode || frame->unit < 0)
			continue;
		/* A frame's address is its slot's + 1. */
		places[cnt++] = (struct code_place){
			.offset = (a->offset % DSO_OPCODE_STRIDE) / DSO_SLOT * DSO_SLOT,
			.opcode = frame->opcode,
			.reader = file->dso,
		};
	}
	code_list(o->dict, places, cnt);
	return 0;
}

const struct dso_reader *objects__dso(const struct objects *o)
{
	for (__u32 i = o->cnt; i-- > 0;) {
		if (o->list[i].file.dso)
			return o->list[i].file.dso;
	}
	return NULL;
}

const char *objects__missing(const struct objects *o)
{
	for (__u32 i = 0; i < o->cnt; i++) {
		if (o->list[i].file.is_dso && !o->list[i].file.dso)
			return o->list[i].file.path;
	}
	return NULL;
}

__u64 objects__unresolved(const struct objects *o)
{
	return o->unresolved;
}
