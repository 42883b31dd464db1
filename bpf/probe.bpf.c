/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe.bpf.c - events that are places in code, the kernel's tracepoints and probes in programs: the thread that comes by
 * gets a sample. The kernel runs this program for every thread of the machine, on whatever CPU, so there is one link for
 * each place, whose cookie is the event's index.
 *
 * Needs bpf_loop() (5.17); loaded only if such an event is wanted.
 */
#include "bpf/sample.h"

/* How many times a thread of a tracked process comes by for one sample, by event. */
const volatile __u64 probe_periods[KRAIT_MAX_EVENTS] = {};

/* Times since the last sample, by event. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KRAIT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, __u64);
} probe_times SEC(".maps");

static __always_inline bool is_due(__u32 event, __u64 period)
{
	__u64 *times;

	if (period <= 1)
		return true;
	times = bpf_map_lookup_elem(&probe_times, &event);
	if (!times || ++*times < period)
		return false;
	*times = 0;
	return true;
}

/* NULL: no sample. */
static __always_inline struct proc_info *probed_process(__u32 event, __u64 now_ns, __u64 *period)
{
	struct proc_info *proc = tracked_process();

	*period = probe_periods[event];
	return proc && now_ns <= end_ns && is_due(event, *period) ? proc : NULL;
}

static __always_inline int on_probe(struct trigger *t, __u32 cookie)
{
	const __u32 event = masked(cookie, KRAIT_MAX_EVENTS - 1);
	const __u64 began_ns = own_begin(), now_ns = bpf_ktime_get_ns();
	struct proc_info *proc;

	proc = probed_process(event, now_ns, &t->period);
	if (proc) {
		t->event = event;
		t->now_ns = t->time_ns = now_ns;
		t->has_loop = t->has_kernel_stack = true;
		take_sample(t, proc);
	}
	own_end(began_ns);
	return 0;
}

SEC("?tp")
int probe_tracepoint(void *ctx)
{
	return on_probe(
		&(struct trigger){ .ctx = ctx, .context = CONTEXT_EVENT, .in_kernel = true },
		bpf_get_attach_cookie(ctx));
}

/* Uprobes, and kprobes that somebody has made. */
SEC("?uprobe")
int probe_code(struct pt_regs *ctx)
{
	return on_probe(
		&(struct trigger){
			.ctx = ctx,
			.context = CONTEXT_PROBE,
			.in_kernel = !MODE_IS_USER(context_reg(ctx, UNWIND_WORD_MODE)),
			.regs = { context_reg(ctx, UNWIND_WORD_IP),
				  context_reg(ctx, UNWIND_WORD_SP),
				  context_reg(ctx, UNWIND_WORD_FP) },
			.pt_regs = ctx,
		},
		bpf_get_attach_cookie(ctx));
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
