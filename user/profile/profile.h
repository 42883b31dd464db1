/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.h - what was measured: interned strings and frames, a tree of stacks with counts, and
 * the accounts of what is not in it.
 *
 * Ids are small integers that stay valid for the life of the profile; 0 is "none" (for strings the
 * empty string, for nodes the root). A stack is a node: the path from the root to it.
 * Root children are processes, their children threads, then Python frames root first, with native frames between:
 *     (root) -> process -> thread -> <module> -> main -> leaf
 *
 * Frames of Python also say which code object they are in and where: that is what gives them an
 * address in a capture.
 *
 * Of several events (page faults, CPU time) each has counts, weights and accounts of its own over the
 * same tree. They are never added up: what nodes say, and what an output of one event shows, is of the
 * event that is selected. The first one is, unless somebody selects another.
 *
 * Must hold: Σ self counts over all nodes, the root included, = number of samples added to the
 * selected event. Who adds a sample asks profile__refused() before: one without room is lost, not counted
 * somewhere else.
 */
#ifndef KRAIT_PROFILE_PROFILE_H
#define KRAIT_PROFILE_PROFILE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "profile/accounts.h"
#include "util/event.h"

struct native;
struct profile;
struct quota;

enum frame_kind {
	FRAME_PYTHON,
	FRAME_PROCESS, /* name is the command, pid its host pid */
	FRAME_THREAD, /* name is the thread's name, pid the process, tid its host tid */
	FRAME_MARK, /* krait's own remark, e.g. "[truncated: depth]"; shown, not a function */
	FRAME_NATIVE, /* file is the library or executable */
	FRAME_KERNEL, /* file is "[kernel.kallsyms]" or the module, "[ext4]" */
};

/* One distinct code object, of however many processes. */
struct profile_code {
	__u32 name, file; /* string ids */
	int first_line;
	__u32 unit_cnt; /* code units (2 bytes of bytecode) that lines covers */
	const __u8 *lines; /* co_linetable (symbol/linetable.h), NULL unknown */
	__u32 lines_size;
};

/* One distinct frame. Two frames are the same when all members are. */
struct profile_frame {
	enum frame_kind kind;
	__u32 name; /* string id */
	__u32 file; /* string id, 0 unknown */
	int first_line; /* of the function */
	int line, end_line, column, end_column; /* -1 unknown */
	int pid, tid;
	__u32 code; /* code id, 0 none */
	int unit; /* code unit within it, -1 unknown */
	__u64 address; /* native and kernel, where outputs want it: as the call chain has it; else 0 */
};

struct profile_node {
	__u32 parent; /* node id, 0 = root */
	__u32 frame; /* frame id */
	__u32 depth; /* 1 for a child of the root */
	/* of the selected event */
	__u64 self; /* samples that end here */
	__u64 self_weight; /* Σ period of these: ns for cpu-clock */
};

/* What perf allows in one file. */
#define PROFILE_MAX_EVENTS 128

struct profile_event {
	struct event_spec spec;
	__u64 samples, weight; /* Σ over all nodes */
	/*
	 * Samples stand for different numbers of events (sampling by frequency): shares are those of
	 * the weights. Never set of a clock.
	 */
	bool uneven;
	__u64 sample_weight; /* of the first sample */
	struct accounts accounts;
};

/* One sample in time order, as emitters that stream want it. */
struct profile_sample {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 period; /* ns for cpu-clock */
	__u32 node;
	__u32 cpu;
	int pid, tid; /* host */
	const char *comm; /* of the thread, UTF-8 and printable */
	unsigned event; /* index of the profile's event */
	const struct native *native; /* of the process (symbol/native.h); NULL none */
};

/* What a profile may hold of each. */
enum profile_resource {
	PROFILE_NODES,
	PROFILE_FRAMES,
	PROFILE_CODES,
	PROFILE_LINE_BYTES,
	PROFILE_STRING_BYTES,
	PROFILE_RESOURCE_CNT
};
struct identities;
struct profile_limits {
	__u64 max[PROFILE_RESOURCE_CNT];
};
/* In the file that has them: what a full profile takes. */
const struct profile_limits *profile_limits_default(void);
/* "stack nodes" */
const char *profile_resource_name(enum profile_resource resource);

/* NULL and errno on failure. */
struct profile *profile__new(void);
struct profile *profile__new_limited(const struct profile_limits *limits);
void profile__free(struct profile *p);

/*
 * Who pays for what is added from here on (bpf/share.h); root, unless somebody says otherwise. One owner's
 * quota being used up, only what is new and that owner's is refused.
 */
void profile__begin(struct profile *p, unsigned owner);
/* Has anything found no room since profile__begin()? Then what was built is not the whole stack. */
bool profile__refused(const struct profile *p);
const struct quota *profile__quota(const struct profile *p, enum profile_resource resource);

/* Whose its processes were, as far as that is known. */
struct identities *profile__identities(struct profile *p);
const struct identities *profile__identities_of(const struct profile *p);

/* Interning: the id, or 0 where there is no room (also for the empty string, which is 0). */
__u32 profile__string(struct profile *p, const char *text);
__u32 profile__frame(struct profile *p, const struct profile_frame *frame);
__u32 profile__child(struct profile *p, __u32 parent_node, __u32 frame);
/* Copies the lines; leaves them out where there is no room. 0 is no reason to be refused. */
__u32 profile__code(struct profile *p, const struct profile_code *code);

/* A frame with a name and a file ("" unknown) and no place in it. 0 when out of memory. */
__u32 profile__plain_frame(struct profile *p, enum frame_kind kind, const char *name,
			   const char *file, __u64 address);
/*
 * The child for a frame that is no code: a process, a thread or a mark. pid and tid as its kind has
 * them, else 0.
 */
__u32 profile__named_child(struct profile *p, __u32 parent_node, enum frame_kind kind,
			   const char *name, int pid, int tid);

/*
 * Event number index is this one; 0 is "cpu-clock" until told otherwise, and those before that were not
 * told are, too. 0, or -ENOMEM, -E2BIG.
 */
int profile__set_event(struct profile *p, unsigned index, const struct event_spec *spec)
	__attribute__((warn_unused_result));
unsigned profile__event_cnt(const struct profile *p); /* at least 1 */
const struct profile_event *profile__event_at(const struct profile *p, unsigned index);
/* 0 or -ENOMEM, where all stays as it is. */
int profile__select(struct profile *p, unsigned index) __attribute__((warn_unused_result));
unsigned profile__selected(const struct profile *p);
/*
 * What shares of the selected event are shares of: "samples", or "events" where its samples stand for
 * different numbers of them; and how many of these end at the node.
 */
const char *profile__unit(const struct profile *p);
__u64 profile__self(const struct profile *p, __u32 node);
/* What the node has of any event. */
void profile__counts(const struct profile *p, __u32 node, unsigned event, __u64 *ret_samples,
		     __u64 *ret_weight);

/* Counts one sample of the given weight at the node, for an event or for the selected one. */
void profile__count(struct profile *p, unsigned event, __u32 node, __u64 weight);
void profile__add(struct profile *p, __u32 node, __u64 weight);
/* The same for many at once, as files of other tools have them; weight is their sum. */
void profile__add_many(struct profile *p, __u32 node, __u64 samples, __u64 weight);

/* A text stays where it is; a frame or node may move when another one is added. */
const char *profile__text(const struct profile *p, __u32 string);
const struct profile_frame *profile__frame_at(const struct profile *p, __u32 frame);
const struct profile_node *profile__node_at(const struct profile *p, __u32 node);
/* Nodes are numbered 1 .. count in order of creation: a parent comes before its children. */
__u32 profile__node_cnt(const struct profile *p);
__u32 profile__frame_cnt(const struct profile *p);
const struct profile_code *profile__code_at(const struct profile *p, __u32 code);
__u32 profile__code_cnt(const struct profile *p);

/* The accounts that go with these stacks, of the selected event or of any; the caller fills them in. */
struct accounts *profile__accounts(struct profile *p);
struct accounts *profile__event_accounts(struct profile *p, unsigned event);
const struct accounts *profile__accounts_of(const struct profile *p);

#endif /* KRAIT_PROFILE_PROFILE_H */
