/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/greenlets.h"

#include "native/names/native.h"

static __u32 find_switcher(const struct join_input *s, __u32 i)
{
	while (i < s->native_cnt && s->origins[i] != ORIGIN_SWITCHER)
		i++;
	return i;
}

static __u32 count_activations(const struct join_input *s)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i + 1 < s->frame_cnt; i++) {
		const struct frame *f = &s->frames[i];

		cnt += !f->code_addr && f->frame_addr && f[1].code_addr;
	}
	return cnt;
}

/*
 * Evaluations of the greenlet on whose C stack greenlet's own frames lie, in natives[.. behind -
 * 1].
 */
static __u32 count_evaluations(const struct join_input *s, struct native *native, __u32 behind)
{
	__u32 cnt = 0, end = find_switcher(s, behind);
	bool later;

	for (__u32 i = behind; i < end; i++)
		cnt += s->origins[i] == ORIGIN_INTERPRETER &&
		       native__is_eval(native, s->natives[i].ip - 1, &later);
	return cnt;
}

static __u64 leaf_entry_addr(const struct join_input *s)
{
	for (__u32 i = s->frame_cnt; i-- > 0;) {
		if (!s->frames[i].code_addr && s->frames[i].frame_addr)
			return s->frames[i].frame_addr;
	}
	return 0;
}

/*
 * Do greenlet's frames, from natives[i] on, lie above the evaluation of the leaf frame? What an
 * evaluation keeps in memory may still be there after the C stack has shrunk; it then looks as if
 * it were in natives[0].
 */
static bool is_above(const struct join_input *s, struct native *native, __u32 i)
{
	__u64 addr = leaf_entry_addr(s);
	bool later;

	if (!i || addr >= s->natives[i - 1].frame_addr)
		return true;
	return addr < s->natives[0].frame_addr &&
	       !native__is_eval(native, s->natives[0].ip, &later);
}

enum join_chain greenlet_chain(const struct join_input *s, struct native *native, bool has_owner)
{
	__u32 i = find_switcher(s, 0);
	bool may_expose = false;

	if (i == s->native_cnt)
		return JOIN_CHAIN_ANY; /* greenlet is not on the stack */
	if (!has_owner)
		return is_above(s, native, i) ? JOIN_CHAIN_SWITCHING : JOIN_CHAIN_ANY;
	for (; i < s->native_cnt && s->origins[i] == ORIGIN_SWITCHER; i++)
		may_expose = may_expose || native__may_expose(native, s->natives[i].ip - (i > 0));
	return !may_expose || count_evaluations(s, native, i) == count_activations(s) ?
		       JOIN_CHAIN_OWN :
		       JOIN_CHAIN_ANY;
}
