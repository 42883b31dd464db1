/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - names of frames that are not Python: the same in a recording and in a capture that is
 * read back.
 *
 * address: as in the call chain, if each address gets a frame of its own; else 0. Functions that
 * make a frame return its id, 0 if there is no room.
 */
#ifndef KRAIT_PROFILE_FRAMES_H
#define KRAIT_PROFILE_FRAMES_H

#include "profile/dict.h"

/* A frame with a name and a file ("": unknown), without a position in it. 0: no room. */
__u32 dict__plain_frame(struct dict *d, enum frame_kind kind, const char *name, const char *file,
			__u64 address);
/*
 * The child for something that is not code: a process, a thread or a mark. pid and tid according to
 * its kind, else 0.
 */
__u32 dict__named_child(struct dict *d, __u32 parent_node, enum frame_kind kind, const char *name,
			int pid, int tid);

/*
 * The child for a thread. number: unique for it in the dictionary, so that it keeps its node when it
 * is renamed: here, or by dict__name_frame().
 */
__u32 dict__thread_child(struct dict *d, __u32 parent_node, __u32 number, const char *name, int pid,
			 int tid);

/* "python", "process" ...: the name of the kind in outputs. */
const char *frame_kind_name(enum frame_kind kind);

/* name NULL: kernel code without a symbol. module: "ext4", "[ext4]", or "" for the kernel itself. */
__u32 frame_kernel(struct dict *dict, const char *name, const char *module, __u64 address);
/* A frame of native code. */
struct native_place {
	const char *name; /* "[libfoo.so]" if the code has none (native_unnamed()) */
	const char *path; /* of the file; "": unknown */
	__u64 address;
	bool is_wrapper; /* as profile_frame.wrapper */
	bool is_interpreter; /* as profile_frame.interpreter */
	bool is_inlined; /* "name (inlined)", as in perf */
	const char *source; /* NULL: unknown, and line likewise */
	int line;
	__u32 number; /* as profile_frame.place: the name comes later; 0: use name */
};
__u32 frame_native(struct dict *dict, const struct native_place *place);
/* For an address outside of everything that the process has mapped. */
__u32 frame_unknown(struct dict *dict);
/* For a text of marks.h. */
__u32 frame_mark(struct dict *dict, const char *text);

#endif /* KRAIT_PROFILE_FRAMES_H */
