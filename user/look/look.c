/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/look_stack.h"
#include "look/look_tasks.h"
#include "core/core.h"
#include "profile/thread_filter.h"
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

static bool has_interrupted(const struct look_process *p)
{
	for (__u32 i = 0; i < p->thread_cnt; i++)
		if (p->threads[i].how == LOOK_INTERRUPTED)
			return true;
	return false;
}

__u32 look__unjoined(const struct look_process *p)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i < p->thread_cnt; i++)
		cnt += !p->threads[i].joined;
	return cnt;
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
			err = look_stack_take(t, symbolizer, l, &next_local);
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
	if (!look_stack_take(&now, symbolizer, l, &next))
		look_thread_move_locals(&now, t);
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
