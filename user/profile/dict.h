/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dict.h - the dictionary of a profile: distinct strings, frames, code objects, and a tree of stacks.
 * What was counted is beside it (profile/counts.h): one measure over one window, as many as are wanted.
 *
 * Ids are small integers; 0 is "none" (for strings the empty string, for nodes the root). A stack is a
 * node: the path from the root to it. Root children are processes, their children threads, then Python
 * frames root first, with native frames between:
 *     (root) -> process -> thread -> <module> -> main -> leaf
 *
 * Frames of Python also say which code object they are in and where: that is what gives them an
 * address in a capture.
 *
 * Memory is bounded by quotas (profile/room.h). Once something of a stack finds no room, nothing more is added to it and
 * its node is 0: that sample is lost, not counted somewhere else.
 *
 * An id is valid until dict__forget(). Whoever keeps one for longer does either of two things. A cache
 * keeps it as a tag, which says by itself that it is out of date. Whoever cannot do without it is a
 * holder: it names what must stay, and learns the new ids.
 */
#ifndef KRAIT_PROFILE_DICT_H
#define KRAIT_PROFILE_DICT_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/room.h"

struct dict;
struct identities;
struct parts;

enum frame_kind {
	FRAME_PYTHON,
	FRAME_PROCESS, /* name is the command, pid its host pid */
	FRAME_THREAD, /* name is the thread's name, pid the process, tid its host tid */
	FRAME_MARK, /* krait's own remark, e.g. "[truncated: depth]"; shown, not a function */
	FRAME_NATIVE, /* file is the library or executable */
	FRAME_KERNEL, /* file is "[kernel.kallsyms]" or the module, "[ext4]" */
	FRAME_KIND_CNT
};

/* One distinct code object, of however many processes. */
struct profile_code {
	__u32 name, file; /* string ids */
	int first_line;
	__u32 unit_cnt; /* code units (2 bytes of bytecode) that lines covers */
	const __u8 *lines; /* co_linetable (symbol/linetable.h), NULL unknown */
	__u32 lines_size;
	/* Not a part of what it is: a byte for each code unit, as it was when somebody looked last; NULL nobody has. */
	const __u8 *opcodes;
	__u32 asked; /* how often somebody wanted to look: dict__wants_opcodes() */
};

/* One distinct frame. Two frames are the same when all members are. */
struct profile_frame {
	enum frame_kind kind;
	__u32 name; /* string id */
	__u32 file; /* string id, 0 unknown */
	int first_line; /* of the function */
	int line, column; /* -1 unknown */
	int end_column; /* of what is there, if it ends on the same line; -1 unknown */
	int pid, tid;
	__u32 code; /* code id, 0 none */
	int unit; /* code unit within it, -1 unknown */
	__u64 address; /* native and kernel, where outputs want it: as the call chain has it; else 0 */
	__u32 source; /* string id: the file that a native frame's line is in; 0 unknown */
	/*
	 * Of native code that is named later (dict__name_frame()): where it is, not 0. Then neither its name nor
	 * what it wraps tells it from others.
	 */
	__u32 place;
	__u16 opcode; /* of the instruction there, where it was recorded (profile/opcodes.h); 0 unknown */
	bool unknown; /* what function it is could not be read: its name only says so */
	bool wrapper; /* it only calls the function of the same name (symbol/demangle.h) */
};

struct profile_node {
	__u32 parent; /* node id, 0 = root */
	__u32 frame; /* frame id */
	__u32 depth : 31; /* 1 for a child of the root */
	__u32 unknown : 1; /* a frame on the way here is */
};

/* NULL and errno on failure. */
struct dict *dict__new(const struct profile_limits *limits);
/* Counts and other holders have gone before. */
void dict__free(struct dict *d);

/*
 * Who pays for what is added from here on; root, unless somebody says otherwise. One owner's quota being
 * used up, only what is new and that owner's is refused.
 */
void dict__begin(struct dict *d, unsigned owner);
/* Has anything found no room since dict__begin()? Then what was built is not the whole stack. */
bool dict__refused(const struct dict *d);
const struct quota *dict__quota(const struct dict *d, enum profile_resource resource);

/* Whose its processes were, as far as that is known. */
struct identities *dict__identities(struct dict *d);
const struct identities *dict__identities_of(const struct dict *d);

/* What is known of places in native code beside their functions. */
struct parts *dict__parts(const struct dict *d);

/* Interning: the id, or 0 where there is no room (also for the empty string, which is 0). */
__u32 dict__string(struct dict *d, const char *text);
__u32 dict__frame(struct dict *d, const struct profile_frame *frame);
__u32 dict__child(struct dict *d, __u32 parent_node, __u32 frame);
/* Copies the lines; leaves them out where there is no room. 0 is no reason to be refused. */
__u32 dict__code(struct dict *d, const struct profile_code *code);
/*
 * Whether the opcodes of a code object are to be looked at again: the first, second, fourth, eighth ... time that somebody asks.
 * They change while a program runs, and less and less.
 */
bool dict__wants_opcodes(struct dict *d, __u32 code);
/* Copies one for each unit, at the cost of the code's owner; leaves them out where there is no room. */
void dict__put_opcodes(struct dict *d, __u32 code, const __u8 *opcodes) __attribute__((nonnull));

/* A frame that has a place gets its name, at its owner's cost. 0; -EDQUOT: it keeps the one it has. */
int dict__name_frame(struct dict *d, __u32 frame, const char *name, bool is_wrapper)
	__attribute__((warn_unused_result));
/* How often that has been done. */
__u32 dict__named_cnt(const struct dict *d);

/* A text stays where it is until dict__forget(); a frame or node may move when another one is added. */
const char *dict__text(const struct dict *d, __u32 string);
const struct profile_frame *dict__frame_at(const struct dict *d, __u32 frame);
const struct profile_node *dict__node_at(const struct dict *d, __u32 node);
const struct profile_code *dict__code_at(const struct dict *d, __u32 code);
/* Numbered 1 .. count in order of creation: a parent comes before its children. */
__u32 dict__node_cnt(const struct dict *d);
__u32 dict__frame_cnt(const struct dict *d);

/* ---- forgetting ------------------------------------------------------------------------------- */

/* An id for a cache; 0 is none, and one from before the last dict__forget() is none, too. */
typedef __u64 dict_tag;
dict_tag dict__tag(const struct dict *d, __u32 id);
__u32 dict__tagged(const struct dict *d, dict_tag tag);

/* By id: before, what must stay is set to 1 (parents, frames, strings of it stay by themselves). */
struct dict_map {
	__u32 *nodes, *strings;
};

struct dict_holder {
	/* NULL: it cannot follow, so nothing is forgotten while it is there. */
	void (*mark)(struct dict_holder *h, struct dict_map *live);
	/* Afterwards: the new ids by the old ones, 0 for what was forgotten. */
	void (*move)(struct dict_holder *h, const struct dict_map *ids);
	struct dict_holder *next;
};

void dict__hold(struct dict *d, struct dict_holder *h);
void dict__release(struct dict *d, struct dict_holder *h);

/*
 * Forgets every stack that no holder needs, with its names, and gives its owners their room back.
 * Everything else has other ids then, in the same order. 0; -EBUSY: one of the holders cannot follow;
 * -ENOMEM, when all stays as it is.
 */
int dict__forget(struct dict *d) __attribute__((warn_unused_result));

#endif /* KRAIT_PROFILE_DICT_H */
