/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * looks.c - samples of waiting threads, taken on request, and at the end of a recording.
 */
#include "record/run/session.h"

#include "bpf/wait/switch.h"
#include "kernel/sampler/sampler.h"
#include "record/run/parts.h"
#include "record/samples/resting.h"
#include "record/unwinding/unwinding.h"
#include "base/data/hash.h"
#include "base/system/clock.h"

static __u64 any_wait(void *ctx, const struct thread_look *look)
{
	(void)ctx;
	return look->since_ns || look->facts.task_state;
}

long session__look(struct session *s)
{
	const struct resting_ask ask = {
		.collector = s->collector,
		.processes = s->processes,
		.sampler = s->sampler,
		.unwinding = s->unwinding,
		.only_true = true,
		.now_ns = clock_monotonic_ns(),
		.period = any_wait,
	};

	return resting_collect(&ask);
}

struct lasting {
	__u64 now_ns, shortest_ns;
};

static __u64 lasting_wait(void *ctx, const struct thread_look *look)
{
	const struct lasting *l = ctx;

	return look->since_ns && look->since_ns + l->shortest_ns <= l->now_ns ?
		       l->now_ns - look->since_ns :
		       0;
}

long session__look_at_waits(struct session *s, __u64 shortest_ns)
{
	const struct sampler_config *config = &s->config->sampler;
	struct lasting l = { clock_monotonic_ns(), shortest_ns };
	struct resting_ask ask = {
		.collector = s->collector,
		.processes = s->processes,
		.sampler = s->sampler,
		.unwinding = s->unwinding,
		.states = true,
		.only_true = true,
		.now_ns = l.now_ns,
		.period = lasting_wait,
		.ctx = &l,
	};

	while (ask.event < config->event_cnt && !event_is_off_cpu(&config->events[ask.event]))
		ask.event++;
	if (ask.event == config->event_cnt)
		return 0;
	if (!s->waits)
		s->waits = resting_memory__new();
	ask.memory = s->waits;
	return resting_collect(&ask);
}

/* ---- the end ---------------------------------------------------------------------------------- */

struct open_waits {
	struct sampler *sampler;
	__u64 threshold_ns, end_ns;
};

static void stop(void *ctx)
{
	const struct open_waits *w = ctx;

	sampler__stop(w->sampler);
}

static __u64 open_wait(void *ctx, const struct thread_look *look)
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

/*
 * Stacks are read from outside while the kernel side still takes those of threads that come back
 * (SWITCH_GRACE_NS); a wait whose stack cannot be trusted is counted as lost.
 */
__u64 session_take_open_waits(struct session *s, unsigned event, __u64 threshold_ns, __u64 end_ns)
{
	struct open_waits w = { s->sampler, threshold_ns, end_ns };
	const struct resting_ask ask = {
		.collector = s->collector,
		.processes = s->processes,
		.sampler = s->sampler,
		.unwinding = s->unwinding,
		.event = event,
		.states = true,
		.stop = stop,
		.taken_until_ns = end_ns + SWITCH_GRACE_NS,
		.now_ns = end_ns,
		.period = open_wait,
		.ctx = &w,
	};
	long cnt = resting_collect(&ask);

	return cnt > 0 ? (__u64)cnt : 0;
}

/* ---- rows ------------------------------------------------------------------------------------- */

bool session__lacks_rows(const struct session *s)
{
	return s->unwinding && unwinding__waits(s->unwinding);
}

__u64 session__rows_read(struct session *s)
{
	return s->unwinding ? unwinding__read_cnt(s->unwinding) : 0;
}
