/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/look_tasks.h"
#include "core/core.h"
#include "profile/marks.h"
#include "profile/thread_filter.h"
#include "symbol/linetable.h"
#include "symbol/symbolizer.h"
#include "target/identified.h"
#include "target/py_builtin_offsets.h"
#include "util/vec.h"

/* Threads of one process that are shown. */
#define THREADS_SHOWN_MAX 16384U

struct look_process *look__new(pid_t pid)
{
	struct look_process *p = calloc(1, sizeof(*p));

	if (p)
		p->process.pid = pid;
	return p;
}

static void free_locals(struct look_frame *f)
{
	for (__u32 i = 0; i < f->local_cnt; i++) {
		free(f->locals[i].name);
		free(f->locals[i].value);
	}
	free(f->locals);
}

void look_thread_clear(struct look_thread *t)
{
	for (__u32 i = 0; i < t->frame_cnt; i++) {
		free_locals(&t->frames[i]);
		free(t->frames[i].name);
		free(t->frames[i].file);
	}
	t->frame_cnt = 0;
}

void look__free(struct look_process *p)
{
	if (!p)
		return;
	for (__u32 i = 0; i < p->thread_cnt; i++) {
		look_thread_clear(&p->threads[i]);
		free(p->threads[i].frames);
		free(p->threads[i].name);
	}
	free(p->threads);
	free(p->interps);
	look_tasks__free(p->tasks);
	probed__free(p->probed);
	free(p);
}

struct look_frame *look_thread_add(struct look_thread *t, const char *name, const char *file,
				   int line)
{
	struct look_frame f = { .name = strdup(name), .file = strdup(file), .line = line };

	if (f.name && f.file && !vec_reserve(t->frames, t->frame_cap, t->frame_cnt + 1)) {
		t->frames[t->frame_cnt] = f;
		return &t->frames[t->frame_cnt++];
	}
	free(f.name);
	free(f.file);
	return NULL;
}

static int add_mark(struct look_thread *t, const char *name)
{
	struct look_frame *f = look_thread_add(t, name, "", -1);

	if (f)
		f->mark = true;
	return f ? 0 : -ENOMEM;
}

/* ---- native frames ------------------------------------------------------------------------------ */

/* The next frame of Python from i on; frame_cnt: there is none. */
static __u32 next_python(const struct look_thread *t, __u32 i)
{
	while (i < t->frame_cnt && (t->frames[i].native || t->frames[i].mark))
		i++;
	return i;
}

static bool is_same_place(const struct look_frame *a, const struct look_frame *b)
{
	return a->line == b->line && !strcmp(a->name, b->name) && !strcmp(a->file, b->file);
}

/* Frames of Python, by name and line; each gets the other's variables where change is set. */
static bool same_python(struct look_thread *from, struct look_thread *to, bool change)
{
	__u32 i = next_python(from, 0), k = next_python(to, 0);

	for (; i < from->frame_cnt && k < to->frame_cnt;
	     i = next_python(from, i + 1), k = next_python(to, k + 1)) {
		struct look_frame *a = &from->frames[i], *b = &to->frames[k];

		if (!is_same_place(a, b))
			return false;
		if (!change)
			continue;
		b->locals = a->locals;
		b->local_cnt = a->local_cnt;
		a->locals = NULL;
		a->local_cnt = 0;
	}
	return i >= from->frame_cnt && k >= to->frame_cnt;
}

/* The last frame of Python before i, or frame_cnt. */
static __u32 last_python(const struct look_thread *t, __u32 i)
{
	while (i-- > 0)
		if (!t->frames[i].native && !t->frames[i].mark)
			return i;
	return t->frame_cnt;
}

/*
 * From the root on, as long as both stacks are in the same function, and at the same call in it; in the first one where they
 * differ in that, they are in the same run of it still.
 */
static void move_locals(struct look_thread *from, struct look_thread *to)
{
	__u32 i = last_python(from, from->frame_cnt), k = last_python(to, to->frame_cnt);

	while (i < from->frame_cnt && k < to->frame_cnt) {
		struct look_frame *a = &from->frames[i], *b = &to->frames[k];

		if (strcmp(a->name, b->name) || strcmp(a->file, b->file))
			return;
		free_locals(b);
		b->locals = a->locals;
		b->local_cnt = a->local_cnt;
		a->locals = NULL;
		a->local_cnt = 0;
		if (a->line != b->line)
			return;
		i = last_python(from, i);
		k = last_python(to, k);
	}
}

static bool has_interrupted(const struct look_process *p)
{
	for (__u32 i = 0; i < p->thread_cnt; i++)
		if (p->threads[i].how == LOOK_INTERRUPTED)
			return true;
	return false;
}

void look_thread_join(struct look_thread *t, struct look_thread *from, bool at_rest)
{
	const struct look_thread old = *t;

	if (t->how == LOOK_AT_REST && same_python(t, from, false))
		same_python(t, from, true);
	else if (t->how != LOOK_NATIVE)
		t->how = at_rest ? LOOK_AT_REST : LOOK_INTERRUPTED;
	look_thread_clear(t);
	t->frames = from->frames;
	t->frame_cnt = from->frame_cnt;
	t->frame_cap = from->frame_cap;
	t->joined = true;
	from->frames = old.frames;
	from->frame_cap = old.frame_cap;
	from->frame_cnt = 0;
}

__u32 look__unjoined(const struct look_process *p)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i < p->thread_cnt; i++)
		cnt += !p->threads[i].joined;
	return cnt;
}

bool look_thread_equal(const struct look_thread *a, const struct look_thread *b)
{
	if (a->how != b->how || a->frame_cnt != b->frame_cnt || a->os.state != b->os.state ||
	    a->os.syscall != b->os.syscall)
		return false;
	for (__u32 i = 0; i < a->frame_cnt; i++)
		if (!is_same_place(&a->frames[i], &b->frames[i]))
			return false;
	return true;
}

struct look_thread *look__thread(struct look_process *p, pid_t tid)
{
	for (__u32 i = 0; i < p->thread_cnt; i++)
		if (p->threads[i].os.tid == tid)
			return &p->threads[i];
	return NULL;
}

__u32 look__missing(const struct look_process *p)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i < p->thread_cnt; i++)
		cnt += p->threads[i].how == LOOK_NONE;
	return cnt;
}

const struct look_thread *look__gil_holder(const struct look_process *p,
					   const struct probe_interp *i)
{
	for (__u32 k = 0; i->gil == PROBE_GIL_HELD && i->holder && k < p->thread_cnt; k++)
		if (p->threads[k].os.ns_tid == (pid_t)i->holder)
			return &p->threads[k];
	return NULL;
}

/* ---- names ------------------------------------------------------------------------------------ */

/* What a frame is called; none of its own where the interpreter has it for itself. */
static int name_frame(struct look_thread *t, struct symbolizer *symbolizer, const struct frame *f)
{
	const struct code_query query = {
		.code_addr = f->code_addr,
		.fingerprint = f->fingerprint,
		.instr_off = f->instr_off,
	};
	struct source_position position = { -1, -1, -1, -1 };
	struct code_symbol code;

	/* Entry frames stand for C code. */
	if (!f->code_addr)
		return 0;
	if (symbolizer__resolve(symbolizer, &query, &code, &position) != SYMBOL_OK)
		return add_mark(t, NAME_UNREADABLE);
	if (code_symbol_is_internal(&code))
		return 0;
	return look_thread_add(t, code.qualname, code.filename, position.line) ? 0 : -ENOMEM;
}

static const char *why_lost(enum reason reason)
{
	switch (reason) {
	case REASON_CYCLE:
		return "its frames run in a circle";
	case REASON_BAD_FRAME:
		return "one of its frames makes no sense";
	default:
		return "its memory could not be read";
	}
}

/*
 * The variables of a frame of the list, into the one named last. *next: those before it were of frames that came
 * before; both are in the same order.
 */
static int take_locals(struct look_thread *t, const struct probe_threads *l, __u32 frame,
		       __u32 *next)
{
	struct look_frame *f = &t->frames[t->frame_cnt - 1];
	__u32 first = *next, end;

	while (first < l->local_cnt && l->locals[first].frame < frame)
		first++;
	for (end = first; end < l->local_cnt && l->locals[end].frame == frame;)
		end++;
	*next = end;
	if (first == end)
		return 0;
	f->locals = calloc(end - first, sizeof(*f->locals));
	if (!f->locals)
		return -ENOMEM;
	for (; first < end; first++) {
		struct look_local *new = &f->locals[f->local_cnt++];

		new->name = strdup(l->texts + l->locals[first].name);
		new->value = strdup(l->texts + l->locals[first].value);
		new->changed = l->locals[first].changed;
		if (!new->name || !new->value)
			return -ENOMEM;
	}
	return 0;
}

/* From what the prober has found. */
static int take_stack(struct look_thread *t, struct symbolizer *symbolizer,
		      const struct probe_threads *l, __u32 *next_local)
{
	const struct probe_thread *os = &t->os;
	char mark[MARK_SIZE];
	int err = 0;

	if (!(os->flags & PROBE_THREAD_PYTHON)) {
		t->how = LOOK_NATIVE;
		return 0;
	}
	if (!(os->flags & PROBE_THREAD_HELD)) {
		t->why = "it did not hold still";
		return 0;
	}
	if (reason_outcome(os->reason) == OUTCOME_LOST) {
		t->why = why_lost(os->reason);
		return 0;
	}
	for (__u32 i = 0; i < os->frame_cnt && !err; i++) {
		const __u32 named = t->frame_cnt, frame = os->first_frame + i;

		err = name_frame(t, symbolizer, &l->frames[frame]);
		if (!err && t->frame_cnt > named)
			err = take_locals(t, l, frame, next_local);
	}
	if (!err && reason_outcome(os->reason) == OUTCOME_TRUNCATED) {
		mark_truncated(mark, os->reason);
		err = add_mark(t, mark);
	}
	t->how = LOOK_AT_REST;
	return err;
}

/* ---- threads ---------------------------------------------------------------------------------- */

/* The thread of that list's element; NULL: it needs nothing, or there is no room. */
static struct look_thread *thread_of(struct look_process *p, const struct probe_thread *os,
				     bool again)
{
	struct look_thread *t = again ? look__thread(p, os->tid) : NULL;

	if (t)
		return t->how == LOOK_NONE ? t : NULL;
	if (p->thread_cnt == THREADS_SHOWN_MAX) {
		p->cut = true;
		return NULL;
	}
	if (vec_reserve(p->threads, p->thread_cap, p->thread_cnt + 1))
		return NULL;
	t = &p->threads[p->thread_cnt++];
	*t = (struct look_thread){ .how = LOOK_NONE };
	return t;
}

static int compare_interps(const void *a, const void *b)
{
	const struct probe_interp *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Of the first list: who has a GIL is to be of the moment at which its threads were looked at. */
static int take_interps(struct look_process *p, const struct probe_threads *l)
{
	if (p->interps || !l->interp_cnt)
		return 0;
	p->interps = malloc(l->interp_cnt * sizeof(*p->interps));
	if (!p->interps)
		return -ENOMEM;
	memcpy(p->interps, l->interps, l->interp_cnt * sizeof(*p->interps));
	p->interp_cnt = l->interp_cnt;
	qsort(p->interps, p->interp_cnt, sizeof(*p->interps), compare_interps);
	return 0;
}

static int take_name(struct look_thread *t, const struct probe_threads *l)
{
	free(t->name);
	t->name = NULL;
	if (!t->os.name)
		return 0;
	t->name = strdup(l->texts + t->os.name);
	return t->name ? 0 : -ENOMEM;
}

/* By its name in the program, or the kernel's. */
static bool is_wanted_thread(const struct look_process *p, const struct probe_threads *l,
			     const struct probe_thread *os)
{
	return !p->thread || thread_filter_wants(p->thread, p->process.pid, os->tid, os->comm) ||
	       (os->name &&
		thread_filter_wants(p->thread, p->process.pid, os->tid, l->texts + os->name));
}

static int take_list(struct look_process *p, struct symbolizer *symbolizer,
		     const struct probe_threads *l, bool again)
{
	__u32 next_local = 0;
	int err = take_interps(p, l);

	if (l->pause_ns) {
		p->pause_ns += l->pause_ns;
		p->pause_cnt++;
	}
	for (__u32 i = 0; i < l->thread_cnt && !err; i++) {
		struct look_thread *t = is_wanted_thread(p, l, &l->threads[i]) ?
						thread_of(p, &l->threads[i], again) :
						NULL;

		if (!t)
			continue;
		t->os = l->threads[i];
		err = take_name(t, l);
		if (!err)
			err = take_stack(t, symbolizer, l, &next_local);
	}
	return err;
}

static int list_threads(struct look_process *p, const struct probe_threads_ask *ask,
			struct probe_threads *ret)
{
	return p->core ? core__threads(p->core, ask, ret) : probed__threads(p->probed, ask, ret);
}

static int take_threads(struct look_process *p, bool again)
{
	const struct memory *memory = p->core ? core__memory(p->core) : probed__memory(p->probed);
	struct probe_threads_ask ask = {
		.offsets = p->process.offsets,
		.runtime_addr = p->process.runtime_addr,
		.locals = p->locals,
		.pause = p->pause,
	};
	struct symbolizer *symbolizer = symbolizer__new(&p->process.offsets, memory);
	struct probe_threads l;
	int err = symbolizer ? 0 : -ENOMEM;

	while (!err) {
		err = list_threads(p, &ask, &l);
		if (!err)
			err = take_list(p, symbolizer, &l, again);
		ask.first_tid = l.next_tid;
		p->cut = p->cut || l.locals_cut;
		probe_threads_free(&l);
		if (!ask.first_tid || p->cut)
			break;
	}
	symbolizer__free(symbolizer);
	return err;
}

/* ---- the process ------------------------------------------------------------------------------ */

static bool is_wanted(const struct look_process *p, const struct identified *found)
{
	const struct context *context = found->has_context ? &found->context : NULL;

	/* One of which nothing is known may be the one that was meant. */
	if (!p->filter || (!context && !*p->process.comm))
		return true;
	return filter_matches(p->filter, p->process.comm, context, context ? found->cgroups : "");
}

/* The process as something to be read: its descriptors stay those of that one program image. */
static int identify(struct look_process *p, struct prober *prober)
{
	struct identified *found = calloc(1, sizeof(*found));

	if (!found)
		return -ENOMEM;
	found->process.pid = p->process.pid;
	p->result = identified_wait(prober, found, &p->probed);
	p->process = found->process;
	p->has_info = found->has_info;
	p->info = found->info;
	if (p->probed)
		probed__close_file(p->probed);
	if (!is_wanted(p, found)) {
		p->unwanted = true;
		p->result = p->result ? p->result : -ENOEXEC;
	}
	free(found);
	return p->result;
}

static const char *why_not(const struct look_process *p, int err)
{
	if (err == -ESRCH)
		return "it has gone away meanwhile";
	if (err == -EPERM && p->pause)
		return "a debugger traces it already, or it may not be traced";
	if ((err == -ETIMEDOUT || err == -EAGAIN) && p->pause)
		return "that took too long";
	return strerror(-err);
}

static int take(struct look_process *p, bool again)
{
	int err = take_threads(p, again);

	if (err && !p->thread_cnt) {
		p->result = err;
		snprintf(p->process.why, sizeof(p->process.why), "its threads could not be %s: %s",
			 p->pause ? "paused" : "listed", why_not(p, err));
	}
	return p->result;
}

int look__take(struct look_process *p, struct prober *prober)
{
	return identify(p, prober) ? p->result : take(p, false);
}

static void mark_moved(struct look_process *p, const struct probe_threads *l)
{
	for (__u32 i = 0; i < l->thread_cnt; i++) {
		struct look_thread *t = look__thread(p, l->threads[i].tid);

		if (!t || !t->joined || t->os.runs == l->threads[i].runs)
			continue;
		for (__u32 k = 0; k < t->frame_cnt; k++)
			for (__u32 n = 0; n < t->frames[k].local_cnt; n++)
				t->frames[k].locals[n].changed = true;
	}
}

void look__check_locals(struct look_process *p)
{
	/* The kernel's part alone. */
	struct probe_threads_ask ask = { .first_tid = 0 };
	struct probe_threads l;

	if (!p->locals || !p->probed)
		return;
	do {
		if (probed__threads(p->probed, &ask, &l))
			return;
		mark_moved(p, &l);
		ask.first_tid = l.next_tid;
		probe_threads_free(&l);
	} while (ask.first_tid);
}

/* From the root on, as long as the thread is still where its stack says, the variables of these frames. */
static void take_moving(struct look_process *p, struct symbolizer *symbolizer,
			const struct probe_threads *l, const struct probe_thread *os)
{
	struct look_thread *t = look__thread(p, os->tid);
	struct look_thread now = { .os = *os };
	__u32 next = 0;

	if (!t || t->how != LOOK_INTERRUPTED || !os->frame_cnt)
		return;
	now.os.flags |= PROBE_THREAD_HELD;
	if (!take_stack(&now, symbolizer, l, &next))
		move_locals(&now, t);
	look_thread_clear(&now);
	free(now.frames);
}

void look__take_moving(struct look_process *p)
{
	struct probe_threads_ask ask = {
		.offsets = p->process.offsets,
		.runtime_addr = p->process.runtime_addr,
		.locals = true,
		.moving = true,
	};
	struct symbolizer *symbolizer;
	struct probe_threads l;

	if (!p->locals || !p->probed || !has_interrupted(p))
		return;
	symbolizer = symbolizer__new(&p->process.offsets, probed__memory(p->probed));
	do {
		if (!symbolizer || probed__threads(p->probed, &ask, &l))
			break;
		for (__u32 i = 0; i < l.thread_cnt; i++)
			take_moving(p, symbolizer, &l, &l.threads[i]);
		ask.first_tid = l.next_tid;
		probe_threads_free(&l);
	} while (ask.first_tid);
	symbolizer__free(symbolizer);
}

int look__again(struct look_process *p)
{
	return take(p, true);
}

/* Its offsets are made of its memory here, or are krait's own: nothing but places is believed of the reader. */
static int take_offsets(struct look_process *p, const struct core_python *python)
{
	const struct memory *memory = core__memory(p->core);
	__u8 table[PY_TABLE_MAX];
	const struct py_offsets *builtin;

	p->process.runtime_addr = python->runtime_addr;
	p->process.version = python->version;
	if (memory_read(memory, python->runtime_addr, table, sizeof(table)))
		return -EFAULT;
	if (py_debug_table_has_cookie(table, sizeof(table)))
		return py_offsets_parse(table, sizeof(table), &p->process.offsets, p->process.why,
					sizeof(p->process.why));
	builtin = py_builtin_offsets_find(python->version >> 16 & 0xff);
	if (!builtin)
		return -ENOTSUP;
	p->process.offsets = *builtin;
	p->process.offsets.version = python->version;
	return 0;
}

int look__take_core(struct look_process *p, struct core *core)
{
	struct core_python python;

	p->core = core;
	p->result = core__python(core, &python, p->process.why, sizeof(p->process.why));
	if (!p->result)
		p->result = take_offsets(p, &python);
	if (p->result)
		return p->result;
	snprintf(p->process.file, sizeof(p->process.file), "%s", python.file);
	return take(p, false);
}

void look__let_go(struct look_process *p)
{
	probed__free(p->probed);
	p->probed = NULL;
}
