/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * looks.bpf.c - lists the threads of tracked processes that do not come back in time, with their
 * registers and what they wait for (kernel/maps/looks.c): for waits that outlast the recording, and for
 * whoever asks while it runs. And reads the clocks of all of them.
 *
 * Loaded only if somebody wants to look, or to read clocks.
 */
#include "bpf/sample.h"
#include "bpf/wait/thread_wait.h"
#include "bpf/wait/clock.h"

/* A thread's supplementary groups: not on the stack, where thread_look leaves no room for them on 5.10. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32[TASK_GROUPS_MAX]);
} look_groups SEC(".maps");

/* Since when the thread has been off the CPU; 0: it is on one, or about to be. */
static __always_inline __u64 off_since(struct task_struct *task, const struct thread_wait *w,
				       const struct proc_info *proc)
{
	if (w)
		return w->task_state == TASK_STATE_ON_CPU ? 0 : w->since_ns;
	/* It has not switched since the beginning. */
	return task_state_of(task) ? wait_first_since(task, proc) : 0;
}

static __always_inline void look_at(struct task_struct *task, const struct proc_info *proc,
				    struct thread_look *look)
{
	struct thread_wait *w = find_wait(task);
	__u32 first = 0, *groups = bpf_map_lookup_elem(&look_groups, &first);

	look->thread_start_ns = task->start_boottime;
	look->thread_ptr = task_thread_pointer(task);
	look->switches = task->nvcsw + task->nivcsw;
	if (bpf_core_field_exists(task->sched_info.pcount))
		look->runs = task->sched_info.pcount;
	/* It has another size from 7.2 on. */
	if (bpf_core_field_exists(task->on_cpu))
		look->on_cpu = BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu) != 0;
	look->since_ns = off_since(task, w, proc);
	look->pid = task->tgid;
	look->tid = task->pid;
	look->owner = proc->owner;
	look->facts.syscall = -1;
	look->facts.task_state = task_state_of(task);
	look->facts.flags = wait_frozen(task);
	if (w) {
		look->left = w->left;
		look->rest = w->rest;
		look->shift = w->shift;
		if (look->since_ns)
			look->facts.task_state = w->task_state;
	}
	BPF_CORE_READ_STR_INTO(&look->comm, task, comm);
	if (groups)
		task_ids(&look->ids, task, groups);
	note_syscall(&look->facts, task,
		     has_task_regs ? (const void *)bpf_task_pt_regs(task) : task_stack_regs(task),
		     look->regs);
	look->behind_syscall = REGS_BEHIND_SYSCALL(look->regs);
}

SEC("?iter/task")
int look_at_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_look look = {};
	struct proc_info *proc;
	__u32 pid;

	/* Pointers are read by helpers: see begin_wait() in switch.bpf.c. */
	if (!task || !BPF_CORE_READ(task, mm) || task->flags & PF_EXITING)
		return 0;
	pid = task->tgid;
	proc = bpf_map_lookup_elem(&procs, &pid);
	if (!proc || !(proc->flags & PROC_PYTHON) ||
	    !same_start(process_start_ns(task), proc->start_ns) ||
	    (user_cnt && !is_wanted_user(task_fsuid(task, false))) ||
	    (own_only && !task_is_own(task, own_uid, own_gid)))
		return 0;
	look_at(task, proc, &look);
	/* Whatever it has executed meanwhile. */
	if (own_only && !task_is_own(task, own_uid, own_gid))
		return 0;
	bpf_seq_write(ctx->meta->seq, &look, sizeof(look));
	return 0;
}

/* Whoever reads it gets nothing from it: the clocks go into the ring buffer, between the samples. */
SEC("?iter/task")
int read_clocks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct proc_info *proc;
	__u32 pid, flags = 0;

	if (!task || !BPF_CORE_READ(task, mm) || task->flags & PF_EXITING)
		return 0;
	pid = task->tgid;
	proc = bpf_map_lookup_elem(&procs, &pid);
	if (!proc || !same_start(process_start_ns(task), proc->start_ns))
		return 0;
	if (bpf_core_field_exists(task->on_cpu) && BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu) != 0)
		flags = CLOCK_RUNNING;
	send_clock(task, proc, flags);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
