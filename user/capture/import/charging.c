/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * charging.c - makes of each Python thread's samples the times at which it is in a call of a library, and goes through
 * them and the samples of native threads in the order of time.
 */
#include "capture/import/charging.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/compare.h"
#include "base/data/vec.h"
#include "base/system/clock.h"
#include "base/text/short_path.h"
#include "bpf/record.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/origin.h"

/*
 * Held at once: 250 MB, and up to 150 MB of calls, and their order. Calls that last from one such part of a capture into
 * the next are cut there.
 */
#define HELD_MAX (1U << 21)
/* A thread without a sample for so long, between two in the same call, may have been elsewhere. */
#define GAP_NS (NS_PER_SEC / 10)
/* Libraries of one stack that are compared. */
#define FILES_MAX 8
/*
 * Calls of a process at one moment that are looked through for each sample: 10 s for all that are held. Of more, nobody is
 * charged until the longest that found no place has ended.
 */
#define OPEN_MAX 1024

struct files {
	__u32 list[FILES_MAX]; /* string ids */
	unsigned cnt;
};

/* A thread is in a call. */
struct call {
	int pid, tid;
	__u64 from_ns, to_ns;
	__u32 python; /* the node of its innermost Python function */
	struct files files; /* its libraries */
};

struct charging {
	struct charging_config config;
	struct charging_stats stats;
	struct charging_sample *held;
	__u32 held_cnt, held_cap;
	struct call *calls; /* in the order of processes and beginnings */
	__u32 call_cnt, call_cap;
	__u32 *order; /* of held: those of Python threads, then those of native ones */
	/* Calls that have begun and not ended; more than these are under way until then. */
	__u32 open[OPEN_MAX], open_cnt;
	__u64 crowded_to_ns;
	__u32 *stripped, stripped_cap; /* by node: without unwanted frames, or NOT_YET */
	__u8 *roles; /* by frame: enum role */
	__u32 roles_cap;
	__u32 *path, path_cap; /* leaf first */
};

struct charging *charging__new(const struct charging_config *config)
{
	struct charging *c = calloc(1, sizeof(*c));

	if (c)
		c->config = *config;
	return c;
}

void charging__free(struct charging *c)
{
	if (!c)
		return;
	free(c->held);
	free(c->calls);
	free(c->order);
	free(c->stripped);
	free(c->roles);
	free(c->path);
	free(c);
}

/* ---- stacks ----------------------------------------------------------------------------------- */

static const struct profile_frame *frame_of(const struct charging *c, __u32 node)
{
	return dict__frame_at(c->config.dict, dict__node_at(c->config.dict, node)->frame);
}

static __u32 parent_of(const struct charging *c, __u32 node)
{
	return dict__node_at(c->config.dict, node)->parent;
}

static bool is_mark(const struct charging *c, __u32 node, const char *text)
{
	const struct profile_frame *f = frame_of(c, node);

	return f->kind == FRAME_MARK && !strcmp(dict__text(c->config.dict, f->name), text);
}

/* The node of the mark; 0: it is a stack of Python, or of nothing. */
static __u32 native_thread_of(const struct charging *c, __u32 node)
{
	const char *text = mark_of(REASON_NATIVE_THREAD);

	for (; node; node = parent_of(c, node)) {
		if (frame_of(c, node)->kind == FRAME_PYTHON)
			return 0;
		if (is_mark(c, node, text))
			return node;
	}
	return 0;
}

/* The node of the innermost Python function; 0: none. */
static __u32 python_of(const struct charging *c, __u32 node)
{
	while (node && frame_of(c, node)->kind != FRAME_PYTHON)
		node = parent_of(c, node);
	return node;
}

static bool begins_with_one(const char *text, const char *const *list)
{
	while (*list && !starts_with(text, *list))
		list++;
	return *list;
}

/* Also what replaces libc's malloc, whoever brings it. */
static bool is_in_every_stack(const struct profile_frame *f, const char *file, const char *name)
{
	static const char *const origins[] = { "interpreter", "libc", "kernel", "libstdc++",
					       "libgcc_s" };
	static const char *const allocators[] = { "libjemalloc", "libtcmalloc", "libmimalloc",
						  "libasan",	 "libhwasan",	"liblsan",
						  "libmsan",	 "libtsan",	"libubsan",
						  "libclang_rt", NULL };
	char origin[ORIGIN_NAME_SIZE];

	origin_name(origin, f, file, name);
	for (unsigned i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		if (!strcmp(origin, origins[i]))
			return true;
	}
	return begins_with_one(base_name(file), allocators);
}

/* What native code says of whom a thread works for. */
enum role {
	ROLE_UNKNOWN, /* not judged yet */
	ROLE_NOTHING,
	ROLE_LIBRARY,
	ROLE_RUNTIME, /* starts threads for libraries */
};

static enum role judge(const struct charging *c, const struct profile_frame *f)
{
	static const char *const runtimes[] = { "libgomp", "libomp", "libiomp", "libtbb", NULL };
	const char *file = dict__text(c->config.dict, f->file);

	if (f->kind != FRAME_NATIVE || !f->file ||
	    is_in_every_stack(f, file, dict__text(c->config.dict, f->name)))
		return ROLE_NOTHING;
	return begins_with_one(base_name(file), runtimes) ? ROLE_RUNTIME : ROLE_LIBRARY;
}

/* Thousands of samples share a frame. */
static enum role role_of(struct charging *c, __u32 frame)
{
	const __u32 known = c->roles_cap;

	if (vec_reserve(c->roles, c->roles_cap, frame + 1))
		return judge(c, dict__frame_at(c->config.dict, frame));
	memset(c->roles + known, ROLE_UNKNOWN, c->roles_cap - known);
	if (c->roles[frame] == ROLE_UNKNOWN)
		c->roles[frame] = (__u8)judge(c, dict__frame_at(c->config.dict, frame));
	return c->roles[frame];
}

static bool has_file(const struct files *files, __u32 file)
{
	for (unsigned i = 0; i < files->cnt; i++) {
		if (files->list[i] == file)
			return true;
	}
	return false;
}

/* Of the native code that the innermost Python function called. */
static void add_files(struct charging *c, __u32 node, enum role role, struct files *ret)
{
	for (; node && ret->cnt < FILES_MAX; node = parent_of(c, node)) {
		const struct profile_frame *f = frame_of(c, node);

		if (f->kind == FRAME_PYTHON)
			break;
		if (role_of(c, dict__node_at(c->config.dict, node)->frame) == role &&
		    !has_file(ret, f->file))
			ret->list[ret->cnt++] = f->file;
	}
}

static bool share_one(const struct files *a, const struct files *b)
{
	for (unsigned i = 0; i < a->cnt; i++) {
		if (has_file(b, a->list[i]))
			return true;
	}
	return false;
}

static bool is_unwanted(const struct charging *c, __u32 node)
{
	const struct profile_frame *f = frame_of(c, node);
	const char *text = dict__text(c->config.dict, f->name);

	if (f->kind == FRAME_KERNEL)
		return c->config.no_kernel;
	return c->config.no_native &&
	       (f->kind == FRAME_NATIVE ||
		(f->kind == FRAME_MARK && (mark_is_native(text) || !strcmp(text, MARK_UNKNOWN))));
}

/* In stripped: nobody has asked for it yet. */
#define NOT_YET (~0U)

/* The stack without unwanted frames; 0: no room. */
static __u32 strip(struct charging *c, __u32 node)
{
	struct dict *dict = c->config.dict;
	const __u32 known = c->stripped_cap;
	__u32 cnt = 0, above, at;

	if (!c->config.no_native && !c->config.no_kernel)
		return node;
	if (vec_reserve(c->stripped, c->stripped_cap, node + 1))
		return 0;
	memset(c->stripped + known, 0xff, (c->stripped_cap - known) * sizeof(*c->stripped));
	for (at = node; at && c->stripped[at] == NOT_YET; at = parent_of(c, at)) {
		if (vec_reserve(c->path, c->path_cap, cnt + 1))
			return 0;
		c->path[cnt++] = at;
	}
	above = at ? c->stripped[at] : 0;
	while (cnt) {
		const __u32 frame = dict__node_at(dict, at = c->path[--cnt])->frame;

		/* A mark stands for a run of places. */
		if (!is_unwanted(c, at) && !(frame_of(c, at)->kind == FRAME_MARK && above &&
					     dict__node_at(dict, above)->frame == frame))
			above = dict__child(dict, above, frame);
		c->stripped[at] = above;
	}
	if (above && frame_of(c, above)->kind == FRAME_THREAD)
		above = dict__named_child(dict, above, FRAME_MARK, MARK_NO_PYTHON, 0, 0);
	return above;
}

/* Below `under`: the frames between `above` (not included) and the node. 0: no room. */
static __u32 graft(struct charging *c, __u32 under, __u32 above, __u32 node)
{
	__u32 cnt = 0;

	for (; node && node != above; node = parent_of(c, node)) {
		if (vec_reserve(c->path, c->path_cap, cnt + 1))
			return 0;
		c->path[cnt++] = dict__node_at(c->config.dict, node)->frame;
	}
	while (cnt && under)
		under = dict__child(c->config.dict, under, c->path[--cnt]);
	return under;
}

/* The native thread's stack below the Python function; 0: no room. */
static __u32 charged(struct charging *c, __u32 node, __u32 mark, __u32 python)
{
	__u32 thread = python, under;

	while (thread && frame_of(c, thread)->kind != FRAME_THREAD)
		thread = parent_of(c, thread);
	under = graft(c, parent_of(c, mark), thread, python);
	/* What C does counts for the line: so does this. */
	return c->config.no_native ? under : graft(c, under, parent_of(c, mark), node);
}

/* ---- calls ------------------------------------------------------------------------------------ */

static int compare_samples(const void *x, const void *y, void *held)
{
	const struct charging_sample *a = &((struct charging_sample *)held)[*(const __u32 *)x],
				     *b = &((struct charging_sample *)held)[*(const __u32 *)y];

	return compare_numbers(a->sample.pid, b->sample.pid)	     ?:
		       compare_numbers(a->sample.tid, b->sample.tid) ?:
		       compare_numbers(a->to_ns, b->to_ns);
}

static int compare_times(const void *x, const void *y, void *held)
{
	const struct charging_sample *a = &((struct charging_sample *)held)[*(const __u32 *)x],
				     *b = &((struct charging_sample *)held)[*(const __u32 *)y];

	return compare_numbers(a->sample.pid, b->sample.pid) ?: compare_numbers(a->to_ns, b->to_ns);
}

static int compare_calls(const void *x, const void *y)
{
	const struct call *a = x, *b = y;

	return compare_numbers(a->pid, b->pid) ?: compare_numbers(a->from_ns, b->from_ns);
}

static __u64 begin_of(const struct charging_sample *s)
{
	return s->is_wait && s->from_ns ? s->from_ns : s->to_ns;
}

/* How far a moment speaks for the time between it and the thread's sample before or after it; NULL: there is none. */
static __u64 reach_to(struct charging *c, const struct charging_sample *s,
		      const struct files *files, const struct charging_sample *other,
		      __u64 distance_ns)
{
	struct files others = { 0 };

	if (!other)
		return s->near_ns;
	/* Waits are written when they end: they may overlap. */
	if ((__s64)distance_ns <= 0)
		return 0;
	add_files(c, other->sample.node, ROLE_LIBRARY, &others);
	add_files(c, other->sample.node, ROLE_RUNTIME, &others);
	if (distance_ns <= GAP_NS && share_one(files, &others) &&
	    python_of(c, other->sample.node) == python_of(c, s->sample.node))
		return distance_ns;
	return distance_ns / 2 < s->near_ns ? distance_ns / 2 : s->near_ns;
}

/* before, after: the same thread's; NULL: there is none. */
static int add_call(struct charging *c, const struct charging_sample *before,
		    const struct charging_sample *s, const struct charging_sample *after)
{
	const __u32 python = python_of(c, s->sample.node);
	struct call call = { .pid = s->sample.pid,
			     .tid = s->sample.tid,
			     .from_ns = begin_of(s),
			     .to_ns = s->to_ns,
			     .python = python };

	if (!python)
		return 0;
	add_files(c, s->sample.node, ROLE_LIBRARY, &call.files);
	add_files(c, s->sample.node, ROLE_RUNTIME, &call.files);
	if (!call.files.cnt)
		return 0;
	if (!s->is_wait) {
		const __u64 left = reach_to(c, s, &call.files, before,
					    before ? call.from_ns - before->to_ns : 0);
		const __u64 right = reach_to(c, s, &call.files, after,
					     after ? begin_of(after) - call.to_ns : 0);

		/* A file may say any times. */
		call.from_ns -= left < call.from_ns ? left : call.from_ns;
		call.to_ns += right < ~call.to_ns ? right : ~call.to_ns;
	}
	if (vec_reserve(c->calls, c->call_cap, c->call_cnt + 1))
		return -ENOMEM;
	c->calls[c->call_cnt++] = call;
	return 0;
}

/* The sample at that place of the order, if it is of that thread. */
static const struct charging_sample *of_thread(const struct charging *c, __u32 at, __u32 cnt,
					       const struct charging_sample *of)
{
	const struct charging_sample *s = at < cnt ? &c->held[c->order[at]] : NULL;

	return s && s->sample.pid == of->sample.pid && s->sample.tid == of->sample.tid ? s : NULL;
}

/* Of so many samples of Python threads in the order. */
static int find_calls(struct charging *c, __u32 cnt)
{
	int err = 0;

	c->call_cnt = 0;
	for (__u32 i = 0; i < cnt && !err; i++) {
		const struct charging_sample *s = &c->held[c->order[i]];

		err = add_call(c, i ? of_thread(c, i - 1, cnt, s) : NULL, s,
			       of_thread(c, i + 1, cnt, s));
	}
	if (c->call_cnt)
		qsort(c->calls, c->call_cnt, sizeof(*c->calls), compare_calls);
	return err;
}

/* ---- native threads ----------------------------------------------------------------------------- */

/* Forgets calls that have ended before that time, and those of other processes. */
static void close_calls(struct charging *c, const struct charging_sample *s)
{
	const __u32 cnt = c->open_cnt;

	c->open_cnt = 0;
	for (__u32 i = 0; i < cnt; i++) {
		const struct call *call = &c->calls[c->open[i]];

		if (call->pid == s->sample.pid && call->to_ns >= s->to_ns)
			c->open[c->open_cnt++] = c->open[i];
	}
}

static void open_call(struct charging *c, __u32 at)
{
	if (c->open_cnt < OPEN_MAX)
		c->open[c->open_cnt++] = at;
	else if (c->calls[at].to_ns > c->crowded_to_ns)
		c->crowded_to_ns = c->calls[at].to_ns;
}

/* The one that is in a call of these libraries at that time; NULL: none, or *ret_several. */
static const struct call *waiter(const struct charging *c, const struct files *files,
				 bool *ret_several)
{
	const struct call *found = NULL;

	*ret_several = false;
	for (__u32 i = 0; i < c->open_cnt && !*ret_several; i++) {
		const struct call *call = &c->calls[c->open[i]];

		if (!share_one(files, &call->files))
			continue;
		/* Two of a thread meet at one moment: it is in both, so to say. */
		*ret_several = found && found->tid != call->tid;
		found = call;
	}
	return *ret_several ? NULL : found;
}

static void charge_one(struct charging *c, struct charging_sample *s)
{
	const __u32 mark = native_thread_of(c, s->sample.node);
	struct files files = { 0 };
	const struct call *call;
	bool several;
	__u32 node;

	c->stats.samples++;
	add_files(c, s->sample.node, ROLE_LIBRARY, &files);
	if (!files.cnt)
		add_files(c, s->sample.node, ROLE_RUNTIME, &files);
	if (files.cnt && s->to_ns <= c->crowded_to_ns) {
		c->stats.several++;
		c->stats.crowded++;
		return;
	}
	call = waiter(c, &files, &several);
	c->stats.several += several;
	node = call ? charged(c, s->sample.node, mark, call->python) : 0;
	if (!node)
		return;
	s->sample.node = node;
	c->stats.charged++;
}

/* order: cnt samples of native threads. */
static void charge_all(struct charging *c, const __u32 *order, __u32 cnt)
{
	__u32 next = 0;

	c->open_cnt = 0;
	c->crowded_to_ns = 0;
	for (__u32 i = 0; i < cnt; i++) {
		struct charging_sample *s = &c->held[order[i]];

		if (i && c->held[order[i - 1]].sample.pid != s->sample.pid)
			c->crowded_to_ns = 0;
		close_calls(c, s);
		for (; next < c->call_cnt; next++) {
			const struct call *call = &c->calls[next];

			if (call->pid > s->sample.pid ||
			    (call->pid == s->sample.pid && call->from_ns > s->to_ns))
				break;
			if (call->pid == s->sample.pid && call->to_ns >= s->to_ns)
				open_call(c, next);
		}
		charge_one(c, s);
	}
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static int charge_held(struct charging *c)
{
	__u32 python_cnt = 0, native_cnt = 0;
	__u32 *natives;
	int err;

	free(c->order);
	c->order = calloc(2 * (size_t)c->held_cnt + 1, sizeof(*c->order));
	if (!c->order)
		return -ENOMEM;
	natives = c->order + c->held_cnt;
	for (__u32 i = 0; i < c->held_cnt; i++) {
		if (!native_thread_of(c, c->held[i].sample.node))
			c->order[python_cnt++] = i;
		else if (c->held[i].wanted && !c->held[i].is_wait)
			natives[native_cnt++] = i;
	}
	qsort_r(c->order, python_cnt, sizeof(*c->order), compare_samples, c->held);
	qsort_r(natives, native_cnt, sizeof(*natives), compare_times, c->held);
	err = find_calls(c, python_cnt);
	if (!err)
		charge_all(c, natives, native_cnt);
	return err;
}

static int pass_on(struct charging *c)
{
	int err = charge_held(c);

	for (__u32 i = 0; i < c->held_cnt && !err; i++) {
		struct profile_sample *s = &c->held[i].sample;

		if (!c->held[i].wanted)
			continue;
		s->node = strip(c, s->node);
		err = c->config.take(c->config.ctx, s);
	}
	c->held_cnt = 0;
	return err;
}

int charging__add(struct charging *c, const struct charging_sample *s)
{
	int err = c->held_cnt == HELD_MAX ? pass_on(c) : 0;

	if (!err)
		err = vec_reserve(c->held, c->held_cap, c->held_cnt + 1);
	if (!err)
		c->held[c->held_cnt++] = *s;
	return err;
}

int charging__finish(struct charging *c, struct charging_stats *ret)
{
	int err = pass_on(c);

	*ret = c->stats;
	return err;
}
