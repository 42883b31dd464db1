/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nested.bpf.c - two sampling programs of which one interrupts the other: a raw tracepoint's, which
 * runs with interrupts enabled, and a clock's. A PMU's NMI interrupts a program with interrupts
 * disabled in the same way.
 */
#include "bpf/sample.h"
#include "nested.h"

volatile __u32 traced_pid = 0, traced_syscall = 0, trace_context = 0, lock = 0;
/* By CPU: the outer program is running. */
volatile __u32 at_work[NESTED_MAX_CPUS] = {};
/* How often the inner one interrupted it. */
volatile __u64 met = 0;

static __always_inline int on_trace(struct bpf_raw_tracepoint_args *ctx, bool has_loop)
{
	__u32 cpu = bpf_get_smp_processor_id() & (NESTED_MAX_CPUS - 1);
	struct proc_info *proc;

	if (ctx->args[1] != traced_syscall || bpf_get_current_pid_tgid() >> 32 != traced_pid)
		return 0;
	proc = tracked_process();
	if (!proc)
		return 0;
	at_work[cpu] = 1;
	take_sample(
		&(struct trigger){
			.ctx = ctx,
			.now_ns = bpf_ktime_get_ns(),
			.time_ns = bpf_ktime_get_ns(),
			.period = NESTED_PLAIN,
			.event = NESTED_TRACE,
			.context = trace_context,
			.in_kernel = true,
			.has_loop = has_loop,
			.has_kernel_stack = true,
		},
		proc);
	at_work[cpu] = 0;
	return 0;
}

/* Makes all locks look free. */
static __always_inline void break_locks(void)
{
	__u32 index = trace_context * cpu_cnt + bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratch, &index);
	struct thread_slot *slot;

	if (!s)
		return;
	slot = slot_of(s);
	s->taken = 0;
	if (slot)
		slot->taken = 0;
}

static __always_inline int on_clock(struct bpf_perf_event_data *ctx, bool has_loop)
{
	__u32 inner = at_work[bpf_get_smp_processor_id() & (NESTED_MAX_CPUS - 1)];
	struct proc_info *proc = tracked_process();

	if (!proc)
		return 0;
	if (inner) {
		met++;
		if (lock == NESTED_UNLOCKED)
			break_locks();
	}
	take_sample(
		&(struct trigger){
			.ctx = ctx,
			.now_ns = bpf_ktime_get_ns(),
			.time_ns = bpf_ktime_get_ns(),
			.period = inner ? NESTED_INNER : NESTED_PLAIN,
			.event = NESTED_CLOCK,
			.context = CONTEXT_EVENT,
			.in_kernel = !MODE_IS_USER(context_reg(ctx, UNWIND_WORD_MODE)),
			.regs = { context_reg(ctx, UNWIND_WORD_IP),
				  context_reg(ctx, UNWIND_WORD_SP),
				  context_reg(ctx, UNWIND_WORD_FP) },
			.has_loop = has_loop,
			.has_kernel_stack = true,
		},
		proc);
	return 0;
}

SEC("raw_tp/sys_enter")
int trace_loop(struct bpf_raw_tracepoint_args *ctx)
{
	return on_trace(ctx, true);
}

SEC("raw_tp/sys_enter")
int trace_bounded(struct bpf_raw_tracepoint_args *ctx)
{
	return on_trace(ctx, false);
}

SEC("perf_event")
int clock_loop(struct bpf_perf_event_data *ctx)
{
	return on_clock(ctx, true);
}

SEC("perf_event")
int clock_bounded(struct bpf_perf_event_data *ctx)
{
	return on_clock(ctx, false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
