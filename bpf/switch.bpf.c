/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * switch.bpf.c - time off the CPU: as a thread comes back, its stack and how long it was away.
 *
 * Two programs. At sched_switch both threads are known, but only the one that leaves can be looked into: it is
 * noted when it left, and for the one that comes, how long it was away, and whether this wait gets a stack
 * (switch.h). The second program runs at the end of the switch, in the thread that has come: nothing of it has
 * run yet, so its stack is that of the wait. A stack that is taken there, and not as the thread leaves, is only
 * taken where it is wanted, with the length known, and makes no wait longer than it is: with the walk inside,
 * waits of 10 us that were looked at were twice as long as others.
 *
 * The kernel has two places for the second: the tracepoint sched_exit_tp (6.14+), and before that the function
 * __perf_event_task_sched_in(), which finish_task_switch() calls while some perf event is bound to a thread;
 * user space opens one that counts nothing. A thread that runs for the first time comes by neither way in the
 * first case: what it has waited for a CPU is counted as missed.
 *
 * Loaded only where time off the CPU is asked for.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "sample.h"
#include "switch.h"

/* By wait_place(); sized by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_wait);
} waits SEC(".maps");

/* What goes on on one CPU. */
struct switch_cpu {
	struct switch_budget budget;
	__u64 chance; /* switch_chance() */
	__u64 period_ns; /* of the stack to take of the thread that comes; 0 none */
	struct wait_note note; /* of its wait */
	__u32 tid;
	__u32 pad_;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switch_cpu);
} switch_cpus SEC(".maps");

/* The index of the event that the stacks belong to, and its shortest period: 1 << that many ns. */
const volatile __u32 switch_event = 0, switch_shortest = SWITCH_PERIOD_SHIFT;

/* The recording's begin, CLOCK_MONOTONIC: before that no time is counted. */
volatile __u64 switch_from_ns = ~0ULL;

/* The task state of a wait whose begin nobody has seen. */
#define TASK_STATE_UNKNOWN 0xffff

static __always_inline struct switch_cpu *switch_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&switch_cpus, &zero);
}

/* Direct loads, as the verifier knows what a tracepoint of BTF is given: half the price of helpers. */
static __always_inline struct thread_wait *wait_at(struct task_struct *task, int second)
{
	__u32 place = wait_place(task->pid, second);

	return bpf_map_lookup_elem(&waits, &place);
}

static __always_inline bool is_of(const struct thread_wait *w, struct task_struct *task)
{
	return w && w->thread_start_ns == task->start_boottime && w->tid == (__u32)task->pid;
}

static __always_inline struct thread_wait *find_wait(struct task_struct *task)
{
	struct thread_wait *w = wait_at(task, 0);

	if (is_of(w, task))
		return w;
	w = wait_at(task, 1);
	return is_of(w, task) ? w : NULL;
}

/* What task_struct.__state was called up to 5.13. */
struct task_struct___before_5_14 {
	long state;
} __attribute__((preserve_access_index));

static __always_inline __u16 task_state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___before_5_14 *)task)->state;
}

static __always_inline __u64 later(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

/*
 * A thread that is met for the first time: what it does now it has done ever since it began, the recording
 * did, or its process was entered. NULL: it is no thread of a tracked process, it ends, or there is no room.
 */
static __always_inline struct thread_wait *begin_wait(struct task_struct *task, bool is_off)
{
	__u32 pid = task->tgid;
	struct switch_point point = {};
	struct proc_info *proc;
	struct thread_wait *w;

	if (!task->mm || task->flags & PF_EXITING)
		return NULL;
	proc = bpf_map_lookup_elem(&procs, &pid);
	if (!proc || !(proc->flags & PROC_PYTHON) ||
	    !same_start(task->group_leader->start_boottime, proc->start_ns))
		return NULL;
	w = wait_at(task, 0);
	if (w && w->thread_start_ns)
		w = wait_at(task, 1);
	if (!w || w->thread_start_ns) {
		count(COUNTER_WAITS_REFUSED);
		return NULL;
	}
	w->from_ns = w->since_ns = later(later(switch_from_ns, proc->since_ns), task->start_time);
	w->on_ns = w->off_ns = 0;
	w->run_delay_ns = task->sched_info.run_delay;
	w->tid = task->pid;
	switch_next_point(&point, bpf_get_prandom_u32());
	w->left = point.left;
	w->rest = point.rest;
	w->task_state = is_off ? TASK_STATE_UNKNOWN : 0;
	w->is_off = is_off;
	barrier();
	w->thread_start_ns = task->start_boottime;
	return w;
}

/* prev, which is the current one still. What ends has no stack any more. */
static __always_inline void leave(struct task_struct *prev, bool preempted, __u64 now_ns)
{
	struct thread_wait *w = find_wait(prev);

	if (prev->flags & PF_EXITING) {
		if (w)
			w->thread_start_ns = 0;
		return;
	}
	if (!w)
		w = begin_wait(prev, false);
	if (!w)
		return;
	if (!w->is_off)
		w->on_ns += now_ns - w->since_ns;
	w->since_ns = now_ns;
	w->run_delay_ns = prev->sched_info.run_delay;
	w->task_state = preempted ? 0 : task_state_of(prev);
	w->is_off = 1;
}

static __always_inline void come_back(struct switch_cpu *cpu, struct task_struct *next,
				      __u64 now_ns)
{
	struct thread_wait *w = find_wait(next);
	struct switch_point point;
	__u64 length_ns, random = 0;
	__u32 shift;

	if (!w)
		w = begin_wait(next, true);
	if (!w || !w->is_off)
		return;
	length_ns = now_ns - w->since_ns;
	w->off_ns += length_ns;
	w->since_ns = now_ns;
	w->is_off = 0;
	shift = switch_shift(&cpu->budget, switch_shortest);
	point = (struct switch_point){ w->left, w->rest };
	if (switch_wants_chance(&point, length_ns, shift)) {
		if (!cpu->chance)
			cpu->chance = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
		random = switch_chance(&cpu->chance);
	}
	cpu->period_ns = switch_period(&point, length_ns, shift, random);
	w->left = point.left;
	w->rest = point.rest;
	if (!cpu->period_ns)
		return;
	cpu->note.length_ns = length_ns;
	cpu->note.run_delay_ns = w->run_delay_ns;
	cpu->note.task_state = w->task_state;
	cpu->tid = next->pid;
}

/* The thread that a stack was to be taken of has gone by unseen. */
static __always_inline void drop_due(struct switch_cpu *cpu)
{
	if (!cpu->period_ns)
		return;
	count_more(COUNTER_WAITS_MISSED_NS, cpu->period_ns);
	cpu->period_ns = 0;
}

/* False: there has never been a process of that pid in procs. Its byte is there before its entry is. */
static __always_inline bool may_be_tracked(const struct owner_books *books,
					   const struct task_struct *task)
{
	return books->pids[pids_place(task->tgid)];
}

/*
 * Of the switches of a machine most are between others: they must cost next to nothing, so neither the time nor
 * the CPU's own is looked at before it is known that one of the two is of a tracked process.
 */
SEC("?tp_btf/sched_switch")
int switch_threads(__u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1];
	struct task_struct *next = (struct task_struct *)ctx[2];
	struct owner_books *books = owner_books();
	bool comes, leaves;
	struct switch_cpu *cpu;
	__u64 now_ns;

	if (!books)
		return 0;
	comes = may_be_tracked(books, next);
	leaves = may_be_tracked(books, prev);
	if (!comes && !leaves)
		return 0;
	cpu = switch_cpu();
	now_ns = bpf_ktime_get_ns();
	if (!cpu || now_ns > end_ns || now_ns < switch_from_ns)
		return 0;
	switch_review(&cpu->budget, now_ns);
	drop_due(cpu);
	if (comes)
		come_back(cpu, next, now_ns);
	if (leaves)
		leave(prev, ctx[0] & 1, now_ns);
	if (measure_time)
		own_end(now_ns);
	return 0;
}

static __always_inline bool is_due(const struct switch_cpu *cpu)
{
	return cpu->period_ns && cpu->tid == (__u32)bpf_get_current_pid_tgid();
}

/*
 * Not every switch is reported at sched_switch: there are threads, of the machine's own, of which nobody is told that
 * they leave (6.18 in Firecracker). Whoever comes after one is still away by its own record, and here it is.
 */
static __always_inline void come_unreported(struct switch_cpu *cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct owner_books *books = owner_books();
	struct thread_wait *w;
	__u64 now_ns;

	if (!books || !may_be_tracked(books, task))
		return;
	w = find_wait(task);
	if (!w || !w->is_off)
		return;
	now_ns = bpf_ktime_get_ns();
	if (now_ns > end_ns || now_ns < switch_from_ns)
		return;
	switch_review(&cpu->budget, now_ns);
	drop_due(cpu);
	come_back(cpu, task, now_ns);
}

/* The thread that has come is the current one. */
static __always_inline int on_arrival(void *ctx, bool has_loop)
{
	struct switch_cpu *cpu = switch_cpu();
	struct proc_info *proc;
	__u64 period_ns, now_ns;

	if (!cpu)
		return 0;
	if (!is_due(cpu))
		come_unreported(cpu);
	if (!is_due(cpu))
		return 0;
	period_ns = cpu->period_ns;
	cpu->period_ns = 0;
	proc = tracked_process();
	if (!proc) {
		count_more(COUNTER_WAITS_MISSED_NS, period_ns);
		return 0;
	}
	now_ns = bpf_ktime_get_ns();
	take_sample(&(struct trigger){ .ctx = ctx,
				       .now_ns = now_ns,
				       .period = period_ns,
				       .event = switch_event,
				       .context = CONTEXT_TRACE,
				       .in_kernel = true,
				       .wait = &cpu->note,
				       .has_loop = has_loop,
				       .has_kernel_stack = true,
				       .kernel_skip = 2 },
		    proc);
	switch_spend(&cpu->budget, bpf_ktime_get_ns() - now_ns);
	if (measure_time)
		own_end(now_ns);
	return 0;
}

SEC("?raw_tp/sched_exit_tp")
int arrival_loop(void *ctx)
{
	return on_arrival(ctx, true);
}

SEC("?fentry/__perf_event_task_sched_in")
int arrival_call_loop(void *ctx)
{
	return on_arrival(ctx, true);
}

SEC("?fentry/__perf_event_task_sched_in")
int arrival_call_bounded(void *ctx)
{
	return on_arrival(ctx, false);
}

/* ---- threads that do not come back in time -------------------------------------------------- */

/* Since when the thread has been off the CPU; 0: it is on one, or about to be. */
static __always_inline __u64 off_since(struct task_struct *task, const struct thread_wait *w,
				       const struct proc_info *proc)
{
	if (w)
		return w->is_off ? w->since_ns : 0;
	/* It has not switched since the begin. */
	return task_state_of(task) ?
		       later(later(switch_from_ns, proc->since_ns), task->start_time) :
		       0;
}

static __always_inline void look_at(struct task_struct *task, const struct proc_info *proc,
				    struct thread_look *look)
{
	struct thread_wait *w = find_wait(task);

	look->thread_start_ns = task->start_boottime;
	look->thread_ptr = task_thread_pointer(task);
	look->switches = task->nvcsw + task->nivcsw;
	if (bpf_core_field_exists(task->sched_info.pcount))
		look->runs = task->sched_info.pcount;
	if (bpf_core_field_exists(task->on_cpu))
		look->on_cpu = task->on_cpu != 0;
	look->since_ns = off_since(task, w, proc);
	look->pid = task->tgid;
	look->tid = task->pid;
	look->left = w ? w->left : 0;
	look->owner = proc->owner;
	look->facts.syscall = -1;
	look->facts.task_state = w ? w->task_state : task_state_of(task);
	BPF_CORE_READ_STR_INTO(&look->comm, task, comm);
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

	if (!task || !task->mm || task->flags & PF_EXITING)
		return 0;
	pid = task->tgid;
	proc = bpf_map_lookup_elem(&procs, &pid);
	if (!proc || !(proc->flags & PROC_PYTHON) ||
	    !same_start(task->group_leader->start_boottime, proc->start_ns))
		return 0;
	look_at(task, proc, &look);
	bpf_seq_write(ctx->meta->seq, &look, sizeof(look));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
