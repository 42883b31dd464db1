/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/layout/task_layout.h"

#include <errno.h>

#include "python/layout/published.h"

/*
 * After the head of an object (Include/object.h; 16 bytes, or 32 in free-threaded builds), the same
 * in 3.14 and 3.15: gen_object and set_object of their published tables.
 */
#define GEN_FRAME_STATE 51
#define GEN_IFRAME 56
#define SET_USED 8
#define SET_MASK 16
#define SET_TABLE 24
/* _PyInterpreterFrame.stackpointer: after instr_ptr, with or without a GIL. */
#define FRAME_STACKPOINTER 64
/* FRAME_HEAD of bpf/python/walk.h: bytes read before a frame. */
#define HEAD 8
_Static_assert(SET_MASK == SET_USED + 8 && SET_TABLE == SET_MASK + 8, "read at once");

/* enum _framestate, Include/internal/pycore_frame.h (3.14), pycore_interpframe_structs.h (3.15). */
static void set_states(struct task_layout *l, __u32 version)
{
	if (version >> 16 == 0x030e) {
		l->state_first = -3;
		l->state_yield_from = -1;
		l->state_locked = -1; /* no such state */
		l->state_executing = 0;
		l->state_ended = 1;
		l->state_last = 4;
		l->yield_depth = 8;
		return;
	}
	l->state_first = 0;
	l->state_yield_from = 2;
	l->state_locked = 3;
	l->state_executing = 4;
	l->state_ended = 5;
	l->state_last = 5;
	l->yield_depth = 16;
}

int task_layout_of(struct task_layout *ret, const struct py_offsets *offsets,
		   const struct published_asyncio *asyncio, __u64 start_ns)
{
	const struct {
		__u64 offset;
		__u32 width;
		__u8 *to;
	} members[] = {
		{ asyncio->task_name, 8, &ret->name },
		{ asyncio->task_awaited_by, 8, &ret->awaited_by },
		{ asyncio->task_is_task, 1, &ret->is_task },
		{ asyncio->task_awaited_by_is_set, 1, &ret->awaited_by_is_set },
		{ asyncio->task_coro, 8, &ret->coro },
	};
	const __u32 head = (__u32)offsets->object.ob_type + 8;
	__u64 from = ~0ULL;

	*ret = (struct task_layout){ .start_ns = start_ns };
	if (!published_kind_by(PUBLISHED_ASYNCIO, offsets->version) || (head != 16 && head != 32) ||
	    offsets->frame.instr_ptr != FRAME_STACKPOINTER - 8 ||
	    asyncio->thread_running_task != asyncio->thread_running_loop + 8)
		return -ENODATA;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		from = members[i].offset < from ? members[i].offset : from;
	from &= ~7ULL;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (members[i].offset - from + members[i].width > KRAIT_TASK_WINDOW)
			return -ENODATA;
		*members[i].to = (__u8)(members[i].offset - from);
	}
	ret->window_at = (__u32)from;
	ret->running_loop = (__u32)asyncio->thread_running_loop;
	ret->gen_iframe = (__u8)(head + GEN_IFRAME);
	ret->gen_state = HEAD - (GEN_IFRAME - GEN_FRAME_STATE);
	ret->set_used = (__u8)(head + SET_USED);
	ret->frame_stackpointer = FRAME_STACKPOINTER;
	set_states(ret, offsets->version);
	return 0;
}
