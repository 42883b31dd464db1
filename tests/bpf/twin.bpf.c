/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * twin.bpf.c - the sampling programs as syscall programs, which a test can run when it likes.
 *
 * The kernel has no test run for perf event programs. This is the very same source, entered where
 * sample_loop() and sample_bounded() enter it; the interrupted thread is the test's own.
 */
#define KRAIT_NO_KERNEL_STACK
#include "sampler.bpf.c"

SEC("syscall")
int twin_loop(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, true);
}

SEC("syscall")
int twin_bounded(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, false);
}
