/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/probe_interps.h"

#include "read.h"
#include "gil.h"

static void look_at_gil(const struct stack_walk *walk, const struct thread_list_entry *states,
			__u32 state_cnt, struct probe_interp *i)
{
	struct gil gil = { .memory = walk->memory };

	if (find_gil(walk->offsets, walk->runtime_addr, i->interp_addr, &gil)) {
		i->gil = walk->offsets->flags & PYOFF_FREE_THREADED ? PROBE_GIL_NONE :
								      PROBE_GIL_UNKNOWN;
		return;
	}
	i->gil_addr = gil.addr;
	i->gil = gil.locked ? PROBE_GIL_HELD : PROBE_GIL_FREE;
	for (__u32 k = 0; gil.locked && k < state_cnt; k++)
		if (states[k].tstate_addr == gil.holder_addr)
			i->holder = states[k].native_id;
}

__u32 probe_interps_list(const struct stack_walk *walk, const struct thread_list_entry *states,
			 __u32 state_cnt, struct probe_interp *ret)
{
	__u32 cnt = 0;

	for (__u32 k = 0; k < state_cnt && cnt < PROBE_THREADS_INTERPS_MAX; k++) {
		/* States of one interpreter stand together. */
		if (cnt && ret[cnt - 1].interp_addr == states[k].interp_addr)
			continue;
		ret[cnt] = (struct probe_interp){ .id = states[k].interp_id,
						  .interp_addr = states[k].interp_addr };
		look_at_gil(walk, states, state_cnt, &ret[cnt++]);
	}
	return cnt;
}
