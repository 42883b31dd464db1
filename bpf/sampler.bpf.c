/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sampler.bpf.c - the entry points of perf events: one interrupt becomes one record (sample.h).
 *
 * Two programs of the same content: bpf_loop() (5.17+) verifies in a few hundred instructions, the
 * bounded for loop runs on older kernels. User space loads the one that this kernel takes.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "sample.h"
#include "tick.h"

/* What the timers of this CPU have done, by perf event: tick.h. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KRAIT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, struct tick);
} ticks SEC(".maps") __weak;

/* There is more than one perf event, and each carries its index (task.h). */
const volatile bool several_events = false;

/* A bit for each perf event that is a clock whose every tick comes here. */
const volatile __u32 clock_events = 0;

/* A tick that comes stands for those before it, too, that never did: where time on a CPU is to be whole. */
const volatile bool make_up_ticks = false;

/* Notes the tick; NULL where the event is none that ticks, or not every tick comes here. */
static __always_inline struct tick *take_tick(__u32 index, __u64 now_ns, __u64 period_ns,
					      __u64 *ret_missed)
{
	struct tick *tick;

	*ret_missed = 0;
	if (!(clock_events >> masked(index, KRAIT_MAX_EVENTS - 1) & 1))
		return NULL;
	tick = bpf_map_lookup_elem(&ticks, &index);
	if (tick)
		*ret_missed = tick_missed(tick, now_ns, period_ns);
	return tick;
}

/* Clocks whose rate user space changes all the time: what a sample stands for, on average; 0: there are none. */
const volatile __u64 jitter_period_ns = 0;

/*
 * What a tick of a clock stands for since user space has changed the rate; AS_BEGUN before that. The kernel's own
 * sample_period stays what it was at first (perf_swevent_hrtimer() gives last_period).
 */
#define AS_BEGUN (~0ULL)
volatile __u64 clock_period_ns = AS_BEGUN;

static __always_inline __u64 period_of(const struct bpf_perf_event_data *ctx, __u32 index)
{
	__u64 changed = clock_period_ns;

	if (changed != AS_BEGUN && clock_events >> masked(index, KRAIT_MAX_EVENTS - 1) & 1)
		return changed;
	return ctx->sample_period;
}

static __always_inline void on_event(struct bpf_perf_event_data *ctx, bool has_loop)
{
	__u64 now_ns = bpf_ktime_get_ns(), period, missed;
	struct proc_info *proc;
	struct tick *tick;
	__u32 index;

	if (now_ns > end_ns)
		return;
	index = several_events ? event_index(ctx) : 0;
	period = period_of(ctx, index);
	tick = take_tick(index, now_ns, period, &missed);
	if (jitter_period_ns)
		period = jitter_period_ns;
	proc = tracked_process();
	if (!proc)
		return;
	if (tick)
		tick->missed_here += missed;
	take_sample(
		&(struct trigger){
			.ctx = ctx,
			.now_ns = now_ns,
			.period = make_up_ticks ? period * (missed + 1) : period,
			.event = index,
			.context = CONTEXT_EVENT,
			.in_kernel = !MODE_IS_USER(context_reg(ctx, REG_MODE)),
			.regs = { context_reg(ctx, REG_IP), context_reg(ctx, REG_SP),
				  context_reg(ctx, REG_FP) },
			.pt_regs = context_regs(ctx),
			.has_loop = has_loop,
			.has_kernel_stack = true,
		},
		proc);
}

SEC("perf_event")
int sample_loop(struct bpf_perf_event_data *ctx)
{
	__u64 began_ns = own_begin();

	on_event(ctx, true);
	own_end(began_ns);
	return 0;
}

SEC("perf_event")
int sample_bounded(struct bpf_perf_event_data *ctx)
{
	__u64 began_ns = own_begin();

	on_event(ctx, false);
	own_end(began_ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
