/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * looks.c - samples of waiting threads, taken on request.
 */
#include "record/run/session.h"

#include "kernel/sampler/sampler.h"
#include "record/run/parts.h"
#include "record/samples/resting.h"
#include "record/unwinding/unwinding.h"
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

bool session__lacks_rows(const struct session *s)
{
	return s->unwinding && unwinding__waits(s->unwinding);
}

__u64 session__rows_read(struct session *s)
{
	return s->unwinding ? unwinding__read_cnt(s->unwinding) : 0;
}
