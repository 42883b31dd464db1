/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dso/dso.h"
#include "capture/dso/dso_reader.h"
#include "capture/import/code_listing.h"
#include "capture/import/mappings.h"
#include "capture/import/native_frames.h"
#include "capture/import/object_file.h"
#include "capture/import/running_kernel.h"
#include "profile/frames.h"
#include "profile/idindex.h"
#include "profile/marks.h"
#include "native/names/kernel_symbols.h"
#include "process/space/modules.h"
#include "native/names/native_files.h"
#include "base/data/cleanup.h"
#include "base/data/vec.h"

/* A machine has some thousand; a hostile file may claim any number. */
#define MAX_OBJECTS 65536

struct object {
	struct object_file file;
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
	bool foreign;
	struct running_kernel kernel;
	struct idindex kernel_index; /* of answers for addresses of the kernel */
	struct native_frames natives;
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
	o->dict = o->natives.dict = dict;
	o->natives.files = o->files;
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
	native_frames_deinit(&o->natives);
	native_files__free(o->files);
	modules__free(o->modules);
	running_kernel_free(&o->kernel);
	free(o);
}

void objects__set_foreign(struct objects *o)
{
	o->foreign = true;
}

void objects__want_sources(struct objects *o, bool inlined)
{
	native_frames_want_sources(&o->natives, inlined);
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
	err = object_file_open(&o->list[o->cnt].file, record, o->files, o->foreign,
			       o->capture_path);
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
	s = address < KERNEL_HIDDEN ? running_kernel_find(&o->kernel, address) : NULL;
	if (!s)
		return frame_kernel(o->dict, NULL, "", 0);
	if (!s->tag)
		s->tag = frame_kernel(o->dict, s->name, s->module, 0);
	return (__u32)s->tag;
}

/* What the newest DSO that knows the place has stored. */
static struct stored_name find_stored(struct objects *o, const struct object *object, __u64 offset)
{
	struct stored_name stored = { NULL, NULL };

	for (__u32 i = o->cnt; i-- > 0 && !stored.name;) {
		struct object_file *dso = &o->list[i].file;

		if (!dso->is_dso)
			continue;
		stored.name = object_file_native(dso, object->file.path, offset);
		stored.names = dso->natives;
	}
	return stored;
}

static __u32 resolve(struct objects *o, struct object *object, __u64 offset)
{
	struct profile_frame frame;
	char text[64];
	__u16 opcode = 0;

	if (!object->file.is_dso) {
		const struct stored_name stored = find_stored(o, object, offset);
		__u32 native = native_frames_make(&o->natives, &object->file, offset, &stored);

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

const struct dso_reader *objects__dso_at(const struct objects *o, __u32 n)
{
	for (__u32 i = 0; i < o->cnt; i++) {
		if (o->list[i].file.dso && !n--)
			return o->list[i].file.dso;
	}
	return NULL;
}
