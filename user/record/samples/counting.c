/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/counting.h"

#include <stdio.h>
#include <unistd.h>

#include "bpf/fault.h"
#include "record/follow/threads.h"
#include "record/follow/processes.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/states.h"
#include "kernel/sampler/record.h"
#include "record/samples/collector.h"
#include "record/samples/own.h"
#include "record/samples/wait_state.h"
#include "base/system/clock.h"
#include "base/system/event.h"
#include "base/data/hash.h"
#include "base/data/vec.h"

/* Locks of one process that get numbers, and threads to search for a holder. */
#define GIL_FACTS_LOCKS 256
#define GIL_FACTS_THREADS 4096

/*
 * Which interpreter lock of its process a sample belongs to, and which thread holds it. A process
 * has one lock for each interpreter that does not share another's. Locks are numbered in the order
 * in which we meet them, and a thread is identified by the thread state of its last sample. Both
 * come from the target's memory and may be anything, so memory and time are bounded, and 0 means
 * unknown.
 */

/* Numbers start at 1; 0: no lock at that address, or too many. */
static __u32 gil_number(struct process_own *own, __u64 gil_addr)
{
	if (!gil_addr)
		return 0;
	for (__u32 i = 0; i < own->gil_cnt; i++) {
		if (own->gils[i] == gil_addr)
			return i + 1;
	}
	if (own->gil_cnt == GIL_FACTS_LOCKS ||
	    vec_reserve(own->gils, own->gil_cap, own->gil_cnt + 1))
		return 0;
	own->gils[own->gil_cnt++] = gil_addr;
	return own->gil_cnt;
}

/* The thread with that state; 0: unknown. */
static pid_t gil_holder(const struct process *p, __u64 tstate_addr)
{
	const struct thread *t;
	unsigned looked = 0;

	if (!tstate_addr)
		return 0;
	TAILQ_FOREACH(t, &p->threads, of_process)
	{
		if (t->own->tstate_addr == tstate_addr)
			return t->tid;
		if (++looked == GIL_FACTS_THREADS)
			break;
	}
	return 0;
}

/* What the thread was doing besides its state, as far as the record says. */
static __u32 flags_of(const struct thread *t, const struct record_sample *record, bool collects)
{
	const struct interp_facts *interp;
	__u32 cnt;

	interp = record__section(record, SECTION_INTERP, &cnt);
	return state_flags(record) | (collects ? STATE_GC : 0) |
	       (cnt ? gil_number(t->process->own, interp->gil_addr) << STATE_GIL_SHIFT : 0);
}

static bool is_wanted(const struct collector_config *f, __u32 state)
{
	return (!f->states || states_has(f->states, state)) &&
	       (!f->holds_gil || state & STATE_HOLDS_GIL);
}

/* Start and end of what is counted; from_ns 0: a moment. */
struct span {
	__u64 from_ns, to_ns;
};

/*
 * Passes the sample to the profile and the outputs. state: a word of profile/states.h. False: it is
 * not wanted.
 */
static bool put_sample(struct counting *c, const struct thread *t,
		       const struct record_sample *record, struct span span, __u32 node,
		       __u64 period, __u32 state, pid_t holder)
{
	struct profile_sample sample = {
		.time_ns = span.to_ns,
		.from_ns = span.from_ns,
		.period = period,
		.node = node,
		.state = state,
		.holder = holder,
		.cpu = record->cpu,
		.pid = record->pid,
		.tid = record->tid,
		.comm = t->own->name,
		.event = record->event,
		.space = t->process->space,
		.thread = t->number,
		.image = t->process->image,
	};
	struct accounts *accounts = &profile__counts(c->profile, record->event)->accounts;

	if (!is_wanted(c->config, state))
		return false;
	accounts->unknown_samples += dict__node_at(c->profile->dict, node)->unknown;
	profile__count_state(c->profile, record->event, node, period, state);
	if (!c->first_sample_ns)
		c->first_sample_ns = record->time_ns;
	if (c->config->on_sample)
		c->config->on_sample(c->config->on_sample_ctx, c->profile, &sample);
	return true;
}

static __u32 state_node(struct counting *c, __u32 node, const char *text)
{
	__u32 child = node ? dict__named_child(c->profile->dict, node, FRAME_MARK, text, 0, 0) : 0;

	return child ? child : node;
}

/* The wait that the record is about; NULL: none. */
static const struct wait_facts *wait_of(const struct record_sample *record)
{
	__u32 cnt;
	const struct wait_facts *facts = record__section(record, SECTION_WAIT, &cnt);

	return cnt ? facts : NULL;
}

/*
 * When a wait began that ended at time_ns. Never before the end of the thread's previous wait:
 * waits of switches never overlap (switch_passed()), but a wait read while it was still open ends
 * by this clock, and the next one by the CPU's.
 */
static __u64 began(const struct thread *t, __u64 time_ns, __u64 length_ns)
{
	__u64 ns = length_ns < time_ns ? time_ns - length_ns : 0;

	if (ns >= t->own->came_ns)
		return ns;
	return t->own->came_ns < time_ns ? t->own->came_ns : time_ns;
}

/*
 * Counts time off the CPU: what the thread waited for is the leaf. If it was runnable for a part of
 * the time, that is a second sample, also in the accounts. Returns the number of samples.
 */
static unsigned put_wait(struct counting *c, struct thread *t, const struct record_sample *record,
			 __u32 node, __u32 flags, const struct wait_facts *facts)
{
	__u32 random = hash_word(record->time_ns ^ record->tid);
	struct wait_parts parts = wait_split(facts, record->period, random);
	const __u64 from_ns = began(t, record->time_ns, facts->length_ns);
	const __u64 woken_ns = began(t, record->time_ns, facts->runnable_ns);
	char text[WAIT_TEXT_SIZE];
	unsigned put = 0;

	t->own->came_ns = record->time_ns > t->own->came_ns ? record->time_ns : t->own->came_ns;

	if (parts.waited_ns) {
		__u32 waits = facts->flags & WAIT_GIL_LOCKED ? STATE_STILL_WAITS : 0;
		pid_t holder = facts->flags & WAIT_GIL ?
				       gil_holder(t->process, facts->gil_holder_addr) :
				       0;
		const struct span span = { from_ns,
					   parts.runnable_ns ? woken_ns : record->time_ns };

		wait_text(text, facts);
		put += put_sample(c, t, record, span, state_node(c, node, text), parts.waited_ns,
				  wait_state(facts) | flags | waits, holder);
	}
	if (!parts.runnable_ns)
		return put;
	snprintf(text, sizeof(text), "[%s]", state_name(STATE_RUNNABLE));
	put += put_sample(c, t, record,
			  (struct span){ parts.waited_ns ? woken_ns : from_ns, record->time_ns },
			  state_node(c, node, text), parts.runnable_ns, STATE_RUNNABLE | flags, 0);
	if (put > 1) {
		profile__counts(c->profile, record->event)->accounts.reasons[record->reason]++;
		c->parts[record->event]++;
	}
	return put;
}

/* The first clock that turns every tick into a sample (clock_events of bpf/sampler.bpf.c), or -1. */
static int clock_of(const struct collector_config *config)
{
	for (unsigned i = 0; i < config->event_cnt; i++) {
		const struct event_spec *e = &config->events[i];

		if (event_is_clock(e) && !e->exclude_user && !e->exclude_kernel)
			return (int)i;
	}
	return -1;
}

struct counting counting_of(const struct collector_config *config, struct profile *profile)
{
	const int clock = clock_of(config);
	const struct event_spec *e = clock < 0 ? NULL : &config->events[clock];
	int touched = (int)config->event_cnt - 1;

	while (touched >= 0 && !event_is_touched(&config->events[touched]))
		touched--;
	return (struct counting){
		.config = config,
		.profile = profile,
		.clock = clock,
		.touched = touched,
		.page_bytes = (__u64)sysconf(_SC_PAGESIZE),
		.clock_period_ns = e ? e->frequency ? NS_PER_SEC / e->frequency : e->period : 0,
	};
}

/* Counts CPU time as a sample of the clock, beside the record's own sample. */
static void put_cpu_time(struct counting *c, const struct thread *t,
			 const struct record_sample *record, __u32 node, __u64 ns, __u32 state,
			 enum reason reason)
{
	int clock = ns ? c->clock : -1;
	struct record_sample head = *record;

	if (clock < 0)
		return;
	head.event = (__u8)clock;
	if (!put_sample(c, t, &head, (struct span){ .to_ns = record->time_ns }, node, ns, state, 0))
		return;
	profile__counts(c->profile, head.event)->accounts.reasons[reason]++;
	c->parts[head.event]++;
}

__u64 counting_unsampled_ns(const struct record_sample *record)
{
	const struct wait_facts *facts = wait_of(record);

	return facts ? (__u64)facts->unsampled << UNSAMPLED_SHIFT : 0;
}

/* Counts a clock sample as missing, and the time that it stood for. */
static void lose_unsampled(struct counting *c, __u64 ns)
{
	c->unsampled_lost_ns += ns;
	if (c->clock < 0)
		return;
	profile__counts(c->profile, (unsigned)c->clock)->accounts.reasons[REASON_NO_ROOM]++;
	c->parts[c->clock]++;
}

void counting_put_unsampled(struct counting *c, const struct thread *t,
			    const struct record_sample *record, __u32 thread_node)
{
	const __u64 ns = counting_unsampled_ns(record);
	__u32 node;

	if (!ns)
		return;
	if (!thread_node) {
		lose_unsampled(c, ns);
		return;
	}
	node = dict__named_child(c->profile->dict, thread_node, FRAME_MARK, MARK_NOT_SAMPLED, 0, 0);
	/* This time never had a stack, so no stack is missing. */
	put_cpu_time(c, t, record, node ? node : thread_node, ns, STATE_CPU, REASON_PYTHON);
}

void counting_lost(struct counting *c, const struct record_sample *record, enum reason reason)
{
	const struct wait_facts *facts = wait_of(record);

	if (!facts)
		return;
	c->waits_lost_ns += record->period;
	if (!facts->ticks_ns || c->clock < 0)
		return;
	profile__counts(c->profile, (unsigned)c->clock)->accounts.reasons[reason]++;
	c->parts[c->clock]++;
}

void counting_put_made(struct counting *c, const struct profile_sample *sample)
{
	profile__count(c->profile, sample->event, sample->node, sample->period);
	profile__counts(c->profile, sample->event)->accounts.reasons[REASON_PYTHON]++;
	c->parts[sample->event]++;
	if (c->config->on_sample)
		c->config->on_sample(c->config->on_sample_ctx, c->profile, sample);
}

/* What the record stands for: of a page fault it has only which one it was. */
static __u64 weight_of(const struct counting *c, const struct record_sample *record)
{
	if (record->event != c->touched)
		return record->period;
	return record->period & FAULT_CHOSEN ? c->page_bytes << fault_shift_of(record->period) : 0;
}

unsigned counting_put(struct counting *c, struct thread *t, const struct record_sample *record,
		      __u32 node, bool collects)
{
	const __u32 flags = flags_of(t, record, collects);
	const struct wait_facts *facts = wait_of(record);
	const __u64 weight = weight_of(c, record);

	if (!weight && record->period)
		return 0;
	if (facts) {
		/* From ticks before the thread ran. */
		put_cpu_time(c, t, record, node, facts->ticks_ns,
			     record->cnt[SECTION_INTERP] ? cpu_state(record) | flags :
							   STATE_UNKNOWN,
			     record->reason);
		return put_wait(c, t, record, node, flags, facts);
	}
	return put_sample(c, t, record, (struct span){ .to_ns = record->time_ns }, node, weight,
			  record->cnt[SECTION_INTERP] ? cpu_state(record) | flags : STATE_UNKNOWN,
			  0);
}

/* Each is a sample of its own, as the tick would have been: so all outputs count them alike. */
void counting_put_not_sampled(struct counting *c, const struct thread *t,
			      const struct record_sample *head, __u32 thread_node, __u64 cnt)
{
	struct accounts *accounts = &profile__counts(c->profile, head->event)->accounts;
	__u32 node = thread_node ? dict__named_child(c->profile->dict, thread_node, FRAME_MARK,
						     MARK_NOT_SAMPLED, 0, 0) :
				   0;

	if (!thread_node) {
		c->unsampled_lost_ns += cnt * head->period;
		return;
	}
	for (__u64 i = 0; i < cnt; i++)
		accounts->not_sampled +=
			put_sample(c, t, head, (struct span){ .to_ns = head->time_ns },
				   node ? node : thread_node, head->period, STATE_CPU, 0);
}
