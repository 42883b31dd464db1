/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * items.h - a sample as a list of what is to be shown, root first, which is named once: by a recording
 * (made by record/stack/, changed by its editors), by dump, and by whoever reads a capture.
 *
 * What was named is kept with the thread: the next list keeps the nodes of all items, from the root
 * on, that say the same (named_same()).
 */
#ifndef KRAIT_PROFILE_ITEMS_H
#define KRAIT_PROFILE_ITEMS_H

#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

#include "base/data/vec.h"
#include "bpf/abi.h"

enum item_kind {
	ITEM_HIDDEN, /* a Python frame that is not shown: an entry frame, or one that was left out */
	ITEM_PYTHON,
	ITEM_NATIVE,
	ITEM_KERNEL,
	ITEM_MARK, /* krait's own remark */
	ITEM_TASK, /* the name of an asyncio task */
};

/* Remarks; profile/marks.h has their texts. */
enum item_mark {
	ITEM_NO_PYTHON,
	ITEM_REASON, /* why there is no Python frame; number: enum reason */
	ITEM_TRUNCATED, /* the root is missing; number: enum reason */
	ITEM_GC,
	/* In native code. */
	ITEM_OWN,
	ITEM_NATIVE_TRUNCATED,
	ITEM_NATIVE_DEPTH,
	ITEM_NATIVE_UNKNOWN,
	ITEM_GREENLETS_TORN,
	ITEM_GREENLETS_LIMIT,
	ITEM_GREENLETS_FRAMES,
	ITEM_GREENLETS_LATE,
	ITEM_GREENLETS_UNKNOWN,
	ITEM_TASKS_TORN,
	ITEM_TASKS_LIMIT,
	ITEM_TASKS_LATE,
	ITEM_TASKS_CYCLE,
	ITEM_TASK_FOREIGN,
	ITEM_TASK_FRAMES,
	ITEM_TASK_WAITERS, /* number: how many */
};

enum item_place {
	ITEM_CALLER = 1 << 0, /* not the leaf: it is at a call */
	ITEM_BEHIND = 1 << 1, /* its address is the one after its place */
};

/* Of an item that is no frame of the merged stack. */
#define ITEM_NO_FRAME (~0U)
/* Added to the index of a frame of a greenlet's parents. */
#define ITEM_PARENT (1U << 31)

struct item {
	/*
	 * A Python frame: as it is, code_addr 0 for an entry frame.
	 * Native and kernel code: its address in a call chain as code_addr, and as its fingerprint
	 * enum item_place: together they say which place it is, and whether that calls.
	 * A mark: enum item_mark as code_addr, and a number as its fingerprint.
	 * The name of a task: a hash of it as code_addr.
	 */
	struct frame frame;
	/* In the merged stack, the native frames, the kernel's, or the parts of tasks. */
	__u32 index;
	__u8 kind; /* enum item_kind */
	/* enum code_role (python/code/symbolizer.h), and ITEM_HAS_ROLES; of Python frames, where needed */
	__u8 roles;
};
#define ITEM_HAS_ROLES 0x80

/* All zero initially. */
struct items {
	struct item *list; /* somewhere in the room */
	__u32 cnt;
	struct item *room;
	__u32 cap;
};

/* Makes it empty, with room for that many. Returns 0 or -ENOMEM. */
int items_begin(struct items *s, __u32 cnt) __attribute__((warn_unused_result, nonnull));
/* Makes room for one more. Returns 0 or -ENOMEM. */
int items_grow(struct items *s) __attribute__((warn_unused_result, nonnull));
void items_free(struct items *s) __attribute__((nonnull));

/* These are for callers that have made room. */
static inline struct item *items_add(struct items *s, enum item_kind kind, __u32 index)
{
	struct item *item = &s->list[s->cnt++];

	*item = (struct item){ .kind = (__u8)kind, .index = index };
	return item;
}

static inline void items_add_frame(struct items *s, const struct frame *frame, __u32 index)
{
	struct item *item = &s->list[s->cnt++];

	item->frame = *frame;
	item->index = index;
	item->kind = frame->code_addr ? ITEM_PYTHON : ITEM_HIDDEN;
	item->roles = 0;
}

static inline void items_add_mark(struct items *s, enum item_mark mark, __u32 number)
{
	struct item *item = items_add(s, ITEM_MARK, ITEM_NO_FRAME);

	item->frame.code_addr = mark;
	item->frame.fingerprint = number;
}

/* ---- what was named --------------------------------------------------------------------------- */

/* What names depend on besides the items; all zero: nothing was named. */
struct named_under {
	__u64 root_tag; /* of the node that the list hangs on, in the dictionary */
	__u64 digest; /* of the mappings that native addresses belong to */
	/* Whose addresses of code objects mean the same. */
	__u64 code_generation, interp_addr;
};

struct named_item {
	__u64 address, detail;
	__u8 kind, roles; /* as in struct item */
	__u32 node; /* in the dictionary */
};

/* The list that was named last for a thread; all zero initially. */
struct named {
	struct named_item *list;
	__u32 cnt; /* up to the first name that may change */
	__u32 cap;
	struct named_under under;
};

static inline struct named_item named_of(const struct item *item)
{
	struct named_item n = { .address = item->frame.code_addr,
				.kind = item->kind,
				.roles = item->roles };

	/* Where in the code, the opcode there, and the fingerprint. */
	memcpy(&n.detail, (const char *)&item->frame + 16, sizeof(n.detail));
	return n;
}

/*
 * How many items, from the root on, keep their nodes. from: so many are known to, and not looked at
 * (only under the same). Frames of the merged stack before number alive run the same code objects as
 * in the last list, whatever the generation.
 */
__u32 named_same(const struct named *n, const struct named_under *under, const struct items *now,
		 __u32 from, __u32 alive) __attribute__((nonnull));
/* What was known of the same Python frame, left out or not, at that place; NULL: another one was. */
static inline struct named_item *named_frame(const struct named *n, __u32 i,
					     const struct item *item)
{
	struct named_item now = named_of(item), *was = &n->list[i];

	return i < n->cnt && was->kind <= ITEM_PYTHON && was->address == now.address &&
			       was->detail == now.detail ?
		       was :
		       NULL;
}
/*
 * Names an item: its node below its caller's; the caller's own node if it is not shown; 0: no room.
 * *ret_later: it may get another one in the next list.
 */
typedef __u32 (*name_item_fn)(const void *ctx, __u32 parent, const struct item *item,
			      bool *ret_later);
/*
 * Names the list below root, from item number same on, and keeps it. Returns the leaf's node; 0: no
 * room. Inline, so that name is not called through a pointer for each frame.
 */
static inline __u32 named_take(struct named *n, const struct named_under *under,
			       const struct items *now, __u32 same, __u32 root, name_item_fn name,
			       const void *ctx)
{
	__u32 node = same ? n->list[same - 1].node : root;
	bool final = true;

	n->cnt = same;
	n->under = *under;
	if (vec_reserve(n->list, n->cap, now->cnt))
		return 0;
	for (__u32 i = same; i < now->cnt; i++) {
		bool later = false;

		node = name(ctx, node, &now->list[i], &later);
		if (!node)
			return 0;
		n->list[i] = named_of(&now->list[i]);
		n->list[i].node = node;
		final = final && !later;
		if (final)
			n->cnt = i + 1;
	}
	return node;
}

#endif /* KRAIT_PROFILE_ITEMS_H */
