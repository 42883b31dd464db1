/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/mentions.h"
#include "base/text/printable.h"
#include "kernel/sampler/record.h"
#include "kernel/sampler/sampler.h"
#include "process/proc/context.h"
#include "process/space/space.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/thread_filter.h"
#include "record/anchors/anchor_thread.h"
#include "record/follow/processes.h"
#include "record/follow/threads.h"
#include "record/samples/admission.h"
#include "record/samples/interpreters.h"
#include "record/samples/kept_sources.h"
#include "record/samples/label.h"
#include "record/samples/own.h"
#include "record/samples/whose.h"
#include "record/stack/stacks.h"

/* ---- thread node ------------------------------------------------------------------------------ */

/*
 * The node under which a thread's stacks go: below its process's node, its own.
 *
 * A process keeps the name that it had at its first sample (label.h), unless the name says whose it
 * is and that changes. A thread that is renamed keeps its node, and has its last name.
 */

#define THREAD_NAME_MAX 64

static __u32 process_node(struct dict *dict, unsigned label_parts, struct process *p,
			  const char *comm)
{
	struct context context = { .uid = (uid_t)-1, .container = { .runtime = "" } };
	const struct context *seen;
	char label[512];

	if (!label_parts) {
		printable_into(label, sizeof(label), comm);
		return dict__named_child(dict, 0, FRAME_PROCESS, label, p->pid, 0);
	}
	seen = process_context(p);
	if (seen)
		context = *seen;
	/* What it is when it is asked may be another user's program by then. */
	if (p->own->ids.groups)
		context.uid = p->own->ids.uid;
	context.known |= p->own->ids.groups != 0;
	p->own->node_uid = context.uid;
	process_label(label, sizeof(label), label_parts, comm, p->pid, &context);
	return dict__named_child(dict, 0, FRAME_PROCESS, label, p->pid, 0);
}

/* Does the process's node name another user than the one whose rights it has now? */
static bool says_another(const struct process *p, unsigned label_parts)
{
	return label_parts & LABEL_USER && p->own->ids.groups &&
	       p->own->ids.uid != p->own->node_uid;
}

/* What it is called now (python/values/thread_names.h). */
static void thread_name(const struct thread *t, char ret[THREAD_NAME_MAX])
{
	const char *comm = t->process->info.comm;

	printable_into(ret, THREAD_NAME_MAX,
		       thread_name_shown(t->given, t->own->comm, *comm ? comm : t->own->comm));
}

/* label_parts: of enum label_part. Returns 0 if the dictionary has no room. */
static __u32 thread_node(struct dict *dict, unsigned label_parts, struct thread *t,
			 const struct record_sample *record)
{
	struct process *p = t->process;
	__u32 node = dict__tagged(dict, t->own->node), parent = dict__tagged(dict, p->own->node);

	if (node && !memcmp(t->own->comm, record->comm, sizeof(t->own->comm)) &&
	    whose_same(&t->own->ids, &record->ids))
		return node;
	t->own->ids = record->ids;
	if (record->ids.groups)
		p->own->ids = record->ids;
	whose_note(dict__identities(dict), p, &record->ids);
	memcpy(t->own->comm, record->comm, sizeof(t->own->comm));
	thread_name(t, t->own->name);
	if (!parent || says_another(p, label_parts)) {
		parent = process_node(dict, label_parts, p,
				      p->info.comm[0] ? p->info.comm : t->own->comm);
		p->own->node = dict__tag(dict, parent);
	}
	node = dict__thread_child(dict, parent, t->number, t->own->name, p->pid, t->tid);
	t->own->node = dict__tag(dict, node);
	return node;
}

/* ---- collector -------------------------------------------------------------------------------- */

struct collector {
	struct collector_config config;
	struct collector_parts parts;
	struct processes *processes;
	struct sampler *sampler;
	struct anchor_thread *anchors; /* NULL: none */
	struct mentions ended; /* threads that the filter left out */
};

/* Ticks that a thread must have had before its clock gets an entry without a sample. */
#define CLOCK_WORTH 16

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
	c->parts.profile = new_profile(config);
	c->parts.nodes.naming.profile = c->parts.profile;
	c->parts.counting = counting_of(&c->config, c->parts.profile);
	c->parts.nodes.async = config->async;
	c->parts.nodes.whole = config->lists;
	c->parts.stacks = stacks__new();
	if (c->parts.profile && (config->natives.native || config->natives.kernel))
		c->parts.nodes.natives =
			native_part__new(&config->natives, files, c->parts.profile->dict);
	if (c->parts.profile && c->parts.stacks &&
	    (c->parts.nodes.natives || !(config->natives.native || config->natives.kernel)))
		return c;
	collector__free(c);
	return NULL;
}

void collector__free(struct collector *c)
{
	if (!c)
		return;
	native_part__free(c->parts.nodes.natives);
	stack_nodes_free(&c->parts.nodes);
	profile__free(c->parts.profile);
	stacks__free(c->parts.stacks);
	free(c);
}

void collector__keep_sources(struct collector *c, struct kept_sources *sources)
{
	c->parts.nodes.naming.sources = sources;
}

void collector__keep_places(struct collector *c, struct native_places *places)
{
	if (c->parts.nodes.natives)
		native_part__keep_places(c->parts.nodes.natives, places);
}

void collector__connect(struct collector *c, struct processes *processes, struct sampler *sampler,
			struct anchor_thread *anchors, struct unwinding *unwinding)
{
	c->processes = processes;
	c->parts.nodes.naming.processes = processes;
	c->sampler = sampler;
	c->anchors = anchors;
	if (c->parts.nodes.natives)
		native_part__connect(c->parts.nodes.natives, unwinding);
}

/*
 * The node at which a complete or truncated sample counts; 0 if it is lost after all, with *reason
 * set.
 */
static __u32 sample_node(struct collector *c, struct thread *t, const struct record_sample *record,
			 enum reason *reason, bool *ret_collects)
{
	__u32 root = thread_node(c->parts.profile->dict, c->config.label, t, record);
	struct process *p = t->process;
	struct stack *stack;
	int err;

	if (mark_of(record->reason))
		return root ? stack_nodes_foreign(&c->parts.nodes, p, root, record) : 0;
	err = stacks__merge(c->parts.stacks, &t->own->stack, record, record__frames(record),
			    &stack);
	if (err) {
		*reason = err == -ESTALE ? REASON_NO_CACHE : REASON_BAD_RECORD;
		if (c->anchors)
			anchor_thread__reset(c->anchors, record);
		return 0;
	}
	return root ? stack_nodes_of(&c->parts.nodes, p, root, record, *reason, stack,
				     ret_collects) :
		      0;
}

/* By its id, or by its name in the program or in the kernel. t: NULL if out of memory. */
static bool is_wanted_thread(struct collector *c, struct thread *t,
			     const struct record_sample *record)
{
	const struct thread_filter *f = &c->config.thread;
	char comm[THREAD_NAME_MAX];

	if (thread_filter_is_empty(f))
		return true;
	printable_into(comm, sizeof(comm), record->comm);
	if (thread_filter_wants(f, (int)record->pid, (int)record->tid, comm))
		return true;
	if (!t)
		return false;
	memcpy(t->own->comm, record->comm, sizeof(t->own->comm));
	if (!thread_filter_has_names(f))
		return false;
	name_watch_await(c->processes, t);
	return *t->given && thread_filter_wants(f, (int)record->pid, (int)record->tid, t->given);
}

/*
 * Counts samples that the profile does not take: the process is unknown or not wanted. p: NULL if
 * unknown.
 */
static bool is_others(struct collector *c, const struct process *p,
		      const struct record_sample *record)
{
	struct accounts *accounts = &profile__counts(c->parts.profile, record->event)->accounts;

	accounts->reasons[REASON_NO_PROCESS] += !p;
	accounts->unwanted += p && p->state == PROCESS_UNWANTED;
	return !p || p->state == PROCESS_UNWANTED;
}

/* The same for threads. */
static bool is_unwanted(struct collector *c, struct thread *t, const struct record_sample *record)
{
	if (is_wanted_thread(c, t, record))
		return false;
	profile__counts(c->parts.profile, record->event)->accounts.unwanted++;
	if (t)
		t->own->unwanted++;
	return true;
}

/* Counts samples whose stack the kernel has lost. */
static bool is_lost(struct collector *c, struct process *p, const struct record_sample *record)
{
	struct accounts *accounts = &profile__counts(c->parts.profile, record->event)->accounts;

	if (reason_outcome(record->reason) != OUTCOME_LOST)
		return false;
	counting_lost(&c->parts.counting, record, record->reason);
	accounts->reasons[record->reason]++;
	p->own->reasons[record->reason]++;
	return true;
}

/*
 * Counts the CPU time that came with the record, whatever becomes of the record. t: NULL if out of
 * memory.
 */
static void put_unsampled(struct collector *c, struct thread *t, const struct record_sample *record)
{
	__u32 node = 0;

	if (!counting_unsampled_ns(record))
		return;
	if (t) {
		dict__begin(c->parts.profile->dict, record->owner);
		node = thread_node(c->parts.profile->dict, c->config.label, t, record);
	}
	if (!node)
		c->parts.no_room[record->owner]++;
	counting_put_unsampled(&c->parts.counting, t, record, node);
}

/*
 * Puts the sample into the profile. Returns its node, or 0 if it is lost after all, with *reason
 * set.
 */
static __u32 take_sample(struct collector *c, struct thread *t, const struct record_sample *record,
			 enum reason *reason, bool *ret_collects)
{
	__u32 node;

	/* An exiting thread needs no slot any more, and might not return it. */
	if (!(record->flags & SAMPLE_HAS_SLOT) && record->reason != REASON_EXITING)
		sampler__add_thread(c->sampler, record, &t->slot);
	if (*reason == REASON_PYTHON && interpreters_has_callers(t, record))
		*reason = REASON_INTERPRETER;
	dict__begin(c->parts.profile->dict, record->owner);
	node = sample_node(c, t, record, reason, ret_collects);
	if (!node && reason_outcome(*reason) != OUTCOME_LOST) {
		*reason = REASON_NO_ROOM;
		c->parts.no_room[record->owner]++;
	}
	return node;
}

/* Ticks of the thread, whatever becomes of the record. */
static void note_ticks(struct collector *c, struct thread *t, const struct record_sample *record)
{
	const __u64 period_ns = c->parts.counting.clock_period_ns;
	const struct wait_facts *facts;
	__u64 ns;
	__u32 cnt;

	facts = record__section(record, SECTION_WAIT, &cnt);
	ns = cnt ? counting_unsampled_ns(record) + facts->ticks_ns : 0;
	if (ns)
		thread_clock_tick(&t->own->clock, record->time_ns, period_ns,
				  ns / (period_ns ? period_ns : 1));
	else if (record->event == c->parts.counting.clock)
		thread_clock_tick(&t->own->clock, record->time_ns, record->period,
				  1 + record->missed);
}

/* The thread that the clock is of; NULL: nobody's, or not worth an entry. */
static struct thread *clocked_thread(struct collector *c, const struct record_clock *record)
{
	struct threads *threads = processes__threads(c->processes);
	struct thread *t = threads__peek(threads, (pid_t)record->tid, record->thread_start_ns);
	struct process *p;

	/* A thread whose whole life is sampled needs no entry before its first sample, unless it has none. */
	if (t || threads__is_full(threads) ||
	    (record->flags & CLOCK_WHOLE ?
		     record->cpu_ns < CLOCK_WORTH * c->parts.counting.clock_period_ns :
		     record->flags & CLOCK_LAST))
		return t;
	p = processes__find(c->processes, (pid_t)record->pid);
	if (!p || !same_start(p->start_ns, record->start_ns) || p->state != PROCESS_TRACKED)
		return NULL;
	return threads__add(threads, p, (pid_t)record->tid, record->thread_start_ns);
}

void collector__clock(struct collector *c, const struct record_clock *record)
{
	struct accounts *accounts;
	struct record_sample head = {
		.owner = record->owner,
		.time_ns = record->time_ns - record->late_ns,
		.thread_start_ns = record->thread_start_ns,
		.period = c->parts.counting.clock_period_ns,
		.pid = record->pid,
		.tid = record->tid,
	};
	struct thread *t;
	__u64 cnt, over_ns;

	t = c->parts.counting.clock < 0 ? NULL : clocked_thread(c, record);
	if (!t || t->process->state != PROCESS_TRACKED)
		return;
	head.event = (__u8)c->parts.counting.clock;
	head.ids = *t->own->comm ? t->own->ids : t->process->own->ids;
	memcpy(head.comm, *t->own->comm ? t->own->comm : record->comm, sizeof(head.comm));
	if (!is_wanted_thread(c, t, &head))
		return;
	accounts = &profile__counts(c->parts.profile, head.event)->accounts;
	over_ns = t->own->clock.over_ns;
	cnt = thread_clock_read(&t->own->clock, record, c->parts.counting.clock_period_ns);
	accounts->over_ns += t->own->clock.over_ns - over_ns;
	if (!cnt)
		return;
	dict__begin(c->parts.profile->dict, record->owner);
	counting_put_not_sampled(&c->parts.counting, t, &head,
				 thread_node(c->parts.profile->dict, c->config.label, t, &head),
				 cnt);
}

__u32 collector__sample(struct collector *c, const struct record_sample *record)
{
	struct accounts *accounts = &profile__counts(c->parts.profile, record->event)->accounts;
	struct threads *threads = processes__threads(c->processes);
	struct thread *t = threads__find(threads, (pid_t)record->tid, record->thread_start_ns);
	struct process *p = t ? t->process : processes__of_record(c->processes, record);
	enum reason reason = record->reason;
	bool collects = false;
	__u32 node = 0;

	if (is_others(c, p, record))
		return 0;
	if (!t)
		t = threads__add(threads, p, (pid_t)record->tid, record->thread_start_ns);
	processes__charge(c->processes, p, record->owner);
	if (t)
		name_watch_sampled(c->processes, t, record);
	if (is_unwanted(c, t, record))
		return 0;
	if (t)
		note_ticks(c, t, record);
	put_unsampled(c, t, record);
	if (is_lost(c, p, record))
		return 0;
	if (!p->own->offered)
		admission_offer(c->anchors, p);
	if (t)
		node = take_sample(c, t, record, &reason, &collects);
	else
		reason = REASON_NO_ROOM;
	if (t && record->tstate_addr)
		t->own->tstate_addr = record->tstate_addr;
	if (node && !counting_put(&c->parts.counting, t, record, node, collects)) {
		accounts->unwanted++;
		return node;
	}
	if (!node)
		counting_lost(&c->parts.counting, record, reason);
	accounts->reasons[reason]++;
	p->own->reasons[reason]++;
	return node;
}

static struct thread *main_thread(struct collector *c, const struct record_sample *record)
{
	struct threads *threads = processes__threads(c->processes);
	struct thread *t = threads__find(threads, (pid_t)record->tid, record->thread_start_ns);
	struct process *p = t ? t->process : processes__find(c->processes, (pid_t)record->pid);

	if (!t && p)
		t = threads__add(threads, p, (pid_t)record->tid, record->thread_start_ns);
	return t;
}

__u32 collector__task_node(struct collector *c, struct record_sample *record)
{
	struct thread *t = main_thread(c, record);
	__u32 root;

	if (!t)
		return 0;
	if (!*record->comm)
		memcpy(record->comm, *t->own->comm ? t->own->comm : t->process->info.comm,
		       sizeof(record->comm));
	if (is_others(c, t->process, record) || is_unwanted(c, t, record) ||
	    is_lost(c, t->process, record))
		return 0;
	dict__begin(c->parts.profile->dict, record->owner);
	root = thread_node(c->parts.profile->dict, c->config.label, t, record);
	return root ? stack_nodes_suspended(&c->parts.nodes, t->process, root, record) : 0;
}

unsigned collector__put_tasks(struct collector *c, const struct record_sample *record, __u32 node)
{
	struct thread *t = main_thread(c, record);
	unsigned cnt = t ? counting_put(&c->parts.counting, t, record, node, false) : 0;

	profile__counts(c->parts.profile, record->event)->accounts.reasons[REASON_PYTHON] += cnt;
	return cnt;
}

void collector__put_made(struct collector *c, const struct profile_sample *sample)
{
	counting_put_made(&c->parts.counting, sample);
}

__u32 collector__child(struct collector *c, unsigned owner, __u32 node, const char *mark)
{
	__u32 child;

	dict__begin(c->parts.profile->dict, owner);
	child = dict__named_child(c->parts.profile->dict, node, FRAME_MARK, mark, 0, 0);

	return child ? child : node;
}

__u32 collector__mark_node(struct collector *c, struct process *p, const char *mark,
			   struct thread **ret_thread)
{
	struct record_sample head = { .owner = (__u16)p->owner,
				      .thread_start_ns = p->start_ns,
				      .pid = (__u32)p->pid,
				      .tid = (__u32)p->pid };
	struct thread *t = main_thread(c, &head);
	__u32 root;

	if (!t)
		return 0;
	*ret_thread = t;
	head.ids = *t->own->comm ? t->own->ids : p->own->ids;
	memcpy(head.comm, *t->own->comm ? t->own->comm : p->info.comm, sizeof(head.comm));
	dict__begin(c->parts.profile->dict, p->owner);
	root = thread_node(c->parts.profile->dict, c->config.label, t, &head);
	return root ? collector__child(c, p->owner, root, mark) : 0;
}

/* The record is unreadable, so the sample cannot be attributed to an event. */
void collector__bad_record(struct collector *c)
{
	profile__counts(c->parts.profile, 0)->accounts.reasons[REASON_BAD_RECORD]++;
}

void collector__thread_renamed(struct collector *c, struct thread *thread)
{
	struct dict *dict = c->parts.profile->dict;
	__u32 node = dict__tagged(dict, thread->own->node);

	thread_name(thread, thread->own->name);
	if (node)
		(void)!dict__name_frame(dict, dict__node_at(dict, node)->frame, thread->own->name,
					false);
}

static void note_unwanted(struct mentions *u, const struct thread *t)
{
	char name[THREAD_NAME_MAX];

	thread_name(t, name);
	mentions_add(u, t->tid, name, t->own->unwanted);
}

static void note_unwanted_of(void *ctx, const struct process *p)
{
	const struct thread *t;

	TAILQ_FOREACH(t, &p->threads, of_process)
	note_unwanted(ctx, t);
}

struct mentions collector__unwanted(const struct collector *c)
{
	struct mentions u = c->ended;

	processes__each(c->processes, note_unwanted_of, &u);
	return u;
}

void collector__thread_gone(struct collector *c, struct thread *thread)
{
	note_unwanted(&c->ended, thread);
	stacks__forget(c->parts.stacks, &thread->own->stack);
}

void collector__process_gone(struct collector *c, struct process *process)
{
	struct process_own *own = process->own;

	if (c->parts.nodes.natives)
		native_part__process_gone(c->parts.nodes.natives, process);
	own->reasons[REASON_RING_FULL] +=
		process->exited ? process->dropped :
				  sampler__dropped(c->sampler, process->pid, process->start_ns);
	losses_add(&c->parts.losses, process->pid, process->info.comm, own->reasons);
	memset(own->reasons, 0, sizeof(own->reasons));
	if (c->parts.nodes.naming.sources)
		kept_sources__process_gone(c->parts.nodes.naming.sources, own);
	free(own->gils);
	own->gils = NULL;
	own->gil_cnt = own->gil_cap = 0;
}

const struct collector_parts *collector__parts(const struct collector *c)
{
	return &c->parts;
}
