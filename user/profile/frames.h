/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - how frames that are not Python are called: the same in a recording and in a capture that
 * is read back.
 *
 * address: as the call chain has it, where each address is to be a frame of its own; else 0.
 * Those that make a frame return its id, 0 where there is no room.
 */
#ifndef KRAIT_PROFILE_FRAMES_H
#define KRAIT_PROFILE_FRAMES_H

#include "profile/dict.h"

/* A frame with a name and a file ("" unknown) and no place in it. 0 where there is no room. */
__u32 dict__plain_frame(struct dict *d, enum frame_kind kind, const char *name, const char *file,
			__u64 address);
/*
 * The child for a frame that is no code: a process, a thread or a mark. pid and tid as its kind has
 * them, else 0.
 */
__u32 dict__named_child(struct dict *d, __u32 parent_node, enum frame_kind kind, const char *name,
			int pid, int tid);

/* "python", "process" ...: what outputs call the kind. */
const char *frame_kind_name(enum frame_kind kind);

/* name NULL: code of the kernel without a symbol. module: "ext4", "[ext4]", or "" for the kernel itself. */
__u32 frame_kernel(struct dict *dict, const char *name, const char *module, __u64 address);
/* A frame of native code. */
struct native_place {
	const char *name; /* "[libfoo.so]" where the code has none (native_unnamed()) */
	const char *path; /* of the file, "" unknown */
	__u64 address;
	bool is_wrapper; /* as profile_frame.wrapper */
	bool is_inlined; /* "name (inlined)", as perf has it */
	const char *source; /* NULL unknown, as the line is then */
	int line;
	__u32 number; /* as profile_frame.place: what it is called is known later; 0: name is its name */
};
__u32 frame_native(struct dict *dict, const struct native_place *place);
/* An address that lies in nothing that the process has mapped. */
__u32 frame_unknown(struct dict *dict);
/* A text of marks.h. */
__u32 frame_mark(struct dict *dict, const char *text);

#endif /* KRAIT_PROFILE_FRAMES_H */
