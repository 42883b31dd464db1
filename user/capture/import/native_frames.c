/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/native_frames.h"

#include <string.h>

#include "capture/import/object_file.h"
#include "profile/frames.h"
#include "profile/parts.h"
#include "native/names/source_lines.h"

void native_frames_want_sources(struct native_frames *n, bool inlined)
{
	n->want_sources = true;
	n->want_inlined = inlined;
	if (n->files && !n->sources)
		n->sources = source_lines__new(n->files);
}

void native_frames_deinit(struct native_frames *n)
{
	if (n->sources && n->want_inlined)
		source_lines__say_missing(n->sources);
	source_lines__free(n->sources);
}

/*
 * The frame of a place with known lines: these become its parts, and its address, which is unique,
 * is the place's number.
 */
static __u32 place_frame(struct native_frames *n, struct native_place *place,
			 const struct source_frame *lines, unsigned cnt)
{
	__u32 frame;

	if (!cnt)
		return frame_native(n->dict, place);
	place->address = ++n->place_cnt;
	frame = frame_native(n->dict, place);
	place->address = 0;
	if (frame && !parts_add(n->dict, frame, place, lines, cnt, n->want_inlined))
		return frame;
	return frame_native(n->dict, place);
}

/* From the file's DWARF. */
static unsigned read_lines(struct native_frames *n, const struct object_file *file, __u64 offset,
			   struct source_frame *ret)
{
	if (!n->sources || !file->native ||
	    source_lines__find(n->sources, file->native, &offset, 1) <= 0)
		return 0;
	return source_lines__at(n->sources, 0, ret);
}

/* Stored beside the name. */
static unsigned stored_lines(const struct stored_name *stored, struct source_frame *ret)
{
	const struct native_names *names = stored->names;
	unsigned cnt = 0;

	for (; cnt < stored->name->line_cnt && cnt < SOURCE_FRAMES_MAX; cnt++) {
		const struct native_line *line = &names->lines[stored->name->first_line + cnt];

		ret[cnt] = (struct source_frame){
			line->name ? native_names_text(names, line->name) : NULL,
			line->source ? native_names_text(names, line->source) : NULL, line->line
		};
	}
	return cnt;
}

/* If the file is gone or has been replaced. */
static __u32 stored_frame(struct native_frames *n, const struct object_file *file,
			  const struct stored_name *stored)
{
	struct source_frame lines[SOURCE_FRAMES_MAX];
	struct native_place place = { .path = file->path };

	if (!stored->name)
		return 0;
	place.name = native_names_text(stored->names, stored->name->name);
	place.is_wrapper = stored->name->is_wrapper;
	place.is_interpreter = stored->name->is_interpreter;
	return place_frame(n, &place, lines, n->want_sources ? stored_lines(stored, lines) : 0);
}

/* Has the recording a name, perhaps from a server, that the file lacks? */
static bool knows_better(const struct native_frames *n, const struct object_file *file,
			 const struct stored_name *stored, const struct native_symbol *found)
{
	return found == native_files__unnamed(n->files, file->native) && stored->name &&
	       strcmp(native_names_text(stored->names, stored->name->name), found->name) != 0;
}

__u32 native_frames_make(struct native_frames *n, struct object_file *file, __u64 offset,
			 const struct stored_name *stored)
{
	struct source_frame lines[SOURCE_FRAMES_MAX];
	struct native_place place = { .path = file->path };
	struct native_symbol *s;
	unsigned cnt = 0;

	if (!file->native)
		return stored_frame(n, file, stored);
	if (!file->asked)
		fetched_symbols_add(&n->fetched, n->files, file->native);
	file->asked = true;
	s = native_files__find(n->files, file->native, offset);
	if (!s)
		return 0;
	if (knows_better(n, file, stored, s))
		return stored_frame(n, file, stored);
	place.name = s->name;
	place.is_wrapper = s->is_wrapper;
	place.is_interpreter = stored->name && stored->name->is_interpreter;
	/* What was stored is from when the file was there and had been read for that. */
	if (n->want_sources && stored->name)
		cnt = stored_lines(stored, lines);
	if (n->want_sources && !cnt)
		cnt = read_lines(n, file, offset, lines);
	if (cnt)
		return place_frame(n, &place, lines, cnt);
	if (!s->tag)
		s->tag = frame_native(n->dict, &place);
	return (__u32)s->tag;
}
