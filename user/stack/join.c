/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * join.c - goes from the leaf to the root along both lists, and writes the result from its end.
 */
#include "stack/join.h"
#include "util/vec.h"

#include <errno.h>
#include <stdlib.h>

/* A run of Python frames, and the entry frame on its root side. */
struct activation {
	__u32 first, end; /* frames[first .. end - 1] */
	__u64 entry_addr; /* 0: the chain of Python frames ends without one */
};

struct joiner {
	struct join *out;
	const struct join_input *in;
	__u32 next; /* native frame that comes next */
	__u64 entry_addr; /* of the activation placed last */
	__u32 owner; /* in which that lies */
	__u32 left; /* frames on the root side that are not looked at yet */
	bool broken; /* natives are over, or there are none */
	bool due; /* a mark: callers of the native frame before may be missing */
	__u32 switched; /* JOIN_CHAIN_SWITCHING: natives up to here are greenlet's, and what it has called; 0 none */
	bool missing; /* JOIN_CHAIN_SWITCHING: natives of it, somewhere */
	bool ends_above; /* the outermost activation's native frames are another greenlet's by now */
};

/* Larger than any frame of an eval loop, whatever compiler and options. */
#define EVAL_FRAME_MAX (64U << 10)

/* Before what was put last. */
static void put(struct joiner *j, enum join_kind kind, __u32 index)
{
	*--j->out->items = (struct join_item){ kind, index };
	j->out->cnt++;
}

static bool is_guessed(const struct joiner *j, __u32 i)
{
	return j->in->guessed && j->in->guessed[i];
}

/* Once behind a run of guesses: before the next frame that is certain. */
static void put_due_mark(struct joiner *j)
{
	if (j->due)
		put(j, JOIN_TRUNCATED, 0);
	j->due = false;
}

static void put_natives(struct joiner *j, __u32 end)
{
	for (; j->next < end; j->next++) {
		bool guessed = is_guessed(j, j->next);

		if (!guessed)
			put_due_mark(j);
		if (j->in->interpreter || j->in->origins[j->next] != ORIGIN_INTERPRETER)
			put(j, JOIN_NATIVE, j->next);
		j->due = j->due || guessed;
		j->out->guessed = j->out->guessed || guessed;
	}
}

static void put_python(struct joiner *j, const struct activation *a)
{
	put_due_mark(j);
	for (__u32 i = a->end; i-- > a->first;)
		put(j, JOIN_PYTHON, i);
}

/* The next one towards the root; false at the end. */
static bool next_activation(struct joiner *j, struct activation *ret)
{
	const struct frame *frames = j->in->frames;
	__u32 i = j->left;

	if (!i)
		return false;
	ret->end = i;
	/* A frame that was just being cleared has neither address: not an entry frame. */
	while (i && (frames[i - 1].code_addr || !frames[i - 1].frame_addr))
		i--;
	ret->first = i;
	ret->entry_addr = i ? frames[i - 1].frame_addr : 0;
	j->left = i ? i - 1 : 0;
	return true;
}

/*
 * Does the address lie in the native frame's part of the stack? Where that begins is not known of the first, nor
 * of one on another stack than the frame before (of signals). What is below the stack pointer lies in none, so greenlet's
 * own have none.
 */
static bool lies_in(const struct joiner *j, __u32 i, __u64 addr)
{
	const struct native_frame *natives = j->in->natives;
	__u64 end = natives[i].frame_addr, begin = i ? natives[i - 1].frame_addr : 0;

	if (addr >= end || (begin < end && addr < begin) || j->in->origins[i] == ORIGIN_SWITCHER)
		return false;
	return is_guessed(j, i) || end - addr <= EVAL_FRAME_MAX;
}

/*
 * The native frame in which the entry frame lies, not before the one that had the last (more than one may be
 * behind a frame pointer); native_cnt where there is none.
 */
static __u32 owner_of(const struct joiner *j, __u64 entry_addr)
{
	__u32 cnt = j->in->native_cnt, i = j->owner;

	if (!entry_addr)
		return cnt;
	if (entry_addr <= j->entry_addr)
		i++;
	while (i < cnt && !lies_in(j, i, entry_addr))
		i++;
	return i;
}

/*
 * greenlet copies slices of one C stack: behind its function that has begun a greenlet there is whatever other
 * greenlets have left there, and while it switches the C stack is another's than the Python frames are.
 */
static __u32 find_switcher(const struct joiner *j, __u32 end)
{
	__u32 i = j->next;

	while (i < end && j->in->origins[i] != ORIGIN_SWITCHER)
		i++;
	return i;
}

/* Where the natives end without how processes and threads begin: libc, and what has called that. */
static __u32 root_end(const struct joiner *j)
{
	__u32 end = j->in->native_cnt;

	if (j->in->interpreter)
		return end;
	/* _start, in whatever file that is. */
	if (end > j->next + 1 && j->in->origins[end - 2] == ORIGIN_LIBC)
		end--;
	while (end > j->next && j->in->origins[end - 1] == ORIGIN_LIBC)
		end--;
	return end;
}

static void break_off(struct joiner *j, __u32 end)
{
	put_natives(j, end);
	j->broken = true;
	/* Even where only the interpreter was met: whose work it did is not known. */
	j->due = true;
}

static void break_off_at_end(struct joiner *j)
{
	break_off(j, j->in->ended ? root_end(j) : j->in->native_cnt);
}

/* Behind all of the switcher's frames. */
static void break_off_at_switch(struct joiner *j, __u32 switcher)
{
	while (switcher < j->in->native_cnt && j->in->origins[switcher] == ORIGIN_SWITCHER)
		switcher++;
	break_off(j, switcher);
}

/* What code of the JIT runs, where its callers are not known. */
static bool place_at_evaluator(struct joiner *j, const struct activation *a)
{
	const struct join_input *in = j->in;

	if (in->evaluator >= in->native_cnt || j->broken || a->end != in->frame_cnt ||
	    owner_of(j, a->entry_addr) < in->native_cnt)
		return false;
	put_natives(j, in->evaluator);
	put_python(j, a);
	return true;
}

/* Behind the last of greenlet's frames before the end, j->next where there is none. */
static __u32 behind_switchers(const struct joiner *j, __u32 end)
{
	while (end > j->next && j->in->origins[end - 1] != ORIGIN_SWITCHER)
		end--;
	return end;
}

/* In natives[switched ..]: those before belong to no activation. */
static __u32 owner_in_switch(struct joiner *j, __u64 entry_addr)
{
	if (!entry_addr || entry_addr & FRAME_ENTRY_GONE)
		return j->in->native_cnt;
	if (j->owner < j->switched)
		j->owner = j->switched;
	return owner_of(j, entry_addr);
}

/* Is the entry frame where another greenlet has put something, or above all that the C stack has now? */
static bool is_off_the_stack(const struct joiner *j, __u64 entry_addr)
{
	return entry_addr & FRAME_ENTRY_GONE || entry_addr < j->in->natives[0].frame_addr;
}

/* While greenlets are being switched: each activation by itself. */
static void place_in_switch(struct joiner *j, const struct activation *a)
{
	__u32 owner = owner_in_switch(j, a->entry_addr);

	if (owner < j->in->native_cnt) {
		/* Between two of greenlet's own is what the other greenlet has called. */
		j->next = behind_switchers(j, owner);
		put_natives(j, owner);
		j->owner = owner;
		j->entry_addr = a->entry_addr;
	}
	put_python(j, a);
	if (owner < j->in->native_cnt)
		return;
	if (!j->left && is_off_the_stack(j, a->entry_addr))
		j->ends_above = true;
	else
		j->due = j->missing = true;
	/* What else lies there is the other greenlet's. */
	j->broken = j->missing && !j->left;
}

/* What greenlet does comes first, for the frame at the leaf. */
static void begin_in_switch(struct joiner *j)
{
	__u32 cnt = j->in->native_cnt, end = find_switcher(j, cnt);

	if (j->in->chain != JOIN_CHAIN_SWITCHING || j->broken || end == cnt)
		return;
	while (end < cnt && j->in->origins[end] == ORIGIN_SWITCHER)
		end++;
	put_natives(j, end);
	j->switched = end;
	/* An extension has called it: its own callers may be anybody. */
	j->due = j->missing = end == cnt || j->in->origins[end] != ORIGIN_INTERPRETER;
}

static void place(struct joiner *j, const struct activation *a)
{
	__u32 cnt = j->in->native_cnt, owner = j->broken ? cnt : owner_of(j, a->entry_addr);
	bool own = j->broken || (j->in->chain == JOIN_CHAIN_OWN && owner < cnt);
	__u32 switcher = own ? owner : find_switcher(j, owner);

	if (switcher < owner)
		break_off_at_switch(j, switcher);
	else if (owner < cnt)
		put_natives(j, owner + is_guessed(j, owner));
	else if (!j->broken)
		break_off_at_end(j);
	put_python(j, a);
	j->entry_addr = a->entry_addr;
	j->owner = owner;
}

/* The native frames that are evaluations, of the first ones. */
static __u32 count_evals(const struct join_input *in, __u32 end)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i < end; i++)
		cnt += in->evals[i];
	return cnt;
}

/* Each Python frame right above its evaluation; false where they do not pair. */
static bool place_pairs(struct joiner *j)
{
	const struct join_input *in = j->in;
	__u32 end = find_switcher(j, in->native_cnt), evals = count_evals(in, end), at = 0;

	if ((end == in->native_cnt && !in->ended) ||
	    (evals != in->frame_cnt && evals != in->frame_cnt + 1))
		return false;
	/* One that has no frame yet, or no more, is the interpreter's own. */
	for (; evals > in->frame_cnt; at++)
		evals -= in->evals[at];
	for (__u32 i = in->frame_cnt; i-- > 0; at++) {
		while (!in->evals[at])
			at++;
		put_natives(j, at);
		put_due_mark(j);
		put(j, JOIN_PYTHON, i);
	}
	return true;
}

static void place_all(struct joiner *j)
{
	struct activation a;

	if (j->in->evals && !j->broken && place_pairs(j))
		return;
	begin_in_switch(j);
	while (next_activation(j, &a)) {
		/* The thread's base frame is not on the C stack, and has none above it. */
		if (a.first == a.end || place_at_evaluator(j, &a))
			continue;
		if (j->switched)
			place_in_switch(j, &a);
		else
			place(j, &a);
	}
}

/* What is left is below all Python: an application that embeds it, and the start of the thread. */
static void put_root(struct joiner *j)
{
	__u32 cnt = j->in->native_cnt, switcher = j->broken ? cnt : find_switcher(j, cnt);
	bool ended = j->in->ended;

	if (j->ends_above) {
		ended = true;
	} else if (switcher < cnt && !j->in->frame_cnt) {
		break_off_at_switch(j, switcher);
	} else if (switcher < cnt) {
		/* The stack of a greenlet begins there. */
		put_natives(j, switcher);
		ended = true;
	} else if (!j->broken) {
		put_natives(j, root_end(j));
	}
	j->out->complete = cnt && !j->broken && !j->missing && ended && !j->out->guessed;
	if (j->in->interpreter && !j->broken && !ended && cnt)
		j->due = true;
	put_due_mark(j);
}

static void find_first(struct join *j)
{
	__u32 i = j->cnt;

	while (i && j->items[i - 1].kind == JOIN_KERNEL)
		i--;
	j->covered = i && j->items[i - 1].kind != JOIN_NATIVE;
	j->bare = i && !j->covered ? j->items[i - 1].index : 0;
}

int join_stacks(struct join *out, const struct join_input *in)
{
	struct joiner j = { .out = out, .in = in, .left = in->frame_cnt, .broken = !in->taken };
	/* Each frame once, a mark behind each native frame, and one more: where natives are unknown. */
	__u32 most = in->frame_cnt + 2 * in->native_cnt + in->kernel_cnt + 1;

	if (vec_reserve(out->room, out->cap, most))
		return -ENOMEM;
	out->items = out->room + most;
	out->cnt = 0;
	out->guessed = false;
	for (__u32 i = 0; i < in->kernel_cnt; i++)
		put(&j, JOIN_KERNEL, i);
	if (in->unknown && !in->taken)
		put(&j, JOIN_UNKNOWN, 0);
	place_all(&j);
	put_root(&j);
	find_first(out);
	return 0;
}

void join_free(struct join *j)
{
	free(j->room);
	*j = (struct join){ 0 };
}
