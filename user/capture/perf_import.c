/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_import.c - keeps the names and mappings of processes as the records tell, and hangs samples
 * into the profile's tree. A thread's last stack is kept: what is the same from the root on need not
 * be looked up again.
 */
#include "capture/perf_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "capture/dso_reader.h"
#include "capture/objects.h"
#include "capture/perf_format.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/printable.h"

/* Tasks of a hostile file; a machine has at most 4 million at once. */
#define MAX_TASKS (1U << 20)

struct process {
	int pid;
	char name[64];
	bool named;
	struct mappings mappings;
	UT_hash_handle hh;
};

struct thread {
	int tid, pid;
	char comm[64];
	__u32 node; /* of the profile, 0 not there yet */
	__u64 *chain; /* the last one, root first, addresses and markers */
	__u32 *nodes; /* that belong to it */
	unsigned cnt, cap;
	UT_hash_handle hh;
};

struct import {
	struct profile *profile;
	const struct perf_import_config *config;
	struct perf_import_stats *stats;
	struct perf_reader *reader;
	struct objects *objects;
	struct process *processes;
	struct thread *threads;
	struct mappings none;
	__u64 *scratch; /* a chain turned round */
	unsigned scratch_cap;
	unsigned event_cnt; /* that the profile has been told of */
};

/* ---- processes and threads -------------------------------------------------------------------- */

static struct process *get_process(struct import *im, int pid)
{
	struct process *p;

	HASH_FIND_INT(im->processes, &pid, p);
	if (p || HASH_COUNT(im->processes) >= MAX_TASKS)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	snprintf(p->name, sizeof(p->name), ":%d", pid);
	HASH_ADD_INT(im->processes, pid, p);
	return p;
}

static void forget_stack(struct thread *t)
{
	t->node = 0;
	t->cnt = 0;
}

static struct thread *get_thread(struct import *im, int pid, int tid)
{
	struct thread *t;
	struct process *p;

	HASH_FIND_INT(im->threads, &tid, t);
	if (t && t->pid == pid)
		return t;
	if (!t) {
		if (HASH_COUNT(im->threads) >= MAX_TASKS)
			return NULL;
		t = calloc(1, sizeof(*t));
		if (!t)
			return NULL;
		t->tid = tid;
		HASH_ADD_INT(im->threads, tid, t);
	}
	p = get_process(im, pid);
	t->pid = pid;
	forget_stack(t);
	snprintf(t->comm, sizeof(t->comm), "%s", p ? p->name : "");
	return t;
}

/* All threads of the process hang on another node from now on, or have other mappings. */
static void forget_process(struct import *im, int pid)
{
	struct thread *t, *next;

	HASH_ITER(hh, im->threads, t, next) {
		if (t->pid == pid)
			forget_stack(t);
	}
}

static int on_comm(struct import *im, const struct perf_read *r)
{
	struct process *p = get_process(im, r->pid);
	struct thread *t = get_thread(im, r->pid, r->tid);

	if (!p || !t)
		return -ENOMEM;
	printable_into(t->comm, sizeof(t->comm), r->text);
	forget_stack(t);
	if (r->pid == r->tid && (!p->named || r->exec)) {
		memcpy(p->name, t->comm, sizeof(p->name));
		p->named = true;
		forget_process(im, r->pid);
	}
	return 0;
}

static int on_fork(struct import *im, const struct perf_read *r)
{
	struct process *p, *parent;
	struct thread *t, *parent_thread;

	if (r->pid != r->parent_pid) {
		p = get_process(im, r->pid);
		parent = get_process(im, r->parent_pid);
		if (!p || !parent || mappings_copy(&p->mappings, &parent->mappings))
			return -ENOMEM;
		memcpy(p->name, parent->name, sizeof(p->name));
		p->named = parent->named;
		forget_process(im, r->pid);
	}
	t = get_thread(im, r->pid, r->tid);
	parent_thread = get_thread(im, r->parent_pid, r->parent_tid);
	if (!t || !parent_thread)
		return -ENOMEM;
	memcpy(t->comm, parent_thread->comm, sizeof(t->comm));
	forget_stack(t);
	return 0;
}

static int on_mapping(struct import *im, const struct perf_read *r)
{
	struct process *p;
	int err;

	if (r->in_kernel) {
		if (!strncmp(r->text, "[kernel.kallsyms]", strlen("[kernel.kallsyms]")))
			objects__set_kernel(im->objects, r->start);
		return 0;
	}
	p = get_process(im, r->pid);
	if (!p)
		return -ENOMEM;
	err = mappings_add(&p->mappings, im->objects, r);
	forget_process(im, r->pid);
	return err == -ENOMEM ? err : 0;
}

/* ---- samples ---------------------------------------------------------------------------------- */

static bool is_marker(__u64 address)
{
	return address >= (__u64)PERF_CONTEXT_MAX;
}

/*
 * Root first in scratch, without the markers: the kernel's code is known by its addresses. The
 * number of entries.
 */
static unsigned turn_round(struct import *im, const struct perf_read *r)
{
	unsigned cnt = 0;

	if (r->chain_cnt + 2 > im->scratch_cap) {
		__u64 *grown = reallocarray(im->scratch, r->chain_cnt + 256, sizeof(*grown));

		if (!grown)
			return 0;
		im->scratch = grown;
		im->scratch_cap = r->chain_cnt + 256;
	}
	for (unsigned i = r->chain_cnt; i-- > 0;) {
		__u64 address;

		memcpy(&address, (const char *)r->chain + i * sizeof(address), sizeof(address));
		if (!is_marker(address))
			im->scratch[cnt++] = address;
	}
	if (!cnt)
		im->scratch[cnt++] = r->ip;
	return cnt;
}

static int reserve_stack(struct thread *t, unsigned cnt)
{
	__u64 *chain;
	__u32 *nodes;

	if (cnt <= t->cap)
		return 0;
	chain = reallocarray(t->chain, cnt + 32, sizeof(*chain));
	if (chain)
		t->chain = chain;
	nodes = reallocarray(t->nodes, cnt + 32, sizeof(*nodes));
	if (nodes)
		t->nodes = nodes;
	if (!chain || !nodes)
		return -ENOMEM;
	t->cap = cnt + 32;
	return 0;
}

/* The node of the leaf; 0 where there is no room. */
static __u32 stack_node(struct import *im, struct process *p, struct thread *t, unsigned cnt)
{
	unsigned kept = 0;
	__u32 node;

	while (kept < cnt && kept < t->cnt && t->chain[kept] == im->scratch[kept])
		kept++;
	if (reserve_stack(t, cnt))
		return 0;
	node = kept ? t->nodes[kept - 1] : t->node;
	for (unsigned i = kept; i < cnt; i++) {
		__u64 address = im->scratch[i];
		/* The upper half of the address space belongs to the kernel everywhere. */
		/* All but the leaf go on behind a call, which may be the last of its function. */
		__u32 frame = objects__frame(im->objects, p ? &p->mappings : &im->none,
					     address - (i + 1 < cnt), address >> 63);
		const struct profile_node *n = profile__node_at(im->profile, node);

		/* One mark stands for a run of addresses without names. */
		if (n->frame != frame || profile__frame_at(im->profile, frame)->kind != FRAME_MARK)
			node = profile__child(im->profile, node, frame);
		t->chain[i] = address;
		t->nodes[i] = node;
		if (!node) {
			t->cnt = 0;
			return 0;
		}
	}
	t->cnt = cnt;
	return node;
}

static bool is_wanted(const struct import *im, const struct perf_read *r, const struct process *p,
		      const struct thread *t)
{
	const struct perf_filter *f = &im->config->filter;
	double seconds = (double)(__s64)(r->time_ns - im->stats->first_ns) / NS_PER_SEC;

	return (!f->pid || f->pid == r->pid) && (!f->tid || f->tid == r->tid) &&
	       (!f->comm || !strcmp(f->comm, t->comm) || (p && !strcmp(f->comm, p->name))) &&
	       seconds >= f->from_seconds && (!(f->to_seconds > 0) || seconds < f->to_seconds);
}

/* What the file says of its events, which in a pipe come one by one. */
static int learn_events(struct import *im)
{
	unsigned cnt;
	const struct perf_read_event *events = perf_reader__events(im->reader, &cnt);
	int err = 0;

	for (; im->event_cnt < cnt && !err; im->event_cnt++) {
		const struct perf_read_event *e = &events[im->event_cnt];
		struct event_spec spec = {
			.type = e->type,
			.config = e->config,
			.frequency = e->is_frequency ? e->value : 0,
			.period = e->is_frequency ? 0 : e->value,
			.exclude_user = e->exclude_user,
			.exclude_kernel = e->exclude_kernel,
			.precise = e->precise,
		};

		snprintf(spec.name, sizeof(spec.name), "%s", e->name);
		err = profile__set_event(im->profile, im->event_cnt, &spec);
	}
	return err;
}

/* The names may come behind the samples. */
static bool is_event(const struct import *im, const struct perf_read *r)
{
	return !im->config->filter.event ||
	       !strcmp(profile__event_at(im->profile, r->event)->spec.name,
		       im->config->filter.event);
}

static int on_sample(struct import *im, const struct perf_read *r)
{
	struct process *p = get_process(im, r->pid);
	struct thread *t = get_thread(im, r->pid, r->tid);
	struct profile_sample sample;
	unsigned cnt;
	__u32 node;

	if (!t || learn_events(im))
		return -ENOMEM;
	if (!is_event(im, r)) {
		im->stats->other_events++;
		return 0;
	}
	if (!im->stats->first_ns)
		im->stats->first_ns = r->time_ns;
	if (r->time_ns > im->stats->last_ns)
		im->stats->last_ns = r->time_ns;
	if (!is_wanted(im, r, p, t)) {
		im->stats->filtered++;
		return 0;
	}
	if (!t->node) {
		__u32 process = profile__named_child(im->profile, 0, FRAME_PROCESS,
						     p ? p->name : t->comm, r->pid, 0);

		t->cnt = 0;
		t->node = profile__named_child(im->profile, process, FRAME_THREAD, t->comm, r->pid,
					       r->tid);
	}
	cnt = turn_round(im, r);
	if (cnt > im->stats->max_depth)
		im->stats->max_depth = cnt;
	node = cnt ? stack_node(im, p, t, cnt) : 0;
	profile__count(im->profile, r->event, node, r->period);
	im->stats->samples++;
	sample = (struct profile_sample){
		.time_ns = r->time_ns,
		.period = r->period,
		.node = node,
		.cpu = r->cpu,
		.pid = r->pid,
		.tid = r->tid,
		.comm = t->comm,
		.event = r->event,
	};
	if (im->config->on_sample)
		im->config->on_sample(im->config->ctx, im->profile, &sample);
	return 0;
}

static int take(struct import *im, const struct perf_read *r)
{
	switch (r->kind) {
	case PERF_READ_SAMPLE:
		return on_sample(im, r);
	case PERF_READ_COMM:
		return on_comm(im, r);
	case PERF_READ_FORK:
		return on_fork(im, r);
	case PERF_READ_MAPPING:
		return on_mapping(im, r);
	case PERF_READ_LOST:
		im->stats->lost += r->lost;
		return 0;
	case PERF_READ_EXIT:
	case PERF_READ_ROUND:
		return 0;
	}
	return 0;
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* The accounts of one event, as the emitter of perf.data has put them into the DSO. */
static bool read_notes(const struct dso_reader *dso, unsigned event, const struct profile_event *e,
		       struct accounts *a)
{
	char prefix[32] = "", name[128];
	__u64 value;

	if (event)
		snprintf(prefix, sizeof(prefix), "event%u.", event);
	snprintf(name, sizeof(name), "%sinterrupts", prefix);
	/* A krait that was killed has not closed its books. */
	if (!dso_reader__note(dso, name, &value) || value < e->samples)
		return false;
	a->interrupts = value;
	snprintf(name, sizeof(name), "%sunknown_frames", prefix);
	dso_reader__note(dso, name, &a->unknown_frames);
	snprintf(name, sizeof(name), "%sevents_dropped", prefix);
	dso_reader__note(dso, name, &a->events_dropped);
	for (int i = 0; i < REASON_CNT; i++) {
		snprintf(name, sizeof(name), "%s%s.%s", prefix,
			 outcome_name(reason_outcome((enum reason)i)), reason_name((enum reason)i));
		dso_reader__note(dso, name, &a->reasons[i]);
	}
	return true;
}

static void fill_accounts(struct import *im)
{
	const struct dso_reader *dso = objects__dso(im->objects);
	unsigned first = profile__selected(im->profile);
	__u64 value, lost = im->stats->lost;

	if (dso && dso_reader__note(dso, "milliseconds", &value) && value)
		im->stats->seconds = (double)value / 1000;
	for (unsigned i = 0; i < profile__event_cnt(im->profile); i++) {
		const struct profile_event *e = profile__event_at(im->profile, i);
		struct accounts *a = profile__event_accounts(im->profile, i);

		if (dso && read_notes(dso, i, e, a))
			continue;
		/* Whose the lost ones are is not said. */
		a->reasons[REASON_PYTHON] = e->samples;
		a->reasons[REASON_RING_FULL] = i == first ? lost : 0;
		a->interrupts = e->samples + a->reasons[REASON_RING_FULL];
	}
}

/* The first one with samples, as perf report begins with it. */
static int select_event(struct import *im)
{
	int selected = -1;

	for (unsigned i = 0; i < profile__event_cnt(im->profile); i++) {
		if (!profile__event_at(im->profile, i)->samples)
			continue;
		selected = selected < 0 ? (int)i : selected;
		im->stats->events++;
	}
	return selected < 0 ? 0 : profile__select(im->profile, (unsigned)selected);
}

static void finish(struct import *im)
{
	struct perf_import_stats *s = im->stats;
	const char *missing = objects__missing(im->objects);

	s->read = *perf_reader__stats(im->reader);
	s->facts = *perf_reader__facts(im->reader);
	s->seconds = (double)(s->last_ns - s->first_ns) / NS_PER_SEC;
	s->is_krait = missing || objects__dso(im->objects);
	/* The features are the last thing that krait writes. */
	if (s->is_krait && !*s->facts.version)
		s->read.unfinished = true;
	s->unresolved = objects__unresolved(im->objects);
	if (missing)
		printable_into(s->missing_dso, sizeof(s->missing_dso), missing);
	s->frequency =
		profile__event_at(im->profile, profile__selected(im->profile))->spec.frequency;
	/* Of a part of the samples, the books say nothing. */
	if (!s->filtered && !s->read.cut && !s->read.skipped)
		fill_accounts(im);
}

static void import_free(struct import *im)
{
	struct process *p, *next_process;
	struct thread *t, *next_thread;

	HASH_ITER(hh, im->processes, p, next_process) {
		HASH_DEL(im->processes, p);
		mappings_free(&p->mappings);
		free(p);
	}
	HASH_ITER(hh, im->threads, t, next_thread) {
		HASH_DEL(im->threads, t);
		free(t->chain);
		free(t->nodes);
		free(t);
	}
	objects__free(im->objects);
	perf_reader__free(im->reader);
	free(im->scratch);
}

int perf_import(struct profile *p, FILE *in, const struct perf_import_config *config,
		struct perf_import_stats *ret_stats, struct error *err)
{
	struct import im = { .profile = p, .config = config, .stats = ret_stats };
	struct perf_read record;
	int result;

	*ret_stats = (struct perf_import_stats){ 0 };
	result = perf_reader__open(&im.reader, in, config->path, err);
	if (result)
		return result;
	im.objects = objects__new(p, config->path);
	if (!im.objects)
		result = -ENOMEM;
	while (!result) {
		result = perf_reader__next(im.reader, &record);
		if (result <= 0)
			break;
		result = take(&im, &record);
	}
	if (!result)
		result = learn_events(&im);
	if (!result)
		result = select_event(&im);
	if (!result)
		finish(&im);
	else if (result == -EPROTONOSUPPORT)
		error_set(
			err, -result, EXIT_CODE_OUTPUT,
			"%s: compressed records (perf record -z); unpack them with: perf inject -i %s "
			"-o plain.data",
			config->path, config->path);
	else
		error_set(err, -result, EXIT_CODE_OUTPUT, "%s: %s", config->path,
			  strerror(-result));
	import_free(&im);
	return result;
}
