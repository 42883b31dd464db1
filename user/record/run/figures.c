/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * figures.c - the numbers that a session has counted so far, for display.
 */
#include "record/run/session.h"

#include <stdio.h>
#include <string.h>

#include "record/follow/processes.h"
#include "base/text/mentions.h"
#include "kernel/sampler/sampler.h"
#include "record/anchors/anchor_thread.h"
#include "record/samples/census.h"
#include "record/samples/residence.h"
#include "record/run/child.h"
#include "record/samples/collector.h"
#include "record/run/parts.h"
#include "record/run/perf_mappings.h"
#include "record/run/shortages.h"
#include "python/code/name_share.h"
#include "native/names/native_files.h"
#include "process/identify/py_process.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/share/quota.h"

void session_note_ticks(const struct session *s, unsigned event, struct accounts *a)
{
	struct sampler_ticks ticks;

	if (sampler__ticks(s->sampler, event, &ticks))
		return;
	a->ticks_asked = ticks.asked;
	a->ticks_missed = ticks.missed;
}

__u64 session__kernel_ns(const struct session *s)
{
	__u64 ns = 0;

	return sampler__counter(s->sampler, COUNTER_OWN_NS, &ns) ? 0 : ns;
}

__u64 session_length_ns(const struct session *s)
{
	const __u64 ms = NS_PER_SEC / 1000;

	return (s->stopped_ns - s->started_ns + ms / 2) / ms * ms;
}

void session__names(const struct session *s, unsigned owner, struct session_names *ret)
{
	const struct name_share *share = processes__names(s->processes, owner);

	*ret = (struct session_names){
		.ns = share->ns,
		.bytes = share->bytes,
		.left_out = share->left_out,
	};
}

void session__owner_name(const struct session *s, unsigned owner, char *buf, size_t size)
{
	owner_name(&sampler__parts(s->sampler)->books->table, owner, buf, size);
}

__u64 session__began_ns(const struct session *s)
{
	return s->started_ns;
}

void session__accounts(const struct session *s, unsigned event, struct accounts *ret)
{
	struct event_counts counts;

	*ret = profile__counts(collector__parts(s->collector)->profile, event)->accounts;
	if (s->stopped_ns || sampler__event_counts(s->sampler, event, &counts))
		return;
	ret->interrupts = counts.interrupts - ret->unwanted +
			  collector__parts(s->collector)->counting.parts[event];
	ret->reasons[REASON_RING_FULL] += counts.ring_full;
	ret->reasons[REASON_NESTED] += counts.nested;
	/* What the timers did is known once they have stopped. */
	ret->events_dropped = s->events_dropped;
	session_note_ticks(s, event, ret);
}

void session__progress(const struct session *s, struct session_progress *ret)
{
	const struct profile *p = collector__parts(s->collector)->profile;

	*ret = (struct session_progress){ .processes = processes__tracked_cnt(s->processes) };
	ret->late = processes__late(s->processes, &ret->late_ns);
	ret->unseen = processes__unseen(s->processes);
	ret->names_put_off =
		native_part__stats(collector__parts(s->collector)->nodes.natives)->names_put_off;
	for (unsigned i = 0; i < p->event_cnt; i++) {
		const struct accounts *a = &profile__counts(p, i)->accounts;

		ret->samples +=
			accounts_total(a, OUTCOME_COMPLETE) + accounts_total(a, OUTCOME_TRUNCATED);
		ret->lost += accounts_total(a, OUTCOME_LOST);
	}
}

const struct losses *session__losses(const struct session *s)
{
	return &collector__parts(s->collector)->losses;
}

const struct stack_nodes *session__list(const struct session *s)
{
	return &collector__parts(s->collector)->nodes;
}

struct profile *session__profile(struct session *s)
{
	return collector__parts(s->collector)->profile;
}

void session__stats(const struct session *s, struct session_stats *ret)
{
	const struct collector_parts *parts = collector__parts(s->collector);
	__u64 first_ns = parts->counting.first_sample_ns;
	struct session_progress progress;

	*ret = (struct session_stats){
		.seconds = (double)session_length_ns(s) / NS_PER_SEC,
		.first_sample_seconds = -1,
		.processes = processes__seen_cnt(s->processes),
		.unwanted = processes__unwanted_cnt(s->processes),
	};
	session__progress(s, &progress);
	ret->samples = progress.samples;
	ret->thread_steps = s->thread_steps;
	ret->codes_replaced = s->codes_replaced;
	ret->not_own = s->not_own;
	ret->waits_refused = s->waits_refused;
	ret->waits_missed_ns = s->waits_missed_ns;
	ret->switches_cost = s->switches_cost;
	ret->waits_lost_ns = parts->counting.waits_lost_ns;
	ret->unsampled_lost_ns = parts->counting.unsampled_lost_ns;
	ret->task_chains = parts->nodes.task_chains;
	ret->task_chains_cut = parts->nodes.task_chains_cut;
	ret->task_chains_late = parts->nodes.task_chains_late;
	ret->greenlets = parts->nodes.greenlets;
	ret->mappings_ahead = s->mappings ? perf_mappings__cnt(s->mappings) : 0;
	ret->mappings_reported = processes__mmap_cnt(s->processes);
	ret->taskless = processes__taskless(s->processes, &ret->taskless_version);
	if (s->residence)
		ret->residence = *residence__stats(s->residence);
	if (s->census)
		ret->census = *census__stats(s->census);
	ret->stacks = *stacks__stats(parts->stacks);
	if (s->anchors)
		ret->anchoring = *anchor_thread__stats(s->anchors);
	ret->natives = *native_part__stats(parts->nodes.natives);
	if (first_ns)
		ret->first_sample_seconds = (double)(first_ns - s->created_ns) / NS_PER_SEC;
	if (s->child && !s->stopped_child && child__ended(s->child, 0)) {
		ret->child_ended = true;
		ret->child_exit_code = child__exit_code(s->child);
	}
}

/* What a command has left behind: daemons. */
struct left {
	unsigned cnt;
	char pids[48]; /* "12,34": as many as have room */
};

static void note_left(void *ctx, const struct process *p)
{
	struct left *l = ctx;
	size_t len = strlen(l->pids);
	__u64 ticks;

	if (p->exited || process_start_ticks(p->pid, &ticks) || ticks != p->info.start_ticks)
		return;
	l->cnt++;
	if (len + 12 < sizeof(l->pids))
		snprintf(l->pids + len, sizeof(l->pids) - len, "%s%d", len ? "," : "", p->pid);
}

/* Says how to go on with them. */
static void warn_of_left(const struct session *s)
{
	struct left left = { .cnt = 0 };

	if (!s->child || s->stopped_child || !child__ended(s->child, 0))
		return;
	processes__each(s->processes, note_left, &left);
	if (left.cnt)
		log_warn(NULL,
			 "%s has ended, and so has the recording, but %u process%s that it started "
			 "still run%s; to record what %s now: krait record -p %s",
			 s->config->command[0], left.cnt, left.cnt == 1 ? "" : "es",
			 left.cnt == 1 ? "s" : "", left.cnt == 1 ? "it does" : "they do",
			 left.pids);
}

void session__warn_of_shortages(const struct session *s)
{
	warn_of_left(s);
	walk_costs_warn(&s->walk_costs, &s->config->sampler);
	shortages_warn(s->collector, s->processes, s->modules, s->sampler);
	if (s->native_files)
		shortages_warn_of_late_names(s->collector, s->native_files);
}

unsigned session__say_unwanted(const struct session *s, char *buf, size_t size)
{
	const struct mentions u = collector__unwanted(s->collector);

	mentions_say(&u, buf, size);
	return u.cnt;
}

const struct refusals *session__refusals(const struct session *s)
{
	return processes__refusals(s->processes);
}
