/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/dump/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/dump/look_list.h"
#include "look/dump/look_tasks.h"
#include "profile/thread_filter.h"
#include "record/samples/still.h"
#include "process/probe/identified.h"

struct look_process *look__new(pid_t pid)
{
	struct look_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->process.pid = pid;
	if (!strtab_init(&p->strings))
		return p;
	look__free(p);
	return NULL;
}

void look__free(struct look_process *p)
{
	if (!p)
		return;
	for (__u32 i = 0; i < p->thread_cnt; i++)
		look_thread_clear(&p->threads[i]);
	free(p->threads);
	free(p->interps);
	look_tasks__free(p->tasks);
	look__let_go(p);
	strtab_free(&p->strings);
	free(p);
}

/* It moved when its variables were to be read: its stack is of a later moment. */
static bool lacks_locals(const struct look_thread *t)
{
	return t->how == LOOK_INTERRUPTED ||
	       (t->how == LOOK_AT_REST && !(t->os.flags & PROBE_THREAD_HELD));
}

static bool any_lacks_locals(const struct look_process *p)
{
	for (__u32 i = 0; i < p->thread_cnt; i++)
		if (lacks_locals(&p->threads[i]))
			return true;
	return false;
}

__u32 look__unjoined(const struct look_process *p)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i < p->thread_cnt; i++)
		cnt += !p->threads[i].joined && p->threads[i].how != LOOK_ENDED;
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

/* ---- the process ------------------------------------------------------------------------------ */

static bool is_wanted(const struct look_process *p, const struct identified *found)
{
	const struct context *context = found->has_context ? &found->context : NULL;

	/* A process about which nothing is known may be the one that was meant. */
	if (!p->filter || (!context && !*p->process.comm))
		return true;
	return filter_matches(p->filter, p->process.comm, context, context ? found->cgroups : "");
}

/* Opens the process for reading: its descriptors stay bound to that one program image. */
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
	if (p->result)
		return p->result;
	p->named = still__open(p->still, &p->process, p->probed);
	p->result = p->named ? 0 : -ENOMEM;
	return p->result;
}

int look__take(struct look_process *p, struct prober *prober)
{
	return identify(p, prober) ? p->result : look_list_take(p, false);
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
	/* Only the kernel's part. */
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

/* The thread's variables: of those frames of its stack that still exist. */
static void take_moving(struct look_process *p, const struct probe_threads *l,
			const struct probe_thread *os)
{
	struct look_thread *t = look__thread(p, os->tid);
	struct look_thread now = { .os = *os };
	__u32 next = 0;

	if (!t || !lacks_locals(t) || !os->frame_cnt)
		return;
	now.os.flags |= PROBE_THREAD_HELD;
	if (!look_list_stack(p, &now, l, &next))
		look_thread_move_locals(&now, t);
	look_thread_clear(&now);
}

void look__take_moving(struct look_process *p)
{
	struct probe_threads_ask ask = {
		.offsets = p->process.offsets,
		.runtime_addr = p->process.runtime_addr,
		.locals = true,
		.moving = true,
	};
	struct probe_threads l;

	if (!p->locals || !p->probed || !any_lacks_locals(p) ||
	    still__begin(p->named, probed__memory(p->probed)))
		return;
	do {
		if (probed__threads(p->probed, &ask, &l))
			break;
		for (__u32 i = 0; i < l.thread_cnt; i++)
			take_moving(p, &l, &l.threads[i]);
		ask.first_tid = l.next_tid;
		probe_threads_free(&l);
	} while (ask.first_tid);
}

int look__again(struct look_process *p)
{
	return look_list_take(p, true);
}

void look__let_go(struct look_process *p)
{
	still__close(p->named);
	p->named = NULL;
	probed__free(p->probed);
	p->probed = NULL;
}

const char *look__thread_name(const struct look_process *p, const struct look_thread *t)
{
	return thread_name_shown(t->name, t->os.comm, p->process.comm);
}
