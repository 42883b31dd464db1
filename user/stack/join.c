/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * join.c - goes from the leaf to the root along both lists, then turns the result round.
 */
#include "stack/join.h"

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
	__u32 left; /* frames on the root side that are not looked at yet */
	bool broken; /* natives are over, or there are none */
};

static void put(struct joiner *j, enum join_kind kind, __u32 index)
{
	j->out->items[j->out->cnt++] = (struct join_item){ kind, index };
}

static void put_natives(struct joiner *j, __u32 end)
{
	for (; j->next < end; j->next++) {
		if (j->in->interpreter || j->in->origins[j->next] != ORIGIN_INTERPRETER)
			put(j, JOIN_NATIVE, j->next);
	}
}

static void put_python(struct joiner *j, const struct activation *a)
{
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
 * The native frame in which the entry frame lies, not before the one that had the last; native_cnt
 * where there is none.
 */
static __u32 owner_of(const struct joiner *j, __u64 entry_addr)
{
	const struct native_frame *natives = j->in->natives;
	__u32 cnt = j->in->native_cnt, i = j->next ? j->next - 1 : 0;

	/* Not growing: on another stack, or none at all. */
	if (entry_addr <= j->entry_addr || (i && natives[i - 1].frame_addr > entry_addr))
		return cnt;
	while (i < cnt && natives[i].frame_addr <= entry_addr)
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

static void break_off(struct joiner *j)
{
	put_natives(j, j->in->ended ? root_end(j) : j->in->native_cnt);
	j->broken = true;
	/* Even where only the interpreter was met: whose work it did is not known. */
	put(j, JOIN_TRUNCATED, 0);
}

static void place(struct joiner *j, const struct activation *a)
{
	__u32 owner = j->broken ? j->in->native_cnt : owner_of(j, a->entry_addr);

	if (owner < j->in->native_cnt)
		put_natives(j, owner);
	else if (!j->broken)
		break_off(j);
	put_python(j, a);
	j->entry_addr = a->entry_addr;
}

/* The native frames that are evaluations. */
static __u32 count_evals(const struct join_input *in)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i < in->native_cnt; i++)
		cnt += in->evals[i];
	return cnt;
}

/* Each Python frame right above its evaluation; false where they do not pair. */
static bool place_pairs(struct joiner *j)
{
	const struct join_input *in = j->in;
	__u32 evals = count_evals(in), at = 0;

	if (!in->ended || (evals != in->frame_cnt && evals != in->frame_cnt + 1))
		return false;
	/* One that has no frame yet, or no more, is the interpreter's own. */
	for (; evals > in->frame_cnt; at++)
		evals -= in->evals[at];
	for (__u32 i = in->frame_cnt; i-- > 0; at++) {
		while (!in->evals[at])
			at++;
		put_natives(j, at);
		put(j, JOIN_PYTHON, i);
	}
	return true;
}

static void place_all(struct joiner *j)
{
	struct activation a;

	if (j->in->evals && !j->broken && place_pairs(j))
		return;
	while (next_activation(j, &a)) {
		/* The thread's base frame is not on the C stack, and has none above it. */
		if (a.first < a.end)
			place(j, &a);
	}
}

/* What is left is below all Python: an application that embeds it, and the start of the thread. */
static void put_root(struct joiner *j)
{
	if (!j->broken)
		put_natives(j, root_end(j));
	if (j->in->interpreter && !j->broken && !j->out->complete && j->in->native_cnt)
		put(j, JOIN_TRUNCATED, 0);
}

static void turn_round(struct join *j)
{
	for (__u32 i = 0, k = j->cnt; i + 1 < k; i++) {
		struct join_item item = j->items[--k];

		j->items[k] = j->items[i];
		j->items[i] = item;
	}
}

static int reserve(struct join *j, __u32 cnt)
{
	struct join_item *grown;

	if (cnt <= j->cap)
		return 0;
	grown = reallocarray(j->items, (size_t)cnt * 2, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	j->items = grown;
	j->cap = cnt * 2;
	return 0;
}

int join_stacks(struct join *out, const struct join_input *in)
{
	struct joiner j = { .out = out, .in = in, .left = in->frame_cnt, .broken = !in->taken };

	/* Each frame once, and one mark: where natives are unknown they are not truncated as well. */
	if (reserve(out, in->frame_cnt + in->native_cnt + in->kernel_cnt + 1))
		return -ENOMEM;
	out->cnt = 0;
	for (__u32 i = 0; i < in->kernel_cnt; i++)
		put(&j, JOIN_KERNEL, i);
	if (in->unknown && !in->taken)
		put(&j, JOIN_UNKNOWN, 0);
	place_all(&j);
	out->complete = in->native_cnt && !j.broken && in->ended;
	put_root(&j);
	turn_round(out);
	return 0;
}

void join_free(struct join *j)
{
	free(j->items);
	*j = (struct join){ 0 };
}
