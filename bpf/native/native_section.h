/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_section.h - the native sections of a sample: frames of user mode, and of the kernel.
 */
#ifndef KRAIT_BPF_NATIVE_NATIVE_SECTION_H
#define KRAIT_BPF_NATIVE_NATIVE_SECTION_H

#include "bpf/abi.h"
#include "bpf/loops.h"
#include "bpf/map/sampling.h"
#include "bpf/native/walk_state.h"
#include "bpf/map/scratch.h"
#include "bpf/section.h"
#include "bpf/kernel_task.h"
#include "bpf/trigger.h"
#include "bpf/arch.h"

/* In place of an address: the registers are in s->regs already. */
#define REGS_TAKEN 1ULL

/*
 * Finds the user registers and begins the walk with them: those of the interrupt, at that address in the kernel's
 * memory or else ip, sp and fp, or those that the kernel saved on entry. Returns 0, or -1 if they were not found. A
 * global function: it is verified once.
 */
__weak __noinline int native_begin(__u32 memory, __u64 regs_addr, __u64 ip, __u64 sp, __u64 fp)
{
	static const __u8 words[UNWIND_REGS] = UNWIND_REG_WORDS;
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	struct native_regs regs = { ip, sp, fp };
	const void *from = (const void *)regs_addr;

	if (!s)
		return -1;
	if (s->record.flags & SAMPLE_KERNEL)
		from = task_saved_regs((struct task_struct *)bpf_get_current_task(), has_task_regs);
	if (regs_addr != REGS_TAKEN &&
	    (!from || bpf_probe_read_kernel(s->regs, sizeof(s->regs), from))) {
		if (s->record.flags & SAMPLE_KERNEL)
			return -1;
		unwind_begin(&s->native, &regs);
		return 0;
	}
	regs = (struct native_regs){ s->regs[UNWIND_WORD_IP], s->regs[UNWIND_WORD_SP],
				     s->regs[UNWIND_WORD_FP] };
	unwind_begin(&s->native, &regs);
#pragma unroll
	for (int i = 0; i < UNWIND_REGS; i++)
		s->native.regs[i] = s->regs[words[i]];
	return MODE_IS_USER(s->regs[UNWIND_WORD_MODE]) ? 0 : -1;
}

static __always_inline int find_regs(const struct trigger *t, struct scratch *s)
{
	__u64 addr = t->regs_addr;

	/* A global function takes no pointers. */
	if (t->ctx_is_regs && !bpf_probe_read_kernel(s->regs, sizeof(s->regs), t->ctx))
		addr = REGS_TAKEN;
	return native_begin(s->index, addr, t->regs.ip, t->regs.sp, t->regs.fp);
}

/*
 * Code from CPython's JIT keeps the evaluated frame and the thread state in registers (3.14 and
 * 3.15: the arguments of each stencil, by "preserve_none", Tools/jit/template.c), and has no frame
 * pointer on 3.14. These registers tell it from other JITs' code, which is in unnamed memory, too.
 *
 * A global function: it is verified once.
 */
__weak __noinline int note_frame_in_regs(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	__u64 others = ~0ULL, other_frames = ~0ULL, tstate_addr, frame_addr, differs;

	if (!s)
		return -1;
	tstate_addr = s->record.tstate_addr;
	frame_addr = s->frames[0].frame_addr;

	/* Without branches: of x | -x the sign is 0 only if x is. */
#pragma unroll
	for (int i = 0; i < REGS_GENERAL; i++) {
		differs = s->regs[i] ^ tstate_addr;
		others &= differs | -differs;
		differs = s->regs[i] ^ frame_addr;
		other_frames &= differs | -differs;
		/* One after the other: arm64's 29 do not fit on the stack together. */
		asm volatile("" : "+r"(others), "+r"(other_frames) : : "memory");
	}
	if ((__s64)(others | other_frames) >= 0 && tstate_addr && frame_addr)
		s->record.flags |= SAMPLE_IN_FRAME;
	return 0;
}

/*
 * Walks the native stack into s->native, behind the record's sections. Returns 0, or -1 if the user
 * registers were not found.
 */
static __always_inline int walk_native(const struct trigger *t, struct scratch *s)
{
	struct loop_ctx c = { .s = s };

	if (find_regs(t, s))
		return -1;
	/*
	 * The thread continues behind the call, which may be the last instruction of its function
	 * (as in __restore_rt).
	 */
	if (s->record.flags & SAMPLE_KERNEL && REGS_BEHIND_SYSCALL(s->regs))
		s->native.flags &= ~UNWIND_EXACT;
	if (s->record.cnt[SECTION_FRAMES])
		note_frame_in_regs(s->index);
	native_enter(s->index);
	walk_native_frames(&c, t->has_loop);
	native_leave(s->index);
	return 0;
}

static __always_inline void take_native(const struct trigger *t, struct scratch *s)
{
	if (walk_native(t, s))
		s->record.native_reason = NATIVE_NO_REGS;
	else
		section_append(&s->record, SECTION_NATIVE, s->native.cnt);
}

static __always_inline void take_kernel(const struct trigger *t, struct scratch *s)
{
	__u64 *room = section_room(s, 0, KRAIT_MAX_KERNEL);
	long size;

	if (!room)
		return;
	size = bpf_get_stack(t->ctx, room, KRAIT_MAX_KERNEL * sizeof(*room), t->kernel_skip);
	if (size > 0)
		section_append(&s->record, SECTION_KERNEL, size / sizeof(*room));
}

/* Called once the Python frames are settled: appends the native frames that are wanted. */
static __always_inline void take_native_and_kernel(const struct trigger *t, struct scratch *s)
{
	__u32 reason = s->record.reason;

	if (reason_outcome(reason) == OUTCOME_LOST || !natives_on)
		return;
	if (want_native && reason != REASON_EXITING && reason != REASON_EXECING)
		take_native(t, s);
	if (want_kernel && s->record.flags & SAMPLE_KERNEL && t->has_kernel_stack)
		take_kernel(t, s);
}

#endif /* KRAIT_BPF_NATIVE_NATIVE_SECTION_H */
