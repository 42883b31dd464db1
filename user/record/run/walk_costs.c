/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/walk_costs.h"

#include <stdio.h>

#include "base/system/clock.h"
#include "base/system/event.h"
#include "base/text/log.h"
#include "base/text/printable.h"
#include "kernel/sampler/sampler.h"
#include "record/follow/processes.h"
#include "record/samples/own.h"

/* Said of a process whose samples take more of its time than that, in thousandths. */
#define COSTLY_PERMILLE 50
/* Fewer measured samples are no mean. */
#define MEASURED_MIN 8
/* New samples, of which some have been measured, that make a process worth asking for. */
#define SAMPLES_WORTH 64
/* Processes that are named while the recording runs. */
#define NAMED_MAX 3

/* The clock's ticks a second; 0: there is no clock. */
static double rate(const struct sampler_config *config)
{
	const struct event_spec *e = &config->events[0];

	if (!event_is_clock(e))
		return 0;
	return e->frequency ? (double)e->frequency :
	       e->period    ? (double)NS_PER_SEC / (double)e->period :
			      0;
}

static __u64 samples_of(const struct process *p)
{
	__u64 sum = 0;

	for (unsigned i = 0; i < REASON_CNT; i++)
		sum += p->own->reasons[i];
	return sum;
}

struct look {
	struct walk_costs *costs;
	const struct sampler *sampler;
	const struct sampler_config *config;
	double rate;
};

/* The highest rate that takes no more than that. */
static unsigned long long bearable(const struct walk_cost *cost, double now)
{
	const double hz = now * COSTLY_PERMILLE / 1000 / cost->share;

	return hz < 1 ? 1 : (unsigned long long)hz;
}

static void say(const struct walk_cost *cost, const struct look *l)
{
	log_warn(
		NULL,
		"samples take %.0f%% of the time of process %d (%s), whose stacks are deep: -F %llu would take "
		"%d%%; --budget %d%% takes fewer samples of such processes only",
		100 * cost->share, cost->pid, cost->comm, bearable(cost, l->rate),
		COSTLY_PERMILLE / 10, COSTLY_PERMILLE / 10);
}

static void look_at(void *ctx, const struct process *p)
{
	struct look *l = ctx;
	/* One that is not tracked (yet) has nothing of the session's. */
	const __u64 samples = p->own ? samples_of(p) : 0;
	struct walk_cost cost = { .pid = p->pid };
	__u64 ns, cnt;

	if (!samples || samples < p->own->asked + SAMPLES_WORTH ||
	    sampler__walk_ns(l->sampler, p->pid, p->start_ns, &ns, &cnt) || cnt < MEASURED_MIN)
		return;
	p->own->asked = samples;
	cost.share = (double)ns * l->rate / (double)NS_PER_SEC;
	if (cost.share * 1000 <=
	    (l->config->budget_permille ? l->config->budget_permille : COSTLY_PERMILLE))
		return;
	printable_into(cost.comm, sizeof(cost.comm), p->info.comm);
	if (!p->own->costly) {
		p->own->costly = true;
		l->costs->cnt++;
		if (!l->config->budget_permille && l->costs->named++ < NAMED_MAX)
			say(&cost, l);
	}
	if (cost.share > l->costs->worst.share || cost.pid == l->costs->worst.pid)
		l->costs->worst = cost;
}

void walk_costs_look(struct walk_costs *w, struct processes *processes,
		     const struct sampler *sampler, const struct sampler_config *config)
{
	struct look look = { w, sampler, config, rate(config) };

	if (look.rate > 0)
		processes__each(processes, look_at, &look);
}

void walk_costs_warn(const struct walk_costs *w, const struct sampler_config *config)
{
	char others[64] = "";

	if (!w->cnt)
		return;
	if (w->cnt > 1)
		snprintf(others, sizeof(others), ", and more than is allowed of %u others'",
			 w->cnt - 1);
	if (config->budget_permille)
		log_warn(
			NULL,
			"--budget: every sample would have taken %.0f%% of the time of process %d (%s)%s: krait "
			"took fewer, each of which stands for more",
			100 * w->worst.share, w->worst.pid, w->worst.comm, others);
	else
		log_warn(
			NULL,
			"samples took %.0f%% of the time of process %d (%s)%s: -F %llu would have taken %d%%, or "
			"use --budget %d%%",
			100 * w->worst.share, w->worst.pid, w->worst.comm, others,
			bearable(&w->worst, rate(config)), COSTLY_PERMILLE / 10,
			COSTLY_PERMILLE / 10);
}
