/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/dump/look_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/core/core.h"
#include "look/dump/look.h"
#include "look/dump/look_stack.h"
#include "profile/thread_filter.h"
#include "record/samples/still.h"
#include "python/code/symbolizer.h"
#include "process/probe/probed.h"
#include "base/text/printable.h"
#include "base/data/vec.h"

/* Threads of one process to show. */
#define THREADS_SHOWN_MAX 16384U

/* The thread for that list element; NULL: it needs nothing, or there is no room. */
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

/* From the first list: the holder of a GIL must be of the same moment as its threads. */
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

static void note_other(struct look_process *p, const struct probe_threads *l,
		       const struct probe_thread *os)
{
	char name[sizeof(p->others.most[0].name)];

	printable_into(name, sizeof(name),
		       thread_name_shown(os->name ? l->texts + os->name : NULL, os->comm,
					 p->process.comm));
	mentions_add(&p->others, os->tid, name, 1);
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
		const bool wanted = is_wanted_thread(p, l, &l->threads[i]);
		struct look_thread *t = wanted ? thread_of(p, &l->threads[i], again) : NULL;

		if (!wanted && !again)
			note_other(p, l, &l->threads[i]);
		if (!t)
			continue;
		t->os = l->threads[i];
		err = take_name(t, l);
		if (!err)
			err = look_stack_take(t, symbolizer, l, &p->join, &next_local);
	}
	return err;
}

static int list_threads(struct look_process *p, const struct probe_threads_ask *ask,
			struct probe_threads *ret)
{
	return p->core ? core__threads(p->core, ask, ret) : probed__threads(p->probed, ask, ret);
}

/* Notes the mappings for native frames before the threads stand still. Returns 0 or -ENOMEM. */
static int prepare_join(struct look_process *p)
{
	if (!p->still || p->core || p->join.process)
		return 0;
	p->join.process = still__open(p->still, &p->process, p->probed);
	return p->join.process ? 0 : -ENOMEM;
}

static int take_threads(struct look_process *p, bool again)
{
	const struct memory *memory = p->core ? core__memory(p->core) : probed__memory(p->probed);
	struct probe_threads_ask ask = {
		.offsets = p->process.offsets,
		.runtime_addr = p->process.runtime_addr,
		.locals = p->locals,
		.pause = p->pause,
		.stacks = p->still,
	};
	struct symbolizer *symbolizer = symbolizer__new(&p->process.offsets, memory);
	struct probe_threads l;
	int err = symbolizer ? prepare_join(p) : -ENOMEM;

	while (!err) {
		err = list_threads(p, &ask, &l);
		/* Check them afterwards: the list is from the time in between. */
		if (!err && p->join.process && !p->core)
			still__check(p->join.process);
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

static const char *why_not(const struct look_process *p, int err)
{
	if (err == -ESRCH)
		return "it has exited";
	if (err == -EPERM && p->pause)
		return "a debugger traces it already, or krait lacks the right to trace it";
	if ((err == -ETIMEDOUT || err == -EAGAIN) && p->pause)
		return "that took too long";
	if (err == -ETIMEDOUT || err == -EAGAIN)
		return "its memory does not come, or krait's helper got no CPU";
	return strerror(-err);
}

int look_list_take(struct look_process *p, bool again)
{
	int err = take_threads(p, again);

	if (err && !p->thread_cnt) {
		p->result = err;
		snprintf(p->process.why, sizeof(p->process.why), "its threads could not be %s: %s",
			 p->pause ? "paused" : "listed", why_not(p, err));
	}
	/* Nobody asks for a thread that does not exist. */
	if (!err && !p->thread_cnt && p->others.cnt) {
		char given[96], there[128];

		thread_filter_say(p->thread, given, sizeof(given));
		mentions_say(&p->others, there, sizeof(there));
		p->result = -ENOENT;
		snprintf(p->process.why, sizeof(p->process.why),
			 "no thread matches %.95s (its threads: %.120s)", given, there);
	}
	return p->result;
}
