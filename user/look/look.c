/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/marks.h"
#include "symbol/linetable.h"
#include "symbol/symbolizer.h"
#include "target/probed.h"
#include "target/prober.h"
#include "util/clock.h"
#include "util/vec.h"

/* Threads of one process that are shown. */
#define THREADS_SHOWN_MAX 16384U
/* How long identifying may take, where debug information has to be read. */
#define IDENTIFY_NS (5 * NS_PER_SEC)
#define IDENTIFY_PAUSE_MS 20

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
	}
	free(p->threads);
	free(p);
}

int look_thread_add(struct look_thread *t, const char *name, const char *file, int line, bool mark)
{
	struct look_frame f = {
		.name = strdup(name), .file = strdup(file), .line = line, .mark = mark
	};

	if (f.name && f.file && !vec_reserve(t->frames, t->frame_cap, t->frame_cnt + 1)) {
		t->frames[t->frame_cnt++] = f;
		return 0;
	}
	free(f.name);
	free(f.file);
	return -ENOMEM;
}

bool look_thread_equal(const struct look_thread *a, const struct look_thread *b)
{
	if (a->how != b->how || a->frame_cnt != b->frame_cnt || a->os.state != b->os.state ||
	    a->os.syscall != b->os.syscall)
		return false;
	for (__u32 i = 0; i < a->frame_cnt; i++)
		if (a->frames[i].line != b->frames[i].line ||
		    strcmp(a->frames[i].name, b->frames[i].name) ||
		    strcmp(a->frames[i].file, b->frames[i].file))
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
		return look_thread_add(t, NAME_UNREADABLE, "", -1, true);
	if (code_symbol_is_internal(&code))
		return 0;
	return look_thread_add(t, code.qualname, code.filename, position.line, false);
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
		err = look_thread_add(t, mark, "", -1, true);
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

static int take_list(struct look_process *p, struct symbolizer *symbolizer,
		     const struct probe_threads *l, bool again)
{
	__u32 next_local = 0;
	int err = 0;

	for (__u32 i = 0; i < l->thread_cnt && !err; i++) {
		struct look_thread *t = thread_of(p, &l->threads[i], again);

		if (!t)
			continue;
		t->os = l->threads[i];
		err = take_stack(t, symbolizer, l, &next_local);
	}
	return err;
}

static int take_threads(struct look_process *p, struct probed *probed, bool again)
{
	struct probe_threads_ask ask = {
		.offsets = p->process.offsets,
		.runtime_addr = p->process.runtime_addr,
		.locals = p->locals,
	};
	struct symbolizer *symbolizer =
		symbolizer__new(&p->process.offsets, probed__memory(probed));
	struct probe_threads l;
	int err = symbolizer ? 0 : -ENOMEM;

	while (!err) {
		err = probed__threads(probed, &ask, &l);
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

struct identifying {
	struct look_process *look;
	struct prober *prober;
	struct probed *probed;
	bool done;
};

static void on_identified(void *ctx, int result, const void *data, size_t len,
			  int fds[PROBE_FDS_MAX])
{
	struct identifying *i = ctx;
	const struct probe_found *found = data;
	struct look_process *p = i->look;

	i->done = true;
	p->result = result;
	if (data && len >= sizeof(found->process))
		p->process = found->process;
	else
		snprintf(p->process.why, sizeof(p->process.why), "%s",
			 result == -ETIMEDOUT ? PROBED_HUNG :
			 result == -EUSERS    ? PROBED_OWNER_REFUSED :
						strerror(-result));
	if (data && len > offsetof(struct probe_found, cgroups) && found->has_info) {
		p->info = found->info;
		p->has_info = true;
	}
	if (!result && data && p->filter &&
	    !filter_matches(p->filter, p->process.comm, &found->context, found->cgroups)) {
		p->unwanted = true;
		p->result = -ENOEXEC;
		return;
	}
	if (!result && data)
		i->probed = probed__new(i->prober, found, len, fds);
}

/* The process as something to be read, or NULL: look->result. */
static struct probed *identify(struct look_process *p, struct prober *prober)
{
	const struct probe_request r = { .op = PROBE_IDENTIFY,
					 .pid = p->process.pid,
					 .want_info = true };
	struct identifying i = { .look = p, .prober = prober };
	const __u64 end_ns = clock_monotonic_ns() + IDENTIFY_NS;

	for (;;) {
		i.done = false;
		p->result = prober__ask(prober, PROBER_LATER, &r, NULL, 0, on_identified, &i);
		if (p->result)
			return NULL;
		while (!i.done && clock_monotonic_ns() < end_ns)
			prober__wait(prober, IDENTIFY_PAUSE_MS);
		if (!i.done) {
			prober__forget(prober, &i);
			p->result = -ETIMEDOUT;
			snprintf(p->process.why, sizeof(p->process.why), "%s", PROBED_HUNG);
		}
		if (p->result != -EINPROGRESS || clock_monotonic_ns() >= end_ns)
			return i.probed;
		prober__wait(prober, IDENTIFY_PAUSE_MS);
	}
}

static int take(struct look_process *p, struct prober *prober, bool again)
{
	struct probed *probed = identify(p, prober);
	int err;

	if (!probed)
		return p->result ? p->result : -ENOMEM;
	err = take_threads(p, probed, again);
	probed__free(probed);
	if (err && !p->thread_cnt)
		p->result = err;
	return p->result;
}

int look__take(struct look_process *p, struct prober *prober)
{
	return take(p, prober, false);
}

int look__again(struct look_process *p, struct prober *prober)
{
	return take(p, prober, true);
}
