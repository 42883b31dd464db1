/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe.bpf.c - events that are tracepoints: the thread that comes by gets a sample. The kernel runs this program for every
 * thread of the machine, on whatever CPU, so there is one link for each tracepoint, whose cookie is the event's index.
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

SEC("?tp")
int probe_tracepoint(void *ctx)
{
	const __u32 event = masked(bpf_get_attach_cookie(ctx), KRAIT_MAX_EVENTS - 1);
	const __u64 began_ns = own_begin(), now_ns = bpf_ktime_get_ns();
	struct proc_info *proc;
	__u64 period;

	proc = probed_process(event, now_ns, &period);
	if (proc)
		take_sample(&(struct trigger){ .ctx = ctx,
					       .now_ns = now_ns,
					       .time_ns = now_ns,
					       .period = period,
					       .event = event,
					       .context = CONTEXT_PROBE,
					       .in_kernel = true,
					       .has_loop = true,
					       .has_kernel_stack = true },
			    proc);
	own_end(began_ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
