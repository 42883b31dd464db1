/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/open_waits.h"

#include <stdbool.h>

#include "bpf/abi.h"
#include "kernel/sampler/sampler.h"
#include "record/samples/resting.h"
#include "bpf/wait/switch.h"
#include "base/data/hash.h"

struct open_waits {
	struct sampler *sampler;
	__u64 threshold_ns, end_ns;
};

static void stop(void *ctx)
{
	const struct open_waits *w = ctx;

	sampler__stop(w->sampler);
}

static __u64 period_of(void *ctx, const struct thread_look *look)
{
	const struct open_waits *w = ctx;
	__u64 random = (__u64)hash_word(look->thread_start_ns ^ look->tid) << 32 |
		       (__u32)hash_word(look->thread_start_ns + look->tid);
	__u32 shift = switch_threshold_shift(w->threshold_ns);

	if (!look->since_ns || look->since_ns >= w->end_ns)
		return 0;
	return switch_period_so_far((struct switch_point){ look->left, look->rest, look->shift },
				    w->end_ns - look->since_ns, shift, random);
}

__u64 open_waits_collect(struct collector *c, struct processes *ps, struct sampler *sampler,
			 const struct unwinding *unwinding, unsigned event, __u64 threshold_ns,
			 __u64 end_ns)
{
	struct open_waits w = { .sampler = sampler,
				.threshold_ns = threshold_ns,
				.end_ns = end_ns };
	const struct resting_ask ask = {
		.collector = c,
		.processes = ps,
		.sampler = sampler,
		.unwinding = unwinding,
		.event = event,
		.states = true,
		.stop = stop,
		.taken_until_ns = end_ns + SWITCH_GRACE_NS,
		.now_ns = end_ns,
		.period = period_of,
		.ctx = &w,
	};
	long cnt = resting_collect(&ask);

	return cnt > 0 ? (__u64)cnt : 0;
}
