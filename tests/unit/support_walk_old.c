/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_walk_old.h"

#include <stdlib.h>

#include "python/layout/py_builtin_offsets.h"

/* The offset of _PyCFrame within PyThreadState: in 3.11; in 3.12 it is slightly lower. */
#define ROOT_CFRAME 336

int old_setup(void **state)
{
	*state = calloc(1, sizeof(struct old_fake));
	return *state ? 0 : -1;
}

int old_teardown(void **state)
{
	struct old_fake *x = *state;

	if (x->fake)
		fake_free(x->fake);
	free(x);
	return 0;
}

__u64 old_thread(struct old_fake *x, __u64 interp_addr, __u64 thread_id)
{
	__u64 addr = fake_thread(x->fake, interp_addr, thread_id, 0);

	if (OFF(x)->flags & PYOFF_CFRAME)
		fake_put(x->fake, addr + OFF(x)->thread.cframe, addr + ROOT_CFRAME);
	return addr;
}

void old_begin(struct old_fake *x, unsigned minor)
{
	if (x->fake)
		fake_free(x->fake);
	x->version = (struct fake_version){
		.name = "old",
		.offsets = *py_builtin_offsets_find(minor),
		.thread_size = 384,
		.frame_size = 384,
	};
	x->fake = fake_new(&x->version, 0x7f5500000000, 4 << 20);
	/* The runtime's last field is beyond what the fake has reserved. */
	fake_alloc(x->fake, 1024);
	x->interp_addr = fake_interp(x->fake);
	x->tstate_addr = old_thread(x, x->interp_addr, SELF);
	x->frame_addr = 0;
	x->cframe_addr = 0;
	if (OFF(x)->flags & PYOFF_CFRAME)
		x->cframe_addr = fake_get(x->fake, x->tstate_addr + OFF(x)->thread.cframe);
	x->cnt = 0;
}

void old_set_current(struct old_fake *x, __u64 addr)
{
	x->frame_addr = addr;
	if (x->cframe_addr)
		fake_put(x->fake, x->cframe_addr + OFF(x)->cframe.current_frame, addr);
	else
		fake_put(x->fake, x->tstate_addr + OFF(x)->thread.current_frame, addr);
}

void old_put_instr(struct old_fake *x, __u64 addr, __u64 code_addr, __s32 instr_off)
{
	const struct py_offsets *off = OFF(x);

	if (off->frame_kind == PY_FRAME_OBJECT)
		fake_put_u32(x->fake, addr + off->frame.instr_ptr,
			     instr_off == FRAME_INSTR_BEFORE ?
				     ~0U :
				     (__u32)instr_off >> off->lasti_shift);
	else
		fake_put(x->fake, addr + off->frame.instr_ptr,
			 code_addr + (__u64)off->code.code_adaptive + (__u64)(__s64)instr_off);
}

void old_expect(struct old_fake *x, __u64 frame_addr, __u64 code_addr, __s32 instr_off)
{
	x->nodes[x->cnt++] = (struct frame){ code_addr, frame_addr, instr_off, 0 };
}

void old_call(struct old_fake *x, bool from_c, __s32 instr_off)
{
	const struct py_offsets *off = OFF(x);
	__u64 code_addr = fake_code(x->fake), addr = fake_alloc(x->fake, 384);
	__u64 caller_addr = x->frame_addr;

	if (from_c && off->flags & PYOFF_CFRAME) {
		__u64 cframe_addr = fake_alloc(x->fake, 24);

		fake_put(x->fake, cframe_addr + off->cframe.previous, x->cframe_addr);
		fake_put(x->fake, x->tstate_addr + off->thread.cframe, cframe_addr);
		x->cframe_addr = cframe_addr;
		if (off->frame_kind == PY_FRAME_IS_ENTRY) {
			fake_put_u8(x->fake, addr + off->frame.is_entry, 1);
			old_expect(x, cframe_addr, 0, FRAME_INSTR_UNKNOWN);
		} else {
			__u64 entry_addr = fake_alloc(x->fake, 96);

			fake_put_u8(x->fake, entry_addr + off->frame.owner, FAKE_ENTRY);
			fake_put(x->fake, entry_addr + off->frame.previous, caller_addr);
			old_expect(x, entry_addr, 0, FRAME_INSTR_UNKNOWN);
			caller_addr = entry_addr;
		}
	}
	fake_put(x->fake, addr + off->frame.previous, caller_addr);
	fake_put(x->fake, addr + off->frame.executable, code_addr);
	old_put_instr(x, addr, code_addr, instr_off);
	old_set_current(x, addr);
	old_expect(x, addr, code_addr, instr_off);
}
