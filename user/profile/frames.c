/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/frames.h"

#include <stdio.h>

#include "profile/marks.h"
#include "base/data/cleanup.h"

/* perf's name for the object that is not a module. */
#define KERNEL_ITSELF "[kernel.kallsyms]"

const char *frame_kind_name(enum frame_kind kind)
{
	static const char *const names[FRAME_KIND_CNT] = {
		[FRAME_PYTHON] = "python", [FRAME_PROCESS] = "process", [FRAME_THREAD] = "thread",
		[FRAME_MARK] = "mark",	   [FRAME_NATIVE] = "native",	[FRAME_KERNEL] = "kernel",
	};

	return names[kind];
}

__u32 dict__plain_frame(struct dict *d, enum frame_kind kind, const char *name, const char *file,
			__u64 address)
{
	const struct profile_frame frame = {
		.kind = kind,
		.name = dict__string(d, name),
		.file = dict__string(d, file),
		.first_line = -1,
		.line = -1,
		.column = -1,
		.end_column = -1,
		.unit = -1,
		.address = address,
	};

	return dict__frame(d, &frame);
}

/* A process, a thread or the like: a name without a place in code. */
static struct profile_frame named_frame(struct dict *d, enum frame_kind kind, const char *name,
					int pid, int tid)
{
	return (struct profile_frame){
		.kind = kind,
		.name = dict__string(d, name),
		.line = -1,
		.column = -1,
		.end_column = -1,
		.pid = pid,
		.tid = tid,
	};
}

__u32 dict__named_child(struct dict *d, __u32 parent_node, enum frame_kind kind, const char *name,
			int pid, int tid)
{
	const struct profile_frame frame = named_frame(d, kind, name, pid, tid);

	return dict__child(d, parent_node, dict__frame(d, &frame));
}

__u32 dict__thread_child(struct dict *d, __u32 parent_node, __u32 number, const char *name, int pid,
			 int tid)
{
	struct profile_frame frame = named_frame(d, FRAME_THREAD, name, pid, tid);
	__u32 id;

	frame.place = number;
	id = dict__frame(d, &frame);
	if (id && dict__frame_at(d, id)->name != frame.name)
		(void)!dict__name_frame(d, id, name, false);
	return dict__child(d, parent_node, id);
}

__u32 frame_kernel(struct dict *dict, const char *name, const char *module, __u64 address)
{
	char file[128];

	if (!name)
		return dict__plain_frame(dict, FRAME_KERNEL, NAME_KERNEL, "", address);
	if (!*module || *module == '[')
		return dict__plain_frame(dict, FRAME_KERNEL, name, *module ? module : KERNEL_ITSELF,
					 address);
	snprintf(file, sizeof(file), "[%s]", module);
	return dict__plain_frame(dict, FRAME_KERNEL, name, file, address);
}

static __u32 native_name(struct dict *dict, const struct native_place *place)
{
	cleanup_free char *text = NULL;

	if (!place->is_inlined)
		return dict__string(dict, place->name);
	return asprintf(&text, "%s" NAME_INLINED, place->name) < 0 ? 0 : dict__string(dict, text);
}

__u32 frame_native(struct dict *dict, const struct native_place *place)
{
	bool has_line = place->source && *place->source && place->line > 0;
	const struct profile_frame frame = {
		.kind = FRAME_NATIVE,
		.name = native_name(dict, place),
		.file = dict__string(dict, place->path),
		.first_line = -1,
		.line = has_line ? place->line : -1,
		.column = -1,
		.end_column = -1,
		.unit = -1,
		.address = place->address,
		.source = has_line ? dict__string(dict, place->source) : 0,
		.wrapper = place->is_wrapper,
		.interpreter = place->is_interpreter,
		.place = place->number,
	};

	return dict__frame(dict, &frame);
}

__u32 frame_unknown(struct dict *dict)
{
	return frame_mark(dict, MARK_UNKNOWN);
}

__u32 frame_mark(struct dict *dict, const char *text)
{
	return dict__plain_frame(dict, FRAME_MARK, text, "", 0);
}
