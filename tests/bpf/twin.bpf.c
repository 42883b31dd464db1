/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * twin.bpf.c - sampling programs that a test can run at will, on its own thread.
 *
 * The kernel has no test run for perf event programs. These are additional entry points of sample.h
 * as syscall programs, so everything behind them is the same.
 */
#include "bpf/sample.h"
#include "twin.h"

static __always_inline int on_twin(struct twin_args *args, bool has_loop)
{
	struct proc_info *proc = tracked_process();
	struct trigger t = {
		.ctx = args,
		.now_ns = bpf_ktime_get_ns(),
		.time_ns = bpf_ktime_get_ns(),
		.period = args->period,
		.context = CONTEXT_EVENT,
		.regs = { args->ip, args->sp, args->fp },
		.has_loop = has_loop,
	};

	if (proc)
		take_sample(&t, proc);
	return 0;
}

SEC("syscall")
int twin_loop(struct twin_args *args)
{
	return on_twin(args, true);
}

SEC("syscall")
int twin_bounded(struct twin_args *args)
{
	return on_twin(args, false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
