/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_import.c - puts samples into the tree of stacks; import_threads.c knows whose they are,
 * objects.c what their addresses mean, import_accounts.c what was lost.
 */
#include "capture/import/perf_import.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "capture/import/import_accounts.h"
#include "capture/import/import_threads.h"
#include "capture/import/objects.h"
#include "capture/import/running_kernel.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/parts.h"
#include "profile/stack_filter.h"
#include "profile/states.h"
#include "bpf/share.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/printable.h"
#include "base/data/vec.h"

struct import {
	struct profile *profile;
	struct dict_holder holder; /* what has been read refers to ids */
	const struct perf_import_config *config;
	double from_seconds, to_seconds; /* as in the filter, whose shares are seconds here */
	struct perf_import_stats *stats;
	struct perf_reader *reader;
	FILE *in;
	struct objects *objects;
	struct import_tasks tasks;
	struct mappings none;
	__u64 *scratch; /* a reversed chain */
	unsigned scratch_cap;
	struct items items; /* made of it */
	bool judged; /* on which machine it was recorded */
	unsigned event_cnt; /* in the profile */
	struct stack_filter *stacks; /* NULL: all are wanted */
	struct charging *charging; /* NULL: not wanted */
};

/* ---- samples ---------------------------------------------------------------------------------- */

static bool is_marker(__u64 address)
{
	return address >= (__u64)PERF_CONTEXT_MAX;
}

/*
 * Puts the chain into scratch, root first, without the markers: kernel code is recognised by its
 * addresses. Returns the number of entries.
 */
static unsigned turn_round(struct import *im, const struct perf_read *r)
{
	unsigned cnt = 0;

	if (vec_reserve(im->scratch, im->scratch_cap, r->chain_cnt + 2))
		return 0;
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

/* The upper half of the address space belongs to the kernel everywhere. */
static bool is_kernel(__u64 address)
{
	return address >> 63;
}

/*
 * Return addresses, which may follow the last instruction of a function: all entries except the
 * leaf, and what was interrupted on entry to the kernel. Root first.
 */
static bool is_caller(const __u64 *chain, unsigned cnt, unsigned i)
{
	return i + 1 < cnt && (is_kernel(chain[i]) || !is_kernel(chain[i + 1]));
}

/* With them a mark that says that native frames are missing goes, too. */
static bool is_native_mark(const struct import *im, const struct profile_frame *f)
{
	return f->kind == FRAME_MARK && mark_is_native(dict__text(im->profile->dict, f->name));
}

/* Whose list is being named. */
struct naming_of {
	struct import *im;
	const struct mappings *mappings;
};

/* The child for an address, or the node itself if that frame is not wanted. */
static __u32 name_item(const void *ctx, __u32 node, const struct item *item, bool *ret_later)
{
	const struct naming_of *of = ctx;
	struct import *im = of->im;
	const struct perf_filter *filter = &im->config->filter;
	const __u64 address = item->frame.code_addr - (item->frame.fingerprint == ITEM_CALLER);
	bool kernel = item->kind == ITEM_KERNEL;
	const struct profile_frame *f;
	__u32 frame;

	(void)ret_later;
	/* Whom a native thread works for is said by what all of them call. */
	const bool whole = im->charging;

	if (kernel && filter->no_kernel && !whole)
		return node;
	if (!kernel && filter->no_native && !whole &&
	    !objects__is_python(im->objects, of->mappings, address))
		return node;
	frame = objects__frame(im->objects, of->mappings, address, kernel);
	f = dict__frame_at(im->profile->dict, frame);
	if (filter->no_native && !whole && is_native_mark(im, f))
		return node;
	/* One mark stands for a run of addresses without names. */
	if (f->kind == FRAME_MARK && dict__node_at(im->profile->dict, node)->frame == frame)
		return node;
	return parts_child(im->profile->dict, node, frame);
}

/* The chain in scratch as a list. Returns 0 or -ENOMEM. */
static int list_chain(struct import *im, unsigned cnt)
{
	if (items_begin(&im->items, cnt))
		return -ENOMEM;
	for (unsigned i = 0; i < cnt; i++) {
		struct item *item = items_add(
			&im->items, is_kernel(im->scratch[i]) ? ITEM_KERNEL : ITEM_NATIVE, i);

		item->frame.code_addr = im->scratch[i];
		item->frame.fingerprint = is_caller(im->scratch, cnt, i) ? ITEM_CALLER : 0;
	}
	return 0;
}

/* The leaf's node; 0: no room. */
static __u32 stack_node(struct import *im, struct import_process *p, struct import_thread *t,
			unsigned cnt)
{
	struct import_stacks *stacks = &im->tasks.stacks;
	const struct naming_of of = { im, p ? &p->mappings : &im->none };
	const struct named_under under = { .root_tag = dict__tag(im->profile->dict, t->node),
					   .digest = t->epoch };
	__u32 node = import_stacks_find(stacks, t->node, im->scratch, cnt);

	if (node)
		return node;
	if (list_chain(im, cnt))
		return 0;
	node = named_take(&t->named, &under, &im->items,
			  named_same(&t->named, &under, &im->items, 0, 0), t->node, name_item, &of);
	if (node == t->node)
		node = dict__named_child(im->profile->dict, node, FRAME_MARK, MARK_NO_PYTHON, 0, 0);
	if (node)
		import_stacks_put(stacks, t->node, im->scratch, cnt, node);
	return node;
}

static bool wants_pid(const struct perf_filter *f, int pid)
{
	for (unsigned i = 0; i < f->pid_cnt; i++) {
		if (f->pids[i] == pid)
			return true;
	}
	return !f->pid_cnt;
}

/* A time since the first sample, which may be unreasonable. */
static __u64 moment(const struct import *im, double seconds)
{
	double ns = seconds * NS_PER_SEC;

	return im->stats->first_ns + (ns < (double)(1ULL << 62) ? (__u64)ns : 1ULL << 62);
}

/* What a sample is about: its moment, or a wait (then from_ns is not 0). */
struct extent {
	__u64 from_ns, to_ns, period;
};

/* Keeps the part of it that lies within the wanted range of time. False: there is none. */
static bool cut_to_range(const struct import *im, struct extent *e)
{
	const __u64 low_ns = im->from_seconds > 0 ? moment(im, im->from_seconds) : 0;
	const __u64 high_ns = im->to_seconds > 0 ? moment(im, im->to_seconds) : ~0ULL;
	const struct extent whole = *e;

	if (!e->from_ns || e->from_ns == e->to_ns)
		return e->to_ns >= low_ns && e->to_ns < high_ns;
	if (e->to_ns <= low_ns || e->from_ns >= high_ns)
		return false;
	if (e->from_ns >= low_ns && e->to_ns <= high_ns)
		return true;
	e->from_ns = e->from_ns > low_ns ? e->from_ns : low_ns;
	e->to_ns = e->to_ns < high_ns ? e->to_ns : high_ns;
	e->period = (__u64)((double)whole.period * (double)(e->to_ns - e->from_ns) /
			    (double)(whole.to_ns - whole.from_ns));
	return true;
}

static bool is_wanted(const struct import *im, const struct perf_read *r,
		      const struct import_process *p, const struct import_thread *t)
{
	const struct perf_filter *f = &im->config->filter;
	const char *name = import_thread_name(&im->tasks, t);

	return wants_pid(f, r->pid) && (!f->tid || f->tid == r->tid) &&
	       (!f->comm || !strcmp(f->comm, name) || (p && !strcmp(f->comm, p->name))) &&
	       (!f->states || states_has(f->states, r->state)) &&
	       (!f->holds_gil || r->state & STATE_HOLDS_GIL) &&
	       thread_filter_wants(&f->thread, r->pid, r->tid, name);
}

/* Takes what the file says about its events, which in a pipe come one by one. */
static int learn_events(struct import *im)
{
	unsigned cnt;
	const struct perf_read_event *events = perf_reader__events(im->reader, &cnt);
	int err = 0;

	for (; im->event_cnt < cnt && !err; im->event_cnt++) {
		const struct event_spec spec = perf_read_event_spec(&events[im->event_cnt]);

		err = profile__set_event(im->profile, im->event_cnt, &spec);
	}
	return err;
}

/* The names may come after the samples. */
static bool is_event(const struct import *im, const struct perf_read *r)
{
	return !im->config->filter.event ||
	       !strcmp(profile__counts(im->profile, r->event)->event.name,
		       im->config->filter.event);
}

/*
 * With several CPUs records are only nearly in order, so the first ones of a file may be judged by
 * a later beginning, off by microseconds.
 */
static void note_time(struct perf_import_stats *stats, __u64 time_ns)
{
	if (!stats->first_ns || time_ns < stats->first_ns)
		stats->first_ns = time_ns;
	if (time_ns > stats->last_ns)
		stats->last_ns = time_ns;
}

/* The node of the sample's stack; 0: none, or no room. */
static __u32 node_of(struct import *im, struct import_process *p, struct import_thread *t,
		     const struct perf_read *r)
{
	struct dict *dict = im->profile->dict;
	unsigned cnt;

	dict__begin(dict, OWNER_ROOT);
	if (!t->node) {
		__u32 process =
			dict__named_child(dict, 0, FRAME_PROCESS, p ? p->name : t->comm, r->pid, 0);

		t->node = dict__thread_child(dict, process, t->number, t->comm, r->pid, r->tid);
	}
	cnt = turn_round(im, r);
	if (cnt > im->stats->max_depth)
		im->stats->max_depth = cnt;
	return cnt ? stack_node(im, p, t, cnt) : 0;
}

/* Is it one of those that were asked for? Cuts its extent to the wanted time. */
static bool admit(struct import *im, const struct perf_read *r, struct import_process *p,
		  struct import_thread *t, struct extent *extent)
{
	if (!is_event(im, r)) {
		im->stats->other_events++;
		return false;
	}
	note_time(im->stats, r->time_ns);
	if (is_wanted(im, r, p, t) && cut_to_range(im, extent))
		return true;
	im->stats->filtered++;
	t->unwanted++;
	if (p)
		p->unwanted++;
	return false;
}

/* Its stack is final. */
static int count_sample(void *ctx, const struct profile_sample *sample)
{
	struct import *im = ctx;

	if (im->stacks && !stack_filter__wants(im->stacks, im->profile->dict, sample->node)) {
		im->stats->filtered++;
		return 0;
	}
	profile__count_state(im->profile, sample->event, sample->node, sample->period,
			     sample->state);
	im->stats->samples++;
	if (im->config->on_sample)
		im->config->on_sample(im->config->ctx, im->profile, sample);
	return 0;
}

/* whole: its extent as recorded. */
static int hold_sample(struct import *im, const struct profile_sample *sample,
		       const struct extent *whole, bool wanted)
{
	const struct event_spec *event = &profile__counts(im->profile, sample->event)->event;
	struct charging_sample s = {
		.sample = *sample,
		.from_ns = whole->from_ns,
		.to_ns = whole->to_ns,
		.near_ns = NS_PER_SEC / (event->frequency ? event->frequency : 1000),
		.is_wait = event_is_off_cpu(event) || event_is_tasks(event) ||
			   event_is_resident(event),
		.wanted = wanted,
	};

	/* The thread may have another name before this is passed on. */
	s.sample.comm =
		dict__text(im->profile->dict, dict__string(im->profile->dict, sample->comm));
	return charging__add(im->charging, &s);
}

static int on_sample(struct import *im, const struct perf_read *r)
{
	struct import_process *p = import_tasks_process(&im->tasks, r->pid);
	struct import_thread *t = import_tasks_thread(&im->tasks, r->pid, r->tid);
	struct extent extent = { .to_ns = r->time_ns, .period = r->period }, whole;
	struct profile_sample sample;
	__u64 holder = 0;
	bool wanted;

	if (!t || learn_events(im))
		return -ENOMEM;
	/* Even for unwanted samples: the next one may be the rest of its wait. */
	if (event_is_off_cpu(&profile__counts(im->profile, r->event)->event)) {
		extent.from_ns = import_thread_waited(t, r->time_ns);
		holder = r->addr;
	}
	whole = extent;
	wanted = admit(im, r, p, t, &extent);
	/* Nobody waits for another process, and no output is to name one that was not asked for. */
	if (!wanted && (!im->charging || !wants_pid(&im->config->filter, r->pid)))
		return 0;
	sample = (struct profile_sample){
		.time_ns = extent.to_ns,
		.from_ns = extent.from_ns,
		.period = extent.period,
		.node = node_of(im, p, t, r),
		.state = r->state,
		.holder = holder <= INT_MAX ? (int)holder : 0,
		.cpu = r->cpu,
		.pid = r->pid,
		.tid = r->tid,
		.comm = t->comm,
		.event = r->event,
	};
	return im->charging ? hold_sample(im, &sample, &whole, wanted) : count_sample(im, &sample);
}

static int on_mapping(struct import *im, const struct perf_read *r)
{
	if (r->in_kernel) {
		if (!strncmp(r->text, "[kernel.kallsyms]", strlen("[kernel.kallsyms]")))
			objects__set_kernel(im->objects, r->start);
		return 0;
	}
	return import_tasks_mapping(&im->tasks, im->objects, r);
}

static int take(struct import *im, const struct perf_read *r)
{
	switch (r->kind) {
	case PERF_READ_SAMPLE:
		return on_sample(im, r);
	case PERF_READ_COMM:
		return import_tasks_comm(&im->tasks, im->profile->dict, r);
	case PERF_READ_SWITCH:
		import_tasks_switch(&im->tasks, r);
		return 0;
	case PERF_READ_FORK:
		return import_tasks_fork(&im->tasks, r);
	case PERF_READ_MAPPING:
		return on_mapping(im, r);
	case PERF_READ_LOST:
		im->stats->lost += r->lost;
		return 0;
	case PERF_READ_EXIT:
		import_tasks_exit(&im->tasks, r);
		return 0;
	case PERF_READ_ROUND:
	case PERF_READ_OTHER:
		return 0;
	}
	return 0;
}

/* ---- last names --------------------------------------------------------------------------------- */

static int take_names(struct import_tasks *tasks, const struct perf_read *r)
{
	switch (r->kind) {
	case PERF_READ_SAMPLE:
		return import_tasks_thread(tasks, r->pid, r->tid) ? 0 : -ENOMEM;
	case PERF_READ_COMM:
		return import_tasks_comm(tasks, NULL, r);
	case PERF_READ_FORK:
		return import_tasks_fork(tasks, r);
	case PERF_READ_EXIT:
		import_tasks_exit(tasks, r);
		return 0;
	default:
		return 0;
	}
}

/*
 * Where names decide, a thread's last name must be known at its first sample: reads the records
 * once before, unless they come from a pipe.
 */
static int learn_last_names(struct import *im, struct error *err)
{
	const struct perf_filter *f = &im->config->filter;
	struct import_tasks tasks = { .keeps_names = true };
	struct perf_reader *reader;
	struct perf_read record;
	off_t begin = ftello(im->in);
	struct stat st;
	int result;

	if ((!f->comm && !thread_filter_has_names(&f->thread)) || fstat(fileno(im->in), &st) ||
	    !S_ISREG(st.st_mode) || begin < 0)
		return 0;
	result = perf_reader__open(&reader, im->in, im->config->path, err);
	if (result)
		return result;
	perf_reader__by_time(reader);
	while ((result = perf_reader__next(reader, &record)) > 0 && !take_names(&tasks, &record))
		;
	import_tasks_take_names(&im->tasks, &tasks);
	import_tasks_free(&tasks);
	perf_reader__free(reader);
	return fseeko(im->in, begin, SEEK_SET) ? error_set(err, errno, EXIT_CODE_OUTPUT, "%s: %s",
							   im->config->path, strerror(errno)) :
						 0;
}

/* Shares of the time that the capture says it has are seconds from here on. */
static int set_range(struct import *im, struct error *err)
{
	const struct perf_filter *f = &im->config->filter;
	const struct perf_read_facts *facts = perf_reader__facts(im->reader);
	const double seconds = (double)(facts->last_ns - facts->first_ns) / NS_PER_SEC;

	im->from_seconds = f->from_seconds;
	im->to_seconds = f->to_seconds;
	if (!(f->to_share > 0))
		return 0;
	if (facts->last_ns <= facts->first_ns)
		return error_set(err, EINVAL, EXIT_CODE_USAGE,
				 "%s does not say how long it is: give --time in seconds",
				 im->config->path);
	im->from_seconds = f->from_share * seconds;
	/* The last sample belongs to the last part. */
	im->to_seconds = f->to_share < 1 ? f->to_share * seconds : 0;
	return 0;
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* The first one with samples, which perf report shows first, too. */
static void choose_event(struct import *im)
{

	for (unsigned i = 0; i < im->profile->event_cnt; i++) {
		if (!profile__counts(im->profile, i)->samples)
			continue;
		if (!im->stats->events++)
			im->stats->event = i;
	}
}

/* If a file does not say when it was made, assumes that it was finished at its last sample. */
static void date(struct import *im, __u64 last_ns)
{
	struct perf_import_stats *s = im->stats;
	int fd = fileno(im->in);
	struct stat st;

	s->facts = *perf_reader__facts(im->reader);
	if (!s->facts.wall_offset_ns && last_ns && fd >= 0 && !fstat(fd, &st) &&
	    S_ISREG(st.st_mode) && st.st_mtim.tv_sec > 0 &&
	    last_ns < (__u64)st.st_mtim.tv_sec * NS_PER_SEC)
		s->facts.wall_offset_ns = (__s64)((__u64)st.st_mtim.tv_sec * NS_PER_SEC +
						  (__u64)st.st_mtim.tv_nsec - last_ns);
}

/*
 * When the recording began and ended: krait notes it, and of others' captures only the samples' times are known.
 * Of a file that lacks its end, nobody knows how much of the time the rest covers.
 */
static void find_extent(const struct import *im, __u64 *ret_from_ns, __u64 *ret_to_ns)
{
	const struct perf_import_stats *s = im->stats;
	__u64 from_ns = s->first_ns, to_ns = s->last_ns, began_ns, length_ns;

	if (!s->read.cut && !import_length(objects__dso(im->objects), &began_ns, &length_ns)) {
		/* It is believed if the samples fit in, but for the rounding of its end. */
		if (began_ns && began_ns <= from_ns && from_ns - began_ns <= length_ns)
			from_ns = began_ns;
		if (to_ns - from_ns < length_ns + NS_PER_SEC / 1000)
			to_ns = from_ns + length_ns;
	}
	if (im->to_seconds > 0 && moment(im, im->to_seconds) < to_ns)
		to_ns = moment(im, im->to_seconds);
	if (im->from_seconds > 0 && moment(im, im->from_seconds) > from_ns)
		from_ns = moment(im, im->from_seconds);
	*ret_from_ns = from_ns;
	*ret_to_ns = to_ns > from_ns ? to_ns : from_ns;
}

static void finish(struct import *im)
{
	struct perf_import_stats *s = im->stats;
	const char *missing = objects__missing(im->objects);
	__u64 from_ns, to_ns;

	s->read = *perf_reader__stats(im->reader);
	date(im, s->last_ns);
	find_extent(im, &from_ns, &to_ns);
	for (unsigned i = 0; i < im->profile->event_cnt; i++) {
		profile__counts(im->profile, i)->from_ns = from_ns;
		profile__counts(im->profile, i)->to_ns = to_ns;
	}
	s->recording = (struct recording){
		.host = s->facts.host,
		.kernel = s->facts.kernel,
		.command_line = s->facts.command_line,
		.began_ns = from_ns,
		.seconds = (double)(to_ns - from_ns) / NS_PER_SEC,
		.frequency = profile__counts(im->profile, s->event)->event.frequency,
	};
	if (s->facts.wall_offset_ns)
		s->recording.began_wall_ns = (__s64)from_ns + s->facts.wall_offset_ns;
	s->is_krait = missing || objects__dso(im->objects);
	/* krait writes the features last. */
	if (s->is_krait && !*s->facts.version)
		s->read.unfinished = true;
	import_tasks_say_unwanted(s->others, sizeof(s->others), &im->tasks,
				  im->config->filter.pid_cnt);
	s->unresolved = objects__unresolved(im->objects);
	s->mappings_refused = im->tasks.mappings.refused;
	if (missing)
		printable_into(s->missing_dso, sizeof(s->missing_dso), missing);
	/* The accounts cover all samples, not a part. */
	if (!s->filtered && !s->read.cut && !s->read.skipped)
		import_accounts(im->profile, objects__dso(im->objects), s->lost, s->event);
}

static void import_free(struct import *im)
{
	dict__release(im->profile->dict, &im->holder);
	import_tasks_free(&im->tasks);
	stack_filter__free(im->stacks);
	charging__free(im->charging);
	objects__free(im->objects);
	perf_reader__free(im->reader);
	free(im->scratch);
	items_free(&im->items);
}

static bool is_of_another_machine(const struct perf_read_facts *f)
{
	struct utsname here;

	return *f->arch && !uname(&here) && strcmp(f->arch, here.machine) != 0;
}

/* Before any record that names a file: of a pipe, a record says which machine it was. */
static void judge_machine(struct import *im)
{
	im->judged = *perf_reader__facts(im->reader)->arch != '\0';
	if (is_of_another_machine(perf_reader__facts(im->reader)))
		objects__set_foreign(im->objects);
	else if (!im->config->alone && running_kernel_is(&im->stats->facts))
		objects__same_kernel(im->objects);
}

int perf_import(struct profile *p, FILE *in, const struct perf_import_config *config,
		struct perf_import_stats *ret_stats, struct error *err)
{
	struct import im = { .profile = p, .config = config, .stats = ret_stats, .in = in };
	struct perf_read record;
	int result;

	*ret_stats = (struct perf_import_stats){ 0 };
	result = learn_last_names(&im, err);
	if (result)
		return result;
	result = perf_reader__open(&im.reader, in, config->path, err);
	if (!result)
		result = set_range(&im, err);
	if (result) {
		perf_reader__free(im.reader);
		return result;
	}
	perf_reader__by_time(im.reader);
	dict__hold(p->dict, &im.holder);
	im.objects = objects__new(p->dict, config->path, config->alone);
	if (config->filter.function)
		im.stacks = stack_filter__new(config->filter.function, config->filter.function_use);
	if (config->filter.charge_waiters)
		im.charging = charging__new(&(struct charging_config){
			.dict = p->dict,
			.no_native = config->filter.no_native,
			.no_kernel = config->filter.no_kernel,
			.take = count_sample,
			.ctx = &im,
		});
	if (!im.objects || (config->filter.function && !im.stacks) ||
	    (config->filter.charge_waiters && !im.charging))
		result = -ENOMEM;
	if (!result && config->filter.sources)
		objects__want_sources(im.objects, config->filter.inlined);
	date(&im, perf_reader__facts(im.reader)->last_ns);
	if (!result)
		judge_machine(&im);
	while (!result) {
		result = perf_reader__next(im.reader, &record);
		if (result <= 0)
			break;
		if (!im.judged && *perf_reader__facts(im.reader)->arch)
			judge_machine(&im);
		result = take(&im, &record);
	}
	if (!result && im.charging)
		result = charging__finish(im.charging, &ret_stats->charging);
	if (!result && config->filter.instructions)
		result = objects__list_code(im.objects);
	if (!result)
		result = import_identities(p->dict, im.objects, fileno(in));
	if (!result)
		result = learn_events(&im);
	if (!result) {
		choose_event(&im);
		finish(&im);
	} else {
		error_set(err, -result, EXIT_CODE_OUTPUT, "%s: %s", config->path,
			  strerror(-result));
	}
	import_free(&im);
	return result;
}
