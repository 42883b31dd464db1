/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/dump/dump_tasks.h"
#include "cmd/common/printed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "look/dump/look_tasks.h"
#include "base/text/charset.h"
#include "base/system/clock.h"
#include "base/text/printable.h"
#include "base/text/short_path.h"

/* Levels of the tree that are drawn: a line's length grows with its depth. */
#define DEPTH_MAX 200

void dump_tasks_take(struct look_process *p, enum look_tasks_kind kind,
		     const struct look_process *before)
{
	if (!p->result)
		p->tasks = look_tasks__take(p, kind, before ? before->tasks : NULL);
}

bool dump_tasks_whole(const struct look_process *p)
{
	return p->tasks && !p->tasks->result && !p->tasks->changed && !p->tasks->cut;
}

static const char *why_not(const struct look_process *p)
{
	const bool greenlets = p->tasks && p->tasks->kind == LOOK_GREENLETS;

	switch (p->tasks ? p->tasks->result : -ENOMEM) {
	case -ENOTSUP:
		return "its tasks cannot be read: that needs CPython 3.14 or 3.15";
	case -EPROTONOSUPPORT:
		return "its greenlets cannot be read: krait does not know this version of greenlet, or this build of Python";
	case -EXFULL:
		return "its greenlets cannot be found: that needs a Python with a GIL";
	case -ENOENT:
		return greenlets ? "it has no greenlets: greenlet was never imported" :
				   "it has no asyncio tasks: asyncio was never imported";
	case -ENOMEM:
		return "they cannot be read: out of memory";
	case -ESRCH:
		return "they cannot be read: it has exited";
	default:
		return "krait could not read its memory";
	}
}

static void put_text(FILE *out, const char *text)
{
	char *shown = printable(text);

	fputs(shown ? shown : "?", out);
	free(shown);
}

static bool is_greenlets(const struct look_tasks *t)
{
	return t->kind == LOOK_GREENLETS;
}

/* ---- the tree --------------------------------------------------------------------------------- */

struct tree {
	FILE *out;
	const struct look_tasks *t;
	bool *drawn, *open; /* by task: already drawn above; on the path from the root to here */
	bool ascii; /* the locale is not UTF-8 */
	bool last[DEPTH_MAX]; /* by level: nothing comes below it */
};

static void put_branch(const struct tree *d, __u32 depth, bool last)
{
	for (__u32 i = 0; i < depth; i++)
		fputs(d->last[i] ? "    " : d->ascii ? "|   " : "│   ", d->out);
	if (d->ascii)
		fputs(last ? "`-- " : "|-- ", d->out);
	else
		fputs(last ? "└── " : "├── ", d->out);
}

/* Prints awaiters that are not in the list. */
static void print_unknown(FILE *out, const struct look_tasks *t, const struct look_task *task)
{
	if (is_greenlets(t))
		fputs(" [its parent has ended]", out);
	else
		fprintf(out, " [awaited by %u more]", task->unknown_waiters);
}

/* Frames may be missing. */
static bool is_cut(const struct look_task *task)
{
	return task->notes & (TASK_FRAMES | TASK_TORN | TASK_LIMIT);
}

/* Its coroutine runs: it is the running task, or creates that, or runs the loop that runs that. */
static bool is_on_stack(const struct look_tasks *t, const struct look_task *task)
{
	return !is_greenlets(t) && (task->runs || task->notes & TASK_LIVE);
}

static void put_notes(const struct tree *d, const struct look_task *task)
{
	if (task->runs)
		fputs(" [running]", d->out);
	else if (is_on_stack(d->t, task))
		fputs(" [on its thread's stack]", d->out);
	if (task->is_new)
		fputs(" [not begun]", d->out);
	if (task->notes & TASK_NO_COROUTINE)
		fputs(" [no coroutine of Python]", d->out);
	if (is_cut(task))
		fputs(" [changed while it was read]", d->out);
	if (task->unknown_waiters)
		print_unknown(d->out, d->t, task);
	if (!task->runs && !is_on_stack(d->t, task) && !task->is_new &&
	    task->since_ns < d->t->time_ns)
		fprintf(d->out, " [waits here for %.1f s or longer]",
			(double)(d->t->time_ns - task->since_ns) / NS_PER_SEC);
}

static void put_task(const struct tree *d, const struct look_task *task)
{
	fputs(is_greenlets(d->t) ? "(G) " : "(T) ", d->out);
	put_text(d->out, task->name ? task->name : "?");
	put_notes(d, task);
}

static void put_frame(const struct tree *d, const struct look_frame *f)
{
	fputc(' ', d->out);
	put_text(d->out, f->name);
	if (*f->file) {
		fputc(' ', d->out);
		put_text(d->out, short_path(f->file));
		if (f->line > 0)
			fprintf(d->out, ":%d", f->line);
	}
	fputc('\n', d->out);
}

/* Draws the task, its frames one level below each other, and below the innermost what it awaits. */
static void draw(struct tree *d, __u32 index, __u32 depth, bool last)
{
	const struct look_task *task = &d->t->tasks[index];
	bool again = d->drawn[index] && (task->frame_cnt || task->awaited_cnt);

	put_branch(d, depth, last);
	put_task(d, task);
	fputs(d->open[index] ? " [cycle: see above]\n" : again ? " [see above]\n" : "\n", d->out);
	d->drawn[index] = true;
	if (d->open[index] || again)
		return;
	d->last[depth++] = last;
	for (__u32 i = 0; i < task->frame_cnt && depth < DEPTH_MAX - 1; i++) {
		put_branch(d, depth, true);
		put_frame(d, &d->t->frames[task->first_frame + i]);
		d->last[depth++] = true;
	}
	if (depth >= DEPTH_MAX - 1) {
		put_branch(d, depth - 1, true);
		fputs("[deeper than is drawn]\n", d->out);
		return;
	}
	d->open[index] = true;
	for (__u32 i = 0; i < task->awaited_cnt; i++)
		draw(d, d->t->awaited[task->first_awaited + i], depth, i + 1 == task->awaited_cnt);
	d->open[index] = false;
}

static void put_thread(const struct tree *d, const struct look_process *p, __u64 id)
{
	fputs("  ", d->out);
	if (!id) {
		fputs(is_greenlets(d->t) ?
			      "greenlets of threads that have ended or never switched\n" :
			      "tasks of threads that have ended\n",
		      d->out);
		return;
	}
	fprintf(d->out, "thread %llu", (unsigned long long)id);
	for (__u32 i = 0; i < p->thread_cnt; i++) {
		if ((__u64)p->threads[i].os.ns_tid != id)
			continue;
		fputs(" (", d->out);
		put_text(d->out, look__thread_name(p, &p->threads[i]));
		fputc(')', d->out);
	}
	fputc('\n', d->out);
}

/*
 * Draws tasks that nobody awaits, then for each cycle, which has no first task, the first one in
 * the list.
 */
static void draw_thread(struct tree *d, __u64 thread_id)
{
	for (int circles = 0; circles < 2; circles++) {
		for (__u32 i = 0; i < d->t->task_cnt; i++) {
			const struct look_task *task = &d->t->tasks[i];

			if (task->thread_id == thread_id && !d->drawn[i] &&
			    (circles || !task->waiter_cnt))
				draw(d, i, 0, true);
		}
	}
}

static void draw_all(struct tree *d, const struct look_process *p)
{
	for (__u32 i = 0; i < d->t->task_cnt; i++) {
		const __u64 id = d->t->tasks[i].thread_id;
		bool first = true;

		/* A thread's tasks are nearly always adjacent. */
		if (i && d->t->tasks[i - 1].thread_id == id)
			continue;
		for (__u32 j = i; j-- > 0 && first;)
			first = d->t->tasks[j].thread_id != id;
		if (!first)
			continue;
		put_thread(d, p, id);
		draw_thread(d, id);
	}
}

static void print_head(FILE *out, const struct look_process *p)
{
	fprintf(out, "%d ", (int)p->process.pid);
	put_text(out, p->process.comm);
	if (p->tasks && !p->tasks->result)
		fprintf(out, ": %u %s%s", p->tasks->task_cnt,
			is_greenlets(p->tasks) ? "greenlet" : "task",
			p->tasks->task_cnt == 1 ? "" : "s");
	if (p->tasks && p->tasks->changed)
		fputs(" (they changed while they were read: some may be missing)", out);
	if (p->tasks && p->tasks->cut)
		fputs(" (there are more than are listed)", out);
	fputc('\n', out);
}

void dump_tasks_print(FILE *out, const struct look_process *p)
{
	struct tree d = { .out = out, .t = p->tasks, .ascii = !charset_is_utf8() };

	print_head(out, p);
	if (p->result) {
		fputs("  ", out);
		put_text(out, p->process.why);
		fputc('\n', out);
		return;
	}
	if (!p->tasks || p->tasks->result) {
		fprintf(out, "  %s\n", why_not(p));
		return;
	}
	d.drawn = calloc(p->tasks->task_cnt + 1, sizeof(*d.drawn));
	d.open = calloc(p->tasks->task_cnt + 1, sizeof(*d.open));
	if (d.drawn && d.open)
		draw_all(&d, p);
	else
		fputs("  out of memory\n", out);
	free(d.drawn);
	free(d.open);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void put_frames(struct json *j, const struct look_tasks *t, const struct look_task *task)
{
	json_put_array(j, "frames");
	for (__u32 i = 0; i < task->frame_cnt; i++) {
		const struct look_frame *f = &t->frames[task->first_frame + i];

		json_open_object(j);
		json_put_string(j, "name", f->name);
		json_put_string(j, "file", f->file);
		if (f->line > 0)
			json_put_number(j, "line", f->line);
		json_close_object(j);
	}
	json_close_array(j);
}

static void put_json_task(struct json *j, const struct look_tasks *t, __u32 index)
{
	const struct look_task *task = &t->tasks[index];

	json_open_object(j);
	json_put_number(j, "id", index);
	if (task->name)
		json_put_string(j, "name", task->name);
	json_put_number(j, "thread", (__s64)task->thread_id);
	json_put_bool(j, "running", task->runs);
	if (!is_greenlets(t))
		json_put_bool(j, "on_stack", is_on_stack(t, task));
	json_put_bool(j, "changed", is_cut(task));
	if (is_greenlets(t))
		json_put_bool(j, "begun", !task->is_new);
	json_put_number(j, "waits_at_least_ns", (__s64)(t->time_ns - task->since_ns));
	put_frames(j, t, task);
	json_put_array(j, is_greenlets(t) ? "children" : "awaits");
	for (__u32 i = 0; i < task->awaited_cnt; i++)
		json_number(j, t->awaited[task->first_awaited + i]);
	json_close_array(j);
	json_close_object(j);
	json_newline(j);
}

void dump_tasks_put_json(struct json *j, const struct look_process *p, unsigned look)
{
	json_open_object(j);
	printed_json_row(j, "dump");
	json_put_number(j, "look", look);
	json_put_number(j, "pid", p->process.pid);
	json_put_string(j, "command", p->process.comm);
	if (p->result || !p->tasks || p->tasks->result) {
		json_put_string(j, "error", p->result ? p->process.why : why_not(p));
	} else {
		json_put_bool(j, "whole", dump_tasks_whole(p));
		json_put_array(j, is_greenlets(p->tasks) ? "greenlets" : "tasks");
		for (__u32 i = 0; i < p->tasks->task_cnt; i++)
			put_json_task(j, p->tasks, i);
		json_close_array(j);
	}
	json_close_object(j);
	json_newline(j);
}
