/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dict.h - the dictionary of a profile: distinct strings, frames, code objects, and a tree of
 * stacks. Counts are separate (profile/counts.h): one measure in one window, as many as needed.
 *
 * Ids are small integers; 0 is "none" (the empty string, the root node). A stack is a node: the
 * path from the root to it. The root's children are processes, their children threads, then Python
 * frames root first, with native frames in between:
 *     (root) -> process -> thread -> <module> -> main -> leaf
 *
 * Python frames also say which code object they are in and where: that gives them an address in a
 * capture.
 *
 * Memory is bounded by quotas (profile/room.h). Once part of a stack finds no room, nothing more is
 * added to it and its node is 0: that sample is lost, not counted somewhere else.
 *
 * An id is valid until dict__forget(). There are two ways to keep one for longer. A cache keeps it
 * as a tag, which shows by itself that it is out of date. Code that cannot lose its ids is a
 * holder: it names what must stay, and learns the new ids.
 */
#ifndef KRAIT_PROFILE_DICT_H
#define KRAIT_PROFILE_DICT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "profile/room.h"

struct dict;
struct identities;
struct parts;
struct sources;

enum frame_kind {
	FRAME_PYTHON,
	FRAME_PROCESS, /* name is the command, pid its host pid */
	FRAME_THREAD, /* name is the thread's name, pid the process, tid its host tid */
	FRAME_MARK, /* krait's own remark, e.g. "[truncated: depth]"; shown, but not a function */
	FRAME_NATIVE, /* file is the library or executable */
	FRAME_KERNEL, /* file is "[kernel.kallsyms]" or the module, "[ext4]" */
	FRAME_KIND_CNT
};

/* A distinct code object, possibly of many processes. */
struct profile_code {
	__u32 name, file; /* string ids */
	int first_line;
	__u32 unit_cnt; /* number of code units (2 bytes of bytecode) that lines covers */
	const __u8 *lines; /* co_linetable (python/code/linetable.h); NULL: unknown */
	__u32 lines_size;
	/*
	 * Not part of its identity: a byte for each code unit, as of the last look; NULL: never
	 * looked.
	 */
	const __u8 *opcodes;
	__u32 asked; /* how often a look was considered: dict__wants_opcodes() */
	bool kept; /* not part of its identity either: its lines travel (profile/sources.h) */
};

/* A distinct frame. Two frames are the same if all members are equal. */
struct profile_frame {
	enum frame_kind kind;
	__u32 name; /* string id */
	__u32 file; /* string id; 0 unknown */
	int first_line; /* of the function */
	int line, column; /* -1: unknown */
	int end_column; /* end column if it is on the same line; -1: unknown */
	int pid, tid;
	__u32 code; /* code id; 0: none */
	int unit; /* code unit within it; -1: unknown */
	__u32 source; /* string id: the source file of a native frame's line; 0 unknown */
	/*
	 * For native code that is named later (dict__name_frame()): its place; for threads, which may
	 * be renamed: their number. If it is not 0, the name and what it wraps are not part of the
	 * frame's identity.
	 */
	__u32 place;
	__u16 opcode; /* of the instruction there, if recorded (profile/opcodes.h); 0 unknown */
	bool unknown; /* its function could not be read; the name only says so */
	bool wrapper; /* it only calls the function of the same name (native/names/demangle.h) */
	bool interpreter; /* native: CPython's own, whatever its file is called */
	/* native and kernel frames, if outputs want it: as in the call chain; else 0 */
	__u64 address;
};

struct profile_node {
	__u32 parent; /* node id, 0 = root */
	__u32 frame; /* frame id */
	__u32 depth : 31; /* 1 for a child of the root */
	__u32 unknown : 1; /* some frame on this path is unknown */
};

/* NULL and errno on failure. */
struct dict *dict__new(const struct profile_limits *limits);
/* Free counts and other holders first. */
void dict__free(struct dict *d);

/*
 * Sets who pays for what is added from here on; root by default. If one owner's quota is used up,
 * only new things of that owner are refused.
 */
void dict__begin(struct dict *d, unsigned owner);
/*
 * Longer texts are cut to that many bytes from here on, whole characters, with an ellipsis; at most
 * DICT_TEXT_MAX, 0: not at all.
 */
#define DICT_TEXT_MAX 4096U
void dict__cut_texts(struct dict *d, size_t max);
/* Bytes of names and line tables that were added so far, forgotten or not. */
__u64 dict__bytes_added(const struct dict *d);
const struct quota *dict__quota(const struct dict *d, enum profile_resource resource);

/* Who its processes were, as far as known. */
struct identities *dict__identities(struct dict *d);
const struct identities *dict__identities_of(const struct dict *d);

/* Lines of its functions that travel with it. */
struct sources *dict__sources(struct dict *d);
const struct sources *dict__sources_of(const struct dict *d);

/* What is known about places in native code besides their functions. */
struct parts *dict__parts(const struct dict *d);

/* Interning: returns the id, or 0 if there is no room (also for the empty string, which is 0). */
__u32 dict__string(struct dict *d, const char *text);
__u32 dict__frame(struct dict *d, const struct profile_frame *frame);
__u32 dict__child(struct dict *d, __u32 parent_node, __u32 frame);
/*
 * Copies the lines, or leaves them out if there is no room. A result of 0 does not make the stack
 * refused.
 */
__u32 dict__code(struct dict *d, const struct profile_code *code);
/*
 * Should a code object's opcodes be read again? Yes the first, second, fourth, eighth ... time that
 * somebody asks: they change while a program runs, but less and less.
 */
bool dict__wants_opcodes(struct dict *d, __u32 code);
/* Copies one opcode per unit, at the cost of the code's owner; leaves them out if there is no room. */
void dict__put_opcodes(struct dict *d, __u32 code, const __u8 *opcodes) __attribute__((nonnull));

/* The lines of that code are among dict__sources(). */
void dict__note_kept(struct dict *d, __u32 code);

/* Names a frame that has a place, at its owner's cost. Returns 0; -EDQUOT: it keeps its old name. */
int dict__name_frame(struct dict *d, __u32 frame, const char *name, bool is_wrapper)
	__attribute__((warn_unused_result));
/* How often that has happened, for native code and for threads. */
__u32 dict__named_cnt(const struct dict *d);
__u32 dict__renamed_cnt(const struct dict *d);

/* A text does not move until dict__forget(); a frame or node may move when another is added. */
const char *dict__text(const struct dict *d, __u32 string);
const struct profile_frame *dict__frame_at(const struct dict *d, __u32 frame);
const struct profile_node *dict__node_at(const struct dict *d, __u32 node);
const struct profile_code *dict__code_at(const struct dict *d, __u32 code);
/* Numbered 1 .. count in order of creation, so a parent comes before its children. */
__u32 dict__node_cnt(const struct dict *d);
__u32 dict__frame_cnt(const struct dict *d);

/* ---- forgetting ------------------------------------------------------------------------------- */

/* An id for a cache; 0 is none, and one from before the last dict__forget() counts as none. */
typedef __u64 dict_tag;
dict_tag dict__tag(const struct dict *d, __u32 id);
__u32 dict__tagged(const struct dict *d, dict_tag tag);

/*
 * Indexed by id. Before forgetting: 1 for what must stay (its parents, frames and strings stay
 * automatically).
 */
struct dict_map {
	__u32 *nodes, *strings;
};

struct dict_holder {
	/* NULL: it cannot follow, so nothing is forgotten while it exists. */
	void (*mark)(struct dict_holder *h, struct dict_map *live);
	/* Afterwards: new ids by old ones; 0 for what was forgotten. */
	void (*move)(struct dict_holder *h, const struct dict_map *ids);
	struct dict_holder *next;
};

void dict__hold(struct dict *d, struct dict_holder *h);
void dict__release(struct dict *d, struct dict_holder *h);

/*
 * Forgets every stack that no holder needs, with its names, and gives the owners their room back.
 * Everything else gets new ids, in the same order. Returns 0; -EBUSY: a holder cannot follow;
 * -ENOMEM, with everything unchanged.
 */
int dict__forget(struct dict *d) __attribute__((warn_unused_result));

#endif /* KRAIT_PROFILE_DICT_H */
