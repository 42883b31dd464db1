/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wait.h - what a thread was waiting for, recorded when it comes back: its system call, the state
 * in which it left, and how long it was runnable before it ran.
 *
 * Nothing is judged here: user space derives a state from these facts (record/samples/wait_state.h). If a
 * fact is not available, it is missing from the record, together with everything derived from it.
 */
#ifndef KRAIT_BPF_WAIT_WAIT_H
#define KRAIT_BPF_WAIT_WAIT_H

#include "bpf/abi.h"
#include "bpf/python/gil.h"
#include "bpf/map/sampling.h"
#include "bpf/python/nogil.h"
#include "bpf/map/scratch.h"
#include "bpf/section.h"
#include "bpf/kernel_task.h"

/* What was noted when the wait began, and its length. */
struct wait_note {
	__u64 length_ns;
	__u64 run_delay_ns; /* sched_info.run_delay at the start */
	__u16 task_state;
	__u16 unsampled; /* CPU time of the thread that no tick found (tick.h) */
	__u32 ticks_ns; /* CPU time that the stack also stands for (switch_cpu.h) */
};

/* Larger descriptors are not believed: an argument that is no descriptor is rarely this small. */
#define WAIT_MAX_FD (1U << 20)

/* PF_FROZEN, include/linux/sched.h, up to 6.0; later only threads of the kernel have this flag. */
#define WAIT_PF_FROZEN 0x00010000

/*
 * A frozen thread sleeps on its way back to user space, and has this bit until it has left: set by
 * cgroup_enter_frozen() in kernel/cgroup/freezer.c (5.2), which also stops by signals call. The older freezer of
 * cgroup v1, and of suspending, has a flag.
 */
static __always_inline __u8 wait_frozen(struct task_struct *task)
{
	if (BPF_CORE_READ(task, flags) & WAIT_PF_FROZEN)
		return WAIT_FROZEN;
	if (bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD_PROBED(task, frozen))
		return WAIT_FROZEN;
	return 0;
}

/* st_mode of the file behind a descriptor; 0: there is none. */
static __always_inline __u16 file_mode_of(struct task_struct *task, __u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **slot, *file = NULL;

	if (!table || fd >= WAIT_MAX_FD || fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	slot = BPF_CORE_READ(table, fd) + fd;
	if (bpf_probe_read_kernel(&file, sizeof(file), slot) || !file)
		return 0;
	return BPF_CORE_READ(file, f_inode, i_mode);
}

/*
 * from: where the kernel has saved the task's user-mode registers; NULL: unknown. regs: room for
 * them.
 */
static __always_inline void note_syscall(struct wait_facts *w, struct task_struct *task,
					 const void *from, __u64 regs[UNWIND_SAVED_WORDS])
{
	static const __u8 words[] = REGS_SYSCALL_ARGS;

	if (!from || bpf_probe_read_kernel(regs, UNWIND_SAVED_WORDS * sizeof(*regs), from) ||
	    !MODE_IS_USER(regs[UNWIND_WORD_MODE]))
		return;
	w->flags |= WAIT_HAS_SYSCALL;
	if (REGS_SYSCALL(regs) < 0)
		return;
	w->syscall = REGS_SYSCALL(regs);
	for (int i = 0; i < 3; i++)
		w->args[i] = regs[words[i]];
	w->file_mode = file_mode_of(task, w->args[0]);
}

static __always_inline void take_wait_gil(struct wait_facts *w, const struct gil *gil)
{
	if (!gil->addr)
		return;
	w->gil_holder_addr = gil->holder_addr;
	if (w->syscall < 0 || w->args[0] - gil->addr >= gil->size)
		return;
	w->flags |= WAIT_GIL;
	if (gil->locked)
		w->flags |= WAIT_GIL_LOCKED;
}

/* Appends the section, behind the others. task: the current one. */
static __always_inline void take_wait(const struct wait_note *note, struct scratch *s,
				      struct task_struct *task, const struct gil *gil)
{
	struct wait_facts *w = (void *)section_room(s, 0, sizeof(*w) / sizeof(__u64));
	__u64 delay_ns = BPF_CORE_READ(task, sched_info.run_delay) - note->run_delay_ns;

	if (!w)
		return;
	*w = (struct wait_facts){
		.length_ns = note->length_ns,
		.runnable_ns = delay_ns < note->length_ns ? delay_ns : note->length_ns,
		.syscall = -1,
		.task_state = note->task_state,
		.unsampled = note->unsampled,
		.ticks_ns = note->ticks_ns,
		.flags = (BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) ? WAIT_IO : 0) |
			 wait_frozen(task),
	};
	note_syscall(w, task, task_saved_regs(task, has_task_regs), s->regs);
	take_wait_gil(w, gil);
	if (want_states && w->syscall >= 0) {
		w->flags |= (__u8)s->waits;
		if (nogil_is_parked(gil, s->state_addr, w->args[0]))
			w->flags |= WAIT_WORLD;
	}
	section_append(&s->record, SECTION_WAIT, 1);
}

#endif /* KRAIT_BPF_WAIT_WAIT_H */
