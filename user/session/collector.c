/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/record.h"
#include "sampler/sampler.h"
#include "profile/frames.h"
#include "proc/space.h"
#include "profile/losses.h"
#include "profile/marks.h"
#include "session/admission.h"
#include "session/anchor_thread.h"
#include "session/interpreters.h"
#include "session/label.h"
#include "follow/processes.h"
#include "session/wait_state.h"
#include "session/stack_nodes.h"
#include "session/whose.h"
#include "share.h"
#include "stack/stacks.h"
#include "target/context.h"
#include "util/hash.h"
#include "util/printable.h"

struct collector {
	struct collector_config config;
	struct profile *profile;
	struct stacks *stacks;
	struct processes *processes;
	struct sampler *sampler;
	struct anchor_thread *anchors; /* NULL: there are none */
	struct losses losses;
	__u64 first_sample_ns;
	__u64 no_room[OWNER_CNT]; /* samples, by owner */
	__u64 parts[KRAIT_MAX_EVENTS]; /* samples that records have beyond one each */
	struct stack_nodes nodes; /* with the native part, which is ours */
};

static struct profile *new_profile(const struct collector_config *config)
{
	struct profile *p = profile__new();

	for (unsigned i = 0; p && i < config->event_cnt; i++) {
		if (profile__set_event(p, i, &config->events[i])) {
			profile__free(p);
			p = NULL;
		}
	}
	return p;
}

struct collector *collector__new(const struct collector_config *config, struct native_files *files)
{
	struct collector *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->config = *config;
	c->profile = new_profile(config);
	c->nodes.naming.profile = c->profile;
	c->stacks = stacks__new();
	if (c->profile && (config->natives.native || config->natives.kernel))
		c->nodes.natives = native_part__new(&config->natives, files, c->profile->dict);
	if (c->profile && c->stacks &&
	    (c->nodes.natives || !(config->natives.native || config->natives.kernel)))
		return c;
	collector__free(c);
	return NULL;
}

void collector__free(struct collector *c)
{
	if (!c)
		return;
	native_part__free(c->nodes.natives);
	profile__free(c->profile);
	stacks__free(c->stacks);
	free(c);
}

void collector__keep_places(struct collector *c, struct native_places *places)
{
	if (c->nodes.natives)
		native_part__keep_places(c->nodes.natives, places);
}

void collector__connect(struct collector *c, struct processes *processes, struct sampler *sampler,
			struct anchor_thread *anchors, struct unwinding *unwinding)
{
	c->processes = processes;
	c->sampler = sampler;
	c->anchors = anchors;
	if (c->nodes.natives)
		native_part__connect(c->nodes.natives, unwinding);
}

static __u32 add_mark(struct collector *c, __u32 parent, const char *text)
{
	return dict__named_child(c->profile->dict, parent, FRAME_MARK, text, 0, 0);
}

static __u32 process_node(struct collector *c, struct process *p, const char *comm)
{
	struct context context = { .uid = (uid_t)-1, .container = { .runtime = "" } };
	const struct context *seen;
	char label[512];

	whose_is(dict__identities(c->profile->dict), &p->info);
	if (!c->config.label) {
		printable_into(label, sizeof(label), comm);
		return dict__named_child(c->profile->dict, 0, FRAME_PROCESS, label, p->pid, 0);
	}
	seen = process_context(p);
	if (seen)
		context = *seen;
	process_label(label, sizeof(label), c->config.label, comm, p->pid, &context);
	return dict__named_child(c->profile->dict, 0, FRAME_PROCESS, label, p->pid, 0);
}

/* The node of the sampled thread below that of its process; it is another one when the name changes. */
static __u32 thread_node(struct collector *c, struct thread *t, const struct record_sample *record)
{
	struct dict *dict = c->profile->dict;
	struct process *p = t->process;
	__u32 node = dict__tagged(dict, t->node), parent = dict__tagged(dict, p->node);

	if (node && !memcmp(t->comm, record->comm, sizeof(t->comm)))
		return node;
	memcpy(t->comm, record->comm, sizeof(t->comm));
	printable_into(t->name, sizeof(t->name), record->comm);
	if (!parent) {
		parent = process_node(c, p, p->info.comm[0] ? p->info.comm : t->name);
		p->node = dict__tag(dict, parent);
	}
	node = dict__named_child(dict, parent, FRAME_THREAD, t->name, p->pid, t->tid);
	t->node = dict__tag(dict, node);
	return node;
}

static __u32 root_node(struct collector *c, struct thread *t, const struct record_sample *record,
		       enum reason reason)
{
	__u32 root = thread_node(c, t, record);
	char mark[MARK_SIZE];

	if (!root || reason_outcome(reason) != OUTCOME_TRUNCATED)
		return root;
	mark_truncated(mark, reason);
	return add_mark(c, root, mark);
}

/*
 * The node that a complete or truncated sample counts at; 0 when it is lost after all, *reason saying
 * why.
 */
static __u32 sample_node(struct collector *c, struct thread *t, const struct record_sample *record,
			 enum reason *reason)
{
	__u32 root = root_node(c, t, record, *reason);
	struct process *p = t->process;
	struct stack *stack;
	int err;

	if (mark_of(record->reason))
		return root ? stack_nodes_native(&c->nodes, p,
						 add_mark(c, root, mark_of(record->reason)),
						 record) :
			      0;
	err = stacks__merge(c->stacks, &t->stack, record, record__frames(record), &stack);
	if (err) {
		*reason = err == -ESTALE ? REASON_NO_CACHE : REASON_BAD_RECORD;
		if (c->anchors)
			anchor_thread__reset(c->anchors, record);
		return 0;
	}
	return stack_nodes_of(&c->nodes, p, root, record, stack);
}

/* Into the profile and to the outputs. state: a word of profile/states.h. */
static void put_sample(struct collector *c, const struct thread *t,
		       const struct record_sample *record, __u32 node, __u64 period, __u32 state)
{
	struct profile_sample sample = {
		.time_ns = record->time_ns,
		.period = period,
		.node = node,
		.state = state,
		.cpu = record->cpu,
		.pid = record->pid,
		.tid = record->tid,
		.comm = t->name,
		.event = record->event,
		.space = t->process->space,
		.thread = t->number,
		.image = t->process->image,
	};
	struct accounts *accounts = &profile__counts(c->profile, record->event)->accounts;

	accounts->unknown_samples += dict__node_at(c->profile->dict, node)->unknown;
	profile__count_state(c->profile, record->event, node, period, state);
	if (!c->first_sample_ns)
		c->first_sample_ns = record->time_ns;
	if (c->config.on_sample)
		c->config.on_sample(c->config.on_sample_ctx, c->profile, &sample);
}

static __u32 state_node(struct collector *c, __u32 node, const char *text)
{
	__u32 child = node ? add_mark(c, node, text) : 0;

	return child ? child : node;
}

/*
 * Time off the CPU: what the thread waited for is the leaf. It may have been ready to run for a part of the
 * time; that is a sample of its own, which the accounts have, too.
 */
static void put_wait(struct collector *c, const struct thread *t,
		     const struct record_sample *record, __u32 node, const struct wait_facts *facts)
{
	__u32 random = hash_word(record->time_ns ^ record->tid), flags = state_flags(record);
	struct wait_parts parts = wait_split(facts, record->period, random);
	char text[WAIT_TEXT_SIZE];

	if (parts.runnable_ns) {
		snprintf(text, sizeof(text), "[%s]", state_name(STATE_RUNNABLE));
		put_sample(c, t, record, state_node(c, node, text), parts.runnable_ns,
			   STATE_RUNNABLE | flags);
	}
	if (!parts.waited_ns)
		return;
	if (parts.runnable_ns) {
		profile__counts(c->profile, record->event)->accounts.reasons[record->reason]++;
		c->parts[record->event]++;
	}
	wait_text(text, facts);
	put_sample(c, t, record, state_node(c, node, text), parts.waited_ns,
		   wait_state(facts) | flags);
}

static void put_all(struct collector *c, const struct thread *t, const struct record_sample *record,
		    __u32 node)
{
	const struct wait_facts *facts;
	__u32 cnt;

	facts = record__section(record, SECTION_WAIT, &cnt);
	if (cnt)
		put_wait(c, t, record, node, facts);
	else
		put_sample(c, t, record, node, record->period,
			   record->flags & SAMPLE_GIL_KNOWN ?
				   cpu_state(record) | state_flags(record) :
				   STATE_UNKNOWN);
}

/*
 * Counts what is none of the profile's: the process is not there or not wanted, or the kernel has lost
 * the stack. p: NULL is not there.
 */
static bool is_other(struct collector *c, struct process *p, const struct record_sample *record)
{
	struct accounts *accounts = &profile__counts(c->profile, record->event)->accounts;

	if (!p) {
		accounts->reasons[REASON_NO_PROCESS]++;
	} else if (p->state == PROCESS_UNWANTED) {
		accounts->unwanted++;
	} else if (reason_outcome(record->reason) == OUTCOME_LOST) {
		accounts->reasons[record->reason]++;
		p->reasons[record->reason]++;
	} else {
		return false;
	}
	return true;
}

/* Into the profile. The node that it counts at, or 0, *reason saying why it is lost after all. */
static __u32 take_sample(struct collector *c, struct thread *t, const struct record_sample *record,
			 enum reason *reason)
{
	__u32 node;

	/* An exiting thread needs none any more, and might not give it back. */
	if (!(record->flags & SAMPLE_HAS_SLOT) && record->reason != REASON_EXITING)
		sampler__add_thread(c->sampler, record, &t->slot);
	if (*reason == REASON_PYTHON && interpreters_has_callers(t, record))
		*reason = REASON_INTERPRETER;
	dict__begin(c->profile->dict, record->owner);
	node = sample_node(c, t, record, reason);
	if (!node && reason_outcome(*reason) != OUTCOME_LOST) {
		*reason = REASON_NO_ROOM;
		c->no_room[record->owner]++;
	}
	return node;
}

void collector__sample(struct collector *c, const struct record_sample *record)
{
	struct accounts *accounts = &profile__counts(c->profile, record->event)->accounts;
	struct threads *threads = processes__threads(c->processes);
	struct thread *t = threads__find(threads, (pid_t)record->tid, record->thread_start_ns);
	struct process *p = t ? t->process : processes__of_record(c->processes, record);
	enum reason reason = record->reason;
	__u32 node = 0;

	if (is_other(c, p, record))
		return;
	if (!t)
		t = threads__add(threads, p, (pid_t)record->tid, record->thread_start_ns);
	if (!p->offered)
		admission_offer(c->anchors, p);
	if (t)
		node = take_sample(c, t, record, &reason);
	else
		reason = REASON_NO_ROOM;
	accounts->reasons[reason]++;
	p->reasons[reason]++;
	if (node)
		put_all(c, t, record, node);
}

/* Whose interrupt it was is not to be known. */
void collector__bad_record(struct collector *c)
{
	profile__counts(c->profile, 0)->accounts.reasons[REASON_BAD_RECORD]++;
}

void collector__thread_gone(struct collector *c, struct thread *thread)
{
	stacks__forget(c->stacks, &thread->stack);
}

void collector__process_gone(struct collector *c, struct process *process)
{
	if (!process->exited)
		process->reasons[REASON_RING_FULL] +=
			sampler__dropped(c->sampler, process->pid, process->start_ns);
	losses_add(&c->losses, process->pid, process->info.comm, process->reasons);
	memset(process->reasons, 0, sizeof(process->reasons));
}

const struct stacks_stats *collector__stacks_stats(const struct collector *c)
{
	return stacks__stats(c->stacks);
}

const struct native_part_stats *collector__native_stats(const struct collector *c)
{
	static const struct native_part_stats none;

	return c->nodes.natives ? native_part__stats(c->nodes.natives) : &none;
}

__u64 collector__no_room(const struct collector *c, unsigned owner)
{
	return c->no_room[owner];
}

const struct losses *collector__losses(const struct collector *c)
{
	return &c->losses;
}

struct profile *collector__profile(struct collector *c)
{
	return c->profile;
}

__u64 collector__parts(const struct collector *c, unsigned event)
{
	return event < KRAIT_MAX_EVENTS ? c->parts[event] : 0;
}

__u64 collector__first_sample_ns(const struct collector *c)
{
	return c->first_sample_ns;
}
