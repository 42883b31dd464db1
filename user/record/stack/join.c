/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * join.c - walks both lists from the leaf to the root, and writes the result from its end.
 */
#include "record/stack/join.h"

#include <errno.h>

/* A run of Python frames, followed by the entry frame on its root side. */
struct activation {
	__u32 first, end; /* frames[first .. end - 1] */
	__u64 entry_addr; /* 0: the chain of Python frames ends without one */
};

struct joiner {
	struct items *to;
	struct join *out;
	const struct join_input *in;
	__u32 next; /* the next native frame */
	__u64 entry_addr; /* of the last activation placed */
	__u32 owner; /* the native frame that contains it */
	__u32 left; /* frames on the root side yet to be visited */
	bool broken; /* the natives are used up, or there are none */
	bool due; /* a mark is due: callers of the previous native frame may be missing */
	bool cut; /* the native chain was followed to where it was cut */
	/*
	 * JOIN_CHAIN_SWITCHING: natives up to here belong to greenlet and what it has called; 0:
	 * none
	 */
	__u32 switched;
	bool missing; /* JOIN_CHAIN_SWITCHING: some of its natives are missing */
	/* the outermost activation's native frames belong to another greenlet by now */
	bool ends_above;
	struct item *leaf; /* of natives[0]; NULL: it is not shown */
};

/* Larger than any frame of an eval loop, whatever the compiler and its options. */
#define EVAL_FRAME_MAX (64U << 10)

/* Puts an item before the last one. */
static struct item *put(struct joiner *j, enum item_kind kind, __u32 index)
{
	struct item *item = --j->to->list;

	j->to->cnt++;
	*item = (struct item){ .kind = (__u8)kind, .index = index };
	return item;
}

static void put_mark(struct joiner *j, enum item_mark mark)
{
	put(j, ITEM_MARK, ITEM_NO_FRAME)->frame.code_addr = mark;
}

static void put_frame(struct joiner *j, __u32 i)
{
	const struct frame *f = &j->in->frames[i];

	put(j, f->code_addr ? ITEM_PYTHON : ITEM_HIDDEN, i)->frame = *f;
}

/* Readers of a call chain take all addresses but the first as return addresses. */
static struct item *put_address(struct joiner *j, enum item_kind kind, __u32 index, __u64 address)
{
	struct item *item = put(j, kind, index);

	item->frame.code_addr = address;
	item->frame.fingerprint = index ? ITEM_CALLER | ITEM_BEHIND : 0;
	return item;
}

static bool is_guessed(const struct joiner *j, __u32 i)
{
	return j->in->guessed && j->in->guessed[i];
}

/*
 * Puts one mark after a run of guesses: before the next frame that is certain. Between two runs
 * there may be only frames that are left out: then the one mark stands for both.
 */
static void put_due_mark(struct joiner *j)
{
	const struct item *last = j->to->list, *end = last + j->to->cnt;

	while (last < end && last->kind == ITEM_HIDDEN)
		last++;
	if (j->due && (last == end || last->kind != ITEM_MARK ||
		       (last->frame.code_addr != ITEM_NATIVE_TRUNCATED &&
			last->frame.code_addr != j->in->cut)))
		put_mark(j, j->cut ? j->in->cut : ITEM_NATIVE_TRUNCATED);
	j->due = false;
}

static bool is_shown(const struct joiner *j, __u32 i)
{
	return j->in->interpreter || j->in->origins[i] != ORIGIN_INTERPRETER;
}

static void put_natives(struct joiner *j, __u32 end)
{
	for (; j->next < end; j->next++) {
		bool guessed = is_guessed(j, j->next);

		if (!guessed)
			put_due_mark(j);
		if (is_shown(j, j->next)) {
			struct item *item =
				put_address(j, ITEM_NATIVE, j->next, j->in->natives[j->next].ip);

			j->leaf = j->next ? j->leaf : item;
		}
		j->due = j->due || guessed;
		j->out->guessed = j->out->guessed || guessed;
	}
}

static void put_python(struct joiner *j, const struct activation *a)
{
	put_due_mark(j);
	for (__u32 i = a->end; i-- > a->first;)
		put_frame(j, i);
}

/* The next activation towards the root; false at the end. */
static bool next_activation(struct joiner *j, struct activation *ret)
{
	const struct frame *frames = j->in->frames;
	__u32 i = j->left;

	if (!i)
		return false;
	ret->end = i;
	/* A frame that was just being cleared has neither address: it is not an entry frame. */
	while (i && (frames[i - 1].code_addr || !frames[i - 1].frame_addr))
		i--;
	ret->first = i;
	ret->entry_addr = i ? frames[i - 1].frame_addr : 0;
	j->left = i ? i - 1 : 0;
	return true;
}

/*
 * Does the address lie in the native frame's part of the stack? The start of that part is unknown
 * for the first frame, and for one on another stack than the frame before (signals). Nothing lies
 * below the stack pointer, so greenlet's own frames contain no address there.
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
 * The native frame that contains the entry frame, starting with the owner of the last one (with
 * frame pointers one native frame may contain several); native_cnt: none.
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
 * greenlet copies slices of one C stack. Beyond its function that starts a greenlet the stack holds
 * whatever other greenlets have left there, and during a switch the C stack may not belong to the
 * Python frames.
 */
static __u32 find_switcher(const struct joiner *j, __u32 end)
{
	__u32 i = j->next;

	while (i < end && j->in->origins[i] != ORIGIN_SWITCHER)
		i++;
	return i;
}

/*
 * Where the natives end, without the frames that start processes and threads: libc, and what called
 * it.
 */
static __u32 root_end(const struct joiner *j)
{
	__u32 end = j->in->native_cnt;

	if (j->in->interpreter)
		return end;
	/* _start, in whatever file it is. */
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
	/* Even if only the interpreter's frames remain: nobody knows what it was working for. */
	j->due = true;
}

static void break_off_at_end(struct joiner *j)
{
	break_off(j, j->in->ended ? root_end(j) : j->in->native_cnt);
	j->cut = !j->in->ended;
}

/* Breaks off after all of the switcher's frames. */
static void break_off_at_switch(struct joiner *j, __u32 switcher)
{
	while (switcher < j->in->native_cnt && j->in->origins[switcher] == ORIGIN_SWITCHER)
		switcher++;
	break_off(j, switcher);
}

/* Code of the JIT, placed even if its callers are unknown. */
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

/* The index after the last of greenlet's frames before the end; j->next: there is none. */
static __u32 behind_switchers(const struct joiner *j, __u32 end)
{
	while (end > j->next && j->in->origins[end - 1] != ORIGIN_SWITCHER)
		end--;
	return end;
}

/* Searches natives[switched ..]: those before belong to no activation. */
static __u32 owner_in_switch(struct joiner *j, __u64 entry_addr)
{
	if (!entry_addr || entry_addr & FRAME_ENTRY_GONE)
		return j->in->native_cnt;
	if (j->owner < j->switched)
		j->owner = j->switched;
	return owner_of(j, entry_addr);
}

/*
 * Has another greenlet overwritten the entry frame's place, or is it above what the C stack has
 * now?
 */
static bool is_off_the_stack(const struct joiner *j, __u64 entry_addr)
{
	return entry_addr & FRAME_ENTRY_GONE || entry_addr < j->in->natives[0].frame_addr;
}

/* While greenlets are being switched: places each activation by itself. */
static void place_in_switch(struct joiner *j, const struct activation *a)
{
	__u32 owner = owner_in_switch(j, a->entry_addr);

	if (owner < j->in->native_cnt) {
		/* Frames between two of greenlet's own are what the other greenlet has called. */
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
	/* Everything else there belongs to the other greenlet. */
	j->broken = j->missing && !j->left;
}

/* Puts greenlet's own frames first, for the leaf frame. */
static void begin_in_switch(struct joiner *j)
{
	__u32 cnt = j->in->native_cnt, end = find_switcher(j, cnt);

	if (j->in->chain != JOIN_CHAIN_SWITCHING || j->broken || end == cnt)
		return;
	while (end < cnt && j->in->origins[end] == ORIGIN_SWITCHER)
		end++;
	put_natives(j, end);
	j->switched = end;
	/* An extension has called it: its own callers are unknown. */
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

/* Counts the evaluations among the first native frames. */
static __u32 count_evals(const struct join_input *in, __u32 end)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i < end; i++)
		cnt += in->evals[i];
	return cnt;
}

/* The first evaluation in natives[from .. end - 1]; end: there is none. */
static __u32 find_eval(const struct join_input *in, __u32 from, __u32 end)
{
	while (from < end && !in->evals[from])
		from++;
	return from;
}

/*
 * Behind the natives that certainly call each other and whose roles are known, of a chain that was
 * cut.
 */
static __u32 certain_end(const struct joiner *j)
{
	const struct join_input *in = j->in;
	__u32 end = in->evals_known < in->native_cnt ? in->evals_known : in->native_cnt, i = 0;

	while (i < end && !is_guessed(j, i))
		i++;
	return i < end ? i + 1 : end;
}

static bool shows_any(const struct joiner *j, __u32 from, __u32 end)
{
	while (from < end && !is_shown(j, from))
		from++;
	return from < end;
}

/*
 * The native chain was cut: pairs frames and evaluations from the leaf, as far as it goes. Whether
 * the first evaluation has a frame may be unknown. Each frame then belongs to one evaluation or to
 * the next, and shows what the chain has only as long as it is the same either way: nothing between
 * the two.
 */
static bool place_pairs_from_leaf(struct joiner *j)
{
	const struct join_input *in = j->in;
	__u32 end = certain_end(j), at = find_eval(in, 0, end), left = in->frame_cnt, next;
	__u32 evals = count_evals(in, end);
	bool certain = in->has_frame;

	if (!evals || evals > left + !certain || in->unevaluated)
		return false;
	if (evals > left) {
		at = find_eval(in, at + 1, end);
		certain = true;
	}
	for (; at < end; at = next) {
		next = find_eval(in, at + 1, end);
		if (!certain && left < in->frame_cnt &&
		    (next == end || shows_any(j, j->next, next)))
			break;
		put_natives(j, at);
		put_due_mark(j);
		put_frame(j, --left);
	}
	if (certain && !left)
		return true;
	if (!certain)
		j->next = in->native_cnt;
	break_off_at_end(j);
	if (left)
		put_due_mark(j);
	while (left)
		put_frame(j, --left);
	return true;
}

/* Puts each Python frame right above its evaluation; false if they do not pair up. */
static bool place_pairs(struct joiner *j)
{
	const struct join_input *in = j->in;
	__u32 end = find_switcher(j, in->native_cnt), evals = count_evals(in, end), at = 0;

	if (end == in->native_cnt && !in->ended)
		return place_pairs_from_leaf(j);
	j->out->unevaluated = evals < in->frame_cnt && end == in->native_cnt &&
			      certain_end(j) == end;
	if (evals != in->frame_cnt && evals != in->frame_cnt + 1)
		return false;
	/* An evaluation that has no frame yet, or no longer, counts as the interpreter's own. */
	for (; evals > in->frame_cnt; at++)
		evals -= in->evals[at];
	for (__u32 i = in->frame_cnt; i-- > 0; at++) {
		while (!in->evals[at])
			at++;
		put_natives(j, at);
		put_due_mark(j);
		put_frame(j, i);
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
		/* The thread's base frame is not on the C stack, and has no frames above it. */
		if (a.first == a.end || place_at_evaluator(j, &a))
			;
		else if (j->switched)
			place_in_switch(j, &a);
		else
			place(j, &a);
		if (a.first)
			put_frame(j, a.first - 1);
	}
}

/*
 * Puts what lies below all Python frames: an application that embeds Python, and the start of the
 * thread.
 */
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
		j->due = j->cut = true;
	put_due_mark(j);
}

/*
 * Readers of a call chain take the first address literally: if that frame is a caller, it gets the
 * address of its call, so that it differs from a leaf at the return address. They take all others as
 * return addresses: if a leaf is among them, because what it evaluates is shown above it, it gets
 * the address after its own.
 */
static void mend_first(struct joiner *j)
{
	struct item *first = j->to->list + j->to->cnt;

	while (first > j->to->list &&
	       (first[-1].kind == ITEM_KERNEL || first[-1].kind == ITEM_HIDDEN ||
		(first[-1].kind == ITEM_MARK && first[-1].frame.code_addr == ITEM_OWN)))
		first--;
	if (first == j->to->list)
		return;
	first--;
	if (first->kind == ITEM_NATIVE && first->index) {
		first->frame.code_addr--;
		first->frame.fingerprint = ITEM_CALLER;
	} else if (first->kind != ITEM_NATIVE && j->leaf) {
		j->leaf->frame.code_addr++;
		j->leaf->frame.fingerprint = ITEM_BEHIND;
	}
}

int join_stacks(const struct join_input *in, struct items *to, struct join *ret)
{
	struct joiner j = {
		.to = to, .out = ret, .in = in, .left = in->frame_cnt, .broken = !in->taken
	};
	/* Each frame once, a mark after each native frame, one more if natives are unknown, one for
	 * krait's own code. */
	__u32 most = in->frame_cnt + 2 * in->native_cnt + in->kernel_cnt + 2;

	if (items_begin(to, most))
		return -ENOMEM;
	to->list = to->room + most;
	*ret = (struct join){ .complete = false };
	if (in->in_own)
		put_mark(&j, ITEM_OWN);
	for (__u32 i = in->kernel_own; i < in->kernel_cnt; i++)
		put_address(&j, ITEM_KERNEL, i, in->kernel[i]);
	if (in->unknown && !in->taken)
		put_mark(&j, ITEM_NATIVE_UNKNOWN);
	place_all(&j);
	put_root(&j);
	mend_first(&j);
	return 0;
}
