/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * switch.bpf.c - time off the CPU: when a thread comes back, takes its stack and how long it was
 * away.
 *
 * There are two programs. At sched_switch both threads are known, but only the leaving one can be
 * examined. The program notes when that one left. For the thread that comes it notes how long it
 * was away, and whether this wait gets a stack (switch.h). The second program runs at the end of
 * the switch, in the thread that has come: none of its code has run yet, so its stack is that of
 * the wait. Taking the stack then, and not when the thread leaves, means that it is taken only if
 * wanted, with the length known, and makes no wait longer than it is: with the walk inside, waits
 * of 10 us that were sampled were twice as long as others.
 *
 * The kernel offers three places for the second program: the tracepoint sched_exit_tp (6.14+),
 * before that the function __perf_event_task_sched_in(), which finish_task_switch() calls while
 * some perf event is bound to a thread (user space opens one that counts nothing), or
 * finish_task_switch() itself, where the kernel's profiler cannot be traced (5.10). A thread that
 * runs for the first time does not pass the tracepoint: its wait for a CPU is counted as missed.
 *
 * Loaded only if time off the CPU is wanted.
 */
#include "bpf/sample.h"
#include "bpf/wait/switch_cpu.h"
#include "bpf/wait/thread_wait.h"

/* Index of the event that the stacks belong to. */
const volatile __u32 switch_event = 0;
/* kernel frames that belong to the program that runs as a thread comes */
const volatile __u32 arrival_skip = 2;
/* log2 of its shortest period in ns; user space may change it at any time. */
volatile __u32 switch_shortest = SWITCH_PERIOD_SHIFT;

/* The clock of the run queue of a thread that is on this CPU, or comes to it. */
static __always_inline __u64 scheduler_clock(const struct task_struct *task)
{
	if (bpf_core_field_exists(task->se.cfs_rq))
		return task->se.cfs_rq->rq->clock;
	return bpf_ktime_get_ns();
}

/*
 * What is due from time to time: compares the clocks and reviews the budget. *now_ns: by the old
 * comparison on entry, by the new one on return. False: the recording has not begun. Not inlined:
 * few switches need it.
 */
static __noinline bool look_around(struct switch_cpu *cpu, __u64 scheduler_ns, __u64 *now_ns)
{
	__u64 monotonic_ns;

	if (switch_clock_is_due(&cpu->clock, *now_ns)) {
		monotonic_ns = bpf_ktime_get_ns();
		switch_clock_compare(&cpu->clock, scheduler_ns, monotonic_ns);
		*now_ns = scheduler_ns + cpu->clock.ahead_ns;
		switch_learn(&cpu->budget.reading, bpf_ktime_get_ns() - monotonic_ns);
	}
	if (*now_ns < switch_from_ns)
		return false;
	if (switch_review_is_due(&cpu->budget, *now_ns))
		switch_review(&cpu->budget, *now_ns);
	cpu->due_ns = switch_next_due(cpu);
	return true;
}

/*
 * *now_ns: CLOCK_MONOTONIC, when the scheduler decided on this switch, or the recording's end if
 * that was earlier: whoever comes now has been away until the end. False: the switch is in no
 * recording.
 */
static __always_inline bool begin_switch(struct switch_cpu *cpu, const struct task_struct *task,
					 __u64 *now_ns)
{
	__u64 scheduler_ns = scheduler_clock(task);

	cpu->budget.switches++;
	*now_ns = scheduler_ns + cpu->clock.ahead_ns;
	if (!switch_is_plain(cpu, *now_ns) && !look_around(cpu, scheduler_ns, now_ns))
		return false;
	if (*now_ns <= end_ns)
		return true;
	if (*now_ns - end_ns > SWITCH_GRACE_NS)
		return false;
	*now_ns = end_ns;
	return true;
}

/*
 * Starts tracking a thread: assumes that it has been doing what it does now ever since it, the
 * recording or its process's entry began. NULL: it is no thread of a tracked process, it is ending,
 * or there is no room.
 */
static __always_inline struct thread_wait *begin_wait(const struct switch_cpu *cpu,
						      struct task_struct *task, bool is_off)
{
	__u32 pid = task->tgid;
	struct switch_point point = {};
	struct proc_info *proc;
	struct thread_wait *w;

	/*
	 * Pointers are read by helpers here, where few switches come: for each direct load of one the
	 * verifier searches all names of the kernel's types.
	 */
	if (!BPF_CORE_READ(task, mm) || task->flags & PF_EXITING)
		return NULL;
	proc = bpf_map_lookup_elem(&procs, &pid);
	if (!proc || !(proc->flags & PROC_PYTHON) ||
	    !same_start(process_start_ns(task), proc->start_ns))
		return NULL;
	w = wait_at(task, 0);
	if (w && w->thread_start_ns)
		w = wait_at(task, 1);
	if (!w || w->thread_start_ns) {
		count(COUNTER_WAITS_REFUSED);
		return NULL;
	}
	w->since_ns = wait_first_since(task, proc);
	w->on_ns = w->off_ns = w->sampled_ns = 0;
	w->run_delay_ns = task->sched_info.run_delay;
	w->tid = task->pid;
	switch_next_point(&point, switch_shift(&cpu->budget, switch_shortest),
			  bpf_get_prandom_u32());
	w->left = point.left;
	w->rest = point.rest;
	w->shift = point.shift;
	w->task_state = is_off ? TASK_STATE_UNKNOWN : TASK_STATE_ON_CPU;
	w->ticks = 0;
	barrier();
	w->thread_start_ns = task->start_boottime;
	return w;
}

/* Notes ticks of a thread that no sample has been made of yet. */
static __always_inline void owe_ticks(struct switch_cpu *cpu, struct thread_wait *w, __u32 cnt)
{
	__u32 room = TICKS_OWED_MAX - w->ticks;

	w->ticks += cnt < room ? cnt : room;
	if (cnt > room)
		miss_ticks(cpu->noted.event, cnt - room);
}

/* prev, still the current thread, leaves the CPU. A thread that ends has no stack any more. */
static __always_inline void leave(struct switch_cpu *cpu, struct task_struct *prev, bool preempted,
				  __u64 now_ns, __u32 ticks)
{
	struct thread_wait *w = find_wait(prev);
	bool is_new = !w;
	__u64 passed_ns;

	if (prev->flags & PF_EXITING) {
		if (!w)
			return;
		miss_ticks(cpu->noted.event, ticks + w->ticks);
		w->thread_start_ns = 0;
		return;
	}
	if (is_new)
		w = begin_wait(cpu, prev, false);
	if (!w)
		return;
	if (ticks)
		owe_ticks(cpu, w, ticks);
	passed_ns = switch_passed(&w->since_ns, now_ns);
	/* If nobody saw the thread come, nobody knows for how much of the time it ran. */
	if (w->task_state == TASK_STATE_ON_CPU)
		w->on_ns += passed_ns;
	/* Ticks before the thread's first switch went uncounted. */
	if (is_new)
		w->sampled_ns = w->on_ns;
	w->run_delay_ns = prev->sched_info.run_delay;
	w->task_state = preempted ? 0 : task_state_of(prev);
}

/* The CPU time that the due ticks stand for. */
static __always_inline __u32 due_ticks_ns(struct switch_cpu *cpu, struct thread_wait *w)
{
	__u64 ns = cpu->ticks * cpu->noted.period_ns;

	if (make_up_ticks && ns) {
		ns = tick_eased(w->on_ns, w->sampled_ns, ns, whole_period_ns);
		w->sampled_ns += ns;
	}
	return ns < ~0U ? (__u32)ns : ~0U;
}

/* Goes with the next wait that gets a stack. (A thread that never waits is on a CPU at every tick.) */
static __always_inline __u16 take_unsampled(struct thread_wait *w)
{
	__u16 units = make_up_ticks ? tick_unsampled(w->on_ns, w->sampled_ns, whole_period_ns) : 0;

	w->sampled_ns += (__u64)units << UNSAMPLED_SHIFT;
	return units;
}

/* How much time the stack of the finished wait stands for; 0: the wait gets none. */
static __always_inline __u64 wait_period(struct switch_cpu *cpu, struct thread_wait *w,
					 __u64 length_ns, __u32 shift)
{
	struct switch_point point = { w->left, w->rest, w->shift };
	__u64 period_ns;

	if (!cpu->chance)
		cpu->chance = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	period_ns = switch_period(&point, length_ns, shift, switch_chance(&cpu->chance));
	w->left = point.left;
	w->rest = point.rest;
	w->shift = point.shift;
	return period_ns;
}

/* Decides whether to take a stack: for the finished wait, or for ticks that the thread has had. */
static __noinline int make_due(struct switch_cpu *cpu, struct thread_wait *w, __u32 tid,
			       __u64 length_ns, __u32 task_state)
{
	__u32 shift = switch_shift(&cpu->budget, switch_shortest);

	/* No stack can be taken at a thread's very first instruction. */
	cpu->ticks = task_state == TASK_STATE_UNKNOWN ? 0 : w->ticks;
	cpu->period_ns = wait_period(cpu, w, length_ns, shift);
	cpu->is_due = cpu->period_ns || cpu->ticks;
	if (!cpu->is_due)
		return 0;
	w->ticks -= cpu->ticks;
	cpu->ticks_ns = due_ticks_ns(cpu, w);
	cpu->note.length_ns = length_ns;
	cpu->note.run_delay_ns = w->run_delay_ns;
	cpu->note.task_state = task_state;
	cpu->note.ticks_ns = cpu->ticks_ns;
	cpu->note.unsampled = cpu->period_ns ? take_unsampled(w) : 0;
	cpu->came_ns = w->since_ns;
	cpu->tid = tid;
	return 0;
}

static __always_inline void come_back(struct switch_cpu *cpu, struct task_struct *next,
				      __u64 now_ns, __u32 ticks)
{
	struct thread_wait *w = find_wait(next);
	__u16 task_state;
	__u64 length_ns;

	if (!w)
		w = begin_wait(cpu, next, true);
	if (!w)
		return;
	task_state = w->task_state;
	if (task_state == TASK_STATE_ON_CPU)
		return;
	length_ns = switch_passed(&w->since_ns, now_ns);
	w->off_ns += length_ns;
	w->task_state = TASK_STATE_ON_CPU;
	if (ticks)
		owe_ticks(cpu, w, ticks);
	if (!w->ticks &&
	    switch_falls_between(w->left, length_ns, switch_shift(&cpu->budget, switch_shortest)))
		w->left -= length_ns;
	else
		make_due(cpu, w, next->pid, length_ns, task_state);
}

/* What is lost if the wait's stack cannot be taken: its time, and the CPU time that goes with it. */
static __always_inline __u64 due_wait_ns(const struct switch_cpu *cpu)
{
	return cpu->period_ns + ((__u64)cpu->note.unsampled << UNSAMPLED_SHIFT);
}

/* The thread whose stack was due came back without being seen. */
static __always_inline void drop_due(struct switch_cpu *cpu)
{
	if (!cpu->is_due)
		return;
	count_more(COUNTER_WAITS_MISSED_NS, due_wait_ns(cpu));
	miss_ticks(cpu->noted.event, cpu->ticks);
	cpu->is_due = 0;
}

/* Ends a switch that was measured. */
static __noinline int end_switch(struct switch_cpu *cpu, __u64 began_ns)
{
	__u64 took_ns = bpf_ktime_get_ns() - began_ns;

	switch_learn(&cpu->budget.fixed, took_ns);
	if (measure_time)
		count_more(COUNTER_OWN_NS, took_ns);
	return 0;
}

/* False: no process with that pid has ever been in procs. The byte is set before the entry is. */
static __always_inline bool may_be_tracked(const struct owner_books *books,
					   const struct task_struct *task)
{
	return books->pids[pids_place(task->tgid)];
}

/*
 * Most switches of a machine are between threads that nobody tracks, and must cost next to nothing.
 * So nothing looks at the time or at the CPU's state before it is known that one of the two threads
 * belongs to a tracked process.
 */
SEC("?tp_btf/sched_switch")
int switch_threads(__u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1];
	struct task_struct *next = (struct task_struct *)ctx[2];
	struct owner_books *books = owner_books();
	__u32 ticks_leave = 0, ticks_come = 0;
	__u64 began_ns = 0, now_ns;
	struct switch_cpu *cpu;
	bool comes, leaves;

	if (!books)
		return 0;
	comes = may_be_tracked(books, next);
	leaves = may_be_tracked(books, prev);
	if (!comes && !leaves)
		return 0;
	cpu = switch_cpu();
	if (!cpu)
		return 0;
	if (measure_time || switch_is_measured(&cpu->budget))
		began_ns = bpf_ktime_get_ns();
	if (!begin_switch(cpu, next, &now_ns))
		return 0;
	drop_due(cpu);
	/* A thread that leaves at the end or later does not wait within the recording. */
	if (now_ns == end_ns)
		leaves = false;
	else if (tick_is_noted(&cpu->noted))
		tick_settle(&cpu->noted, scheduler_clock(next), prev->pid, &ticks_leave,
			    &ticks_come);
	cpu->has_come = comes;
	if (comes)
		come_back(cpu, next, now_ns, ticks_come);
	if (leaves)
		leave(cpu, prev, ctx[0] & 1, now_ns, ticks_leave);
	if (began_ns)
		end_switch(cpu, began_ns);
	return 0;
}

/*
 * Some switches are not reported at sched_switch: there are threads of the machine itself whose
 * leaving nobody sees (6.18 in Firecracker). The next thread is still away by its own record, so it
 * is handled here. The scheduler's clock is valid for this switch, too. (5.10 reports all switches,
 * and does not pass a program its thread in this way.) A thread seen for the first time has been
 * away since the begin, if this is a switch at all: has_switched.
 */
static __noinline int come_unreported(struct switch_cpu *cpu, bool has_switched)
{
	struct owner_books *books = owner_books();
	struct task_struct *task;
	struct thread_wait *w;
	__u64 now_ns;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return 0;
	task = bpf_get_current_task_btf();
	if (!books || !may_be_tracked(books, task))
		return 0;
	w = find_wait(task);
	if (w ? w->task_state == TASK_STATE_ON_CPU : !has_switched)
		return 0;
	if (!begin_switch(cpu, task, &now_ns))
		return 0;
	drop_due(cpu);
	come_back(cpu, task, now_ns, 0);
	return 0;
}

/* Takes the stack of the finished wait; if it gets none, that of the ticks. */
static __always_inline void take_due(void *ctx, struct switch_cpu *cpu, struct proc_info *proc,
				     __u64 now_ns, void *chains, bool has_loop)
{
	bool has_wait = cpu->period_ns != 0;

	take_sample(&(struct trigger){ .ctx = ctx,
				       .now_ns = now_ns,
				       .time_ns = cpu->came_ns,
				       .period = has_wait ? cpu->period_ns : cpu->ticks_ns,
				       .event = has_wait ? switch_event : cpu->noted.event,
				       .context = CONTEXT_TRACE,
				       .in_kernel = true,
				       .wait = &cpu->note,
				       .has_wait = has_wait,
				       .wait_ns = due_wait_ns(cpu),
				       .has_loop = has_loop,
				       .has_kernel_stack = true,
				       .kernel_skip = arrival_skip,
				       .began_ns = now_ns,
				       .chains = chains },
		    proc);
}

static __always_inline void end_arrival(struct switch_cpu *cpu, __u64 began_ns)
{
	switch_spend(&cpu->budget, cpu->came_ns, bpf_ktime_get_ns() - began_ns);
	if (measure_time)
		own_end(began_ns);
}

/* The thread that has come is the current one. */
static __always_inline int on_arrival(void *ctx, bool has_switched, void *chains, bool has_loop)
{
	struct switch_cpu *cpu = switch_cpu();
	struct proc_info *proc;
	__u64 now_ns;

	if (!cpu)
		return 0;
	if (!cpu->has_come)
		come_unreported(cpu, has_switched);
	cpu->has_come = 0;
	if (!cpu->is_due || cpu->tid != (__u32)bpf_get_current_pid_tgid())
		return 0;
	cpu->is_due = 0;
	proc = tracked_process();
	/* It has executed something else meanwhile, which nobody tracks. */
	if (!proc)
		return 0;
	now_ns = bpf_ktime_get_ns();
	take_due(ctx, cpu, proc, now_ns, chains, has_loop);
	end_arrival(cpu, now_ns);
	return 0;
}

/* See wants_chains(). */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} arrival_chains SEC(".maps");

SEC("?raw_tp/sched_exit_tp")
int arrival_loop(struct bpf_raw_tracepoint_args *ctx)
{
	/* The scheduler may have chosen the same thread again. */
	return on_arrival(ctx, ctx->args[0], &arrival_chains, true);
}

SEC("?raw_tp/sched_exit_tp")
int arrival_chained(struct bpf_raw_tracepoint_args *ctx)
{
	struct switch_cpu *cpu = switch_cpu();
	__u64 began_ns = 0;
	__u32 event = 0;

	if (continue_sample(CONTEXT_TRACE, &event, &began_ns) && cpu)
		end_arrival(cpu, began_ns);
	return 0;
}

/*
 * Where that tracepoint is missing, at the begin of a kernel's function: called by it (fentry) or at a breakpoint
 * (kprobe), as user space says. libbpf 1.1 can make fentry of kprobe only, not the other way round.
 */
SEC("?kprobe/__perf_event_task_sched_in")
int arrival_call_loop(void *ctx)
{
	return on_arrival(ctx, true, NULL, true);
}

SEC("?kprobe/__perf_event_task_sched_in")
int arrival_call_bounded(void *ctx)
{
	return on_arrival(ctx, true, NULL, false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
