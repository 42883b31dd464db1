/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/dump/dump_print.h"
#include "cmd/common/printed.h"

#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "record/samples/wait_state.h"
#include "base/text/printable.h"
#include "base/text/short_path.h"

#define NAME_SHOWN 512

/* A value has a bound of its own (look/dump/values.h). */
static void put_value(FILE *out, const char *text)
{
	char *safe = printable(text);

	fputs(safe ? safe : "?", out);
	free(safe);
}

static void put_text(FILE *out, const char *text)
{
	if (put_shown(out, text))
		fputc('?', out);
}

/* Maps the letter in /proc to TASK_* of include/linux/sched.h. */
static __u16 task_state(char letter)
{
	switch (letter) {
	case 'S':
		return 1;
	case 'D':
		return 2;
	case 'T':
		return 4;
	case 't':
		return 8;
	default:
		return 0;
	}
}

/* Describes in a few words what the thread does: a state of --state, and the system call. */
static void state_into(char *buf, size_t size, const struct look_thread *t)
{
	const struct probe_thread *os = &t->os;
	const struct wait_facts facts = {
		.args = { os->args[0], os->args[1], os->args[2] },
		.syscall = os->syscall,
		.task_state = task_state(os->state),
		.file_mode = (__u16)os->file_mode,
		.flags = (os->flags & PROBE_THREAD_SYSCALL ? WAIT_HAS_SYSCALL : 0) |
			 (os->flags & PROBE_THREAD_WAITS_GIL ? WAIT_GIL : 0) |
			 (os->flags & PROBE_THREAD_FROZEN ? WAIT_FROZEN : 0),
	};
	const char *gil =
		os->flags & PROBE_THREAD_HAS_GIL && t->how == LOOK_AT_REST ? ", holds the GIL" : "";
	char text[WAIT_TEXT_SIZE];

	if (t->how == LOOK_ENDED) {
		snprintf(buf, size, "ended");
		return;
	}
	if (t->how == LOOK_INTERRUPTED ||
	    (os->flags & PROBE_THREAD_RUNS &&
	     (t->how == LOOK_NONE || os->flags & PROBE_THREAD_PAUSED))) {
		snprintf(buf, size, "running%s", gil);
		return;
	}
	wait_text(text, &facts);
	/* Strips the brackets. */
	snprintf(buf, size, "%.*s%s", (int)strlen(text) - 2, text + 1, gil);
}

/* ---- text -------------------------------------------------------------------------------------- */

static void print_frame(FILE *out, const struct look_frame *f)
{
	fputs("    ", out);
	put_text(out, f->name);
	if (*f->file) {
		fputs(" (", out);
		put_text(out, short_path(f->file));
		if (f->line > 0)
			fprintf(out, ":%d", f->line);
		fputc(')', out);
	}
	fputc('\n', out);
}

/*
 * What starts a thread (Lib/threading.py) says the same of it three times, at length. Names have their class from 3.11
 * on.
 */
static bool is_of_start(const struct look_frame *f, const struct look_local *l)
{
	const char *name = starts_with(f->name, "Thread.") ? f->name + strlen("Thread.") : f->name;

	return !strcmp(l->name, "self") && !strcmp(base_name(f->file), "threading.py") &&
	       (!strcmp(name, "run") || !strcmp(name, "_bootstrap") ||
		!strcmp(name, "_bootstrap_inner"));
}

static void print_locals(FILE *out, const struct look_frame *f)
{
	for (__u32 i = 0; i < f->local_cnt; i++) {
		if (is_of_start(f, &f->locals[i]))
			continue;
		fputs(f->locals[i].changed ? "      ~ " : "        ", out);
		put_text(out, f->locals[i].name);
		fputs(" = ", out);
		put_value(out, f->locals[i].value);
		fputc('\n', out);
	}
}

/* The thread is as it was in the previous look. */
static bool is_unchanged(struct look_process *before, const struct look_thread *t)
{
	const struct look_thread *old = before ? look__thread(before, t->os.tid) : NULL;

	return old && t->how != LOOK_NONE && look_thread_equal(old, t);
}

/* Prints what it is called, and the kernel's name for it if that differs. */
static void put_thread_name(FILE *out, const struct look_process *p, const struct look_thread *t)
{
	const char *name = look__thread_name(p, t);

	fputs(name != t->os.comm && t->os.flags & PROBE_THREAD_NAME_CHANGED ? "~\"" : "\"", out);
	put_text(out, name);
	fputc('"', out);
	if (!strncmp(name, t->os.comm, sizeof(t->os.comm) - 1))
		return;
	fputs(" [", out);
	put_text(out, t->os.comm);
	fputc(']', out);
}

static void print_thread(FILE *out, const struct look_process *p, const struct look_thread *t,
			 struct look_process *before)
{
	char state[80];

	state_into(state, sizeof(state), t);
	fprintf(out, "\nThread %d ", (int)t->os.tid);
	put_thread_name(out, p, t);
	fprintf(out, " (%s%s%s)\n", t->os.tid == p->process.pid ? "main, " : "", state,
		p->pause_ns && !(t->os.flags & PROBE_THREAD_PAUSED) && t->how != LOOK_ENDED ?
			", could not be paused" :
			"");
	if (is_unchanged(before, t)) {
		fputs("    [as before]\n", out);
		return;
	}
	for (__u32 i = 0; i < t->frame_cnt; i++) {
		print_frame(out, &t->frames[i]);
		print_locals(out, &t->frames[i]);
	}
	if (t->how == LOOK_NATIVE && !t->joined)
		fputs("    [no Python thread]\n", out);
	else if (t->how == LOOK_NONE)
		fprintf(out, "    [no stack: %s]\n", t->why ? t->why : "it did not hold still");
	else if (!t->frame_cnt && t->how != LOOK_ENDED)
		fputs("    [no Python frame]\n", out);
}

static void print_gil(FILE *out, const struct look_process *p, const struct probe_interp *i)
{
	const struct look_thread *holder = look__gil_holder(p, i);

	if (holder) {
		fprintf(out, "held by thread %d ", (int)holder->os.tid);
		put_thread_name(out, p, holder);
	} else {
		fputs(i->gil == PROBE_GIL_NONE ? "none, free-threaded" :
		      i->gil == PROBE_GIL_FREE ? "free" :
		      i->gil == PROBE_GIL_HELD ? "held" :
						 "unknown",
		      out);
	}
	fputc('\n', out);
}

/* Prints the main thread first: its tid is the process's pid. NULL: threads that run no Python. */
static void print_group(FILE *out, const struct look_process *p, const struct probe_interp *i,
			struct look_process *before)
{
	for (int main_first = 1; main_first >= 0; main_first--) {
		for (__u32 k = 0; k < p->thread_cnt; k++) {
			const struct look_thread *t = &p->threads[k];
			const bool python = t->os.flags & PROBE_THREAD_PYTHON;

			if ((t->os.tid == p->process.pid) == main_first && python == (i != NULL) &&
			    (!i || t->os.interp_id == i->id))
				print_thread(out, p, t, before);
		}
	}
}

static bool is_listed(const struct look_process *p, const struct look_thread *t)
{
	for (__u32 i = 0; i < p->interp_cnt; i++)
		if (p->interps[i].id == t->os.interp_id)
			return true;
	return !(t->os.flags & PROBE_THREAD_PYTHON);
}

/* Groups threads by interpreter if there are several. */
static void print_threads(FILE *out, const struct look_process *p, struct look_process *before)
{
	if (p->interp_cnt == 1) {
		fputs("GIL: ", out);
		print_gil(out, p, &p->interps[0]);
	}
	if (p->interp_cnt <= 1) {
		for (int main_first = 1; main_first >= 0; main_first--)
			for (__u32 k = 0; k < p->thread_cnt; k++)
				if ((p->threads[k].os.tid == p->process.pid) == main_first)
					print_thread(out, p, &p->threads[k], before);
		return;
	}
	for (__u32 i = 0; i < p->interp_cnt; i++) {
		fprintf(out, "\nInterpreter %lld%s, GIL: ", (long long)p->interps[i].id,
			p->interps[i].id ? "" : " (main)");
		print_gil(out, p, &p->interps[i]);
		print_group(out, p, &p->interps[i], before);
	}
	for (__u32 k = 0; k < p->thread_cnt; k++)
		if (!is_listed(p, &p->threads[k]))
			print_thread(out, p, &p->threads[k], before);
	for (__u32 k = 0; k < p->thread_cnt; k++) {
		if (p->threads[k].os.flags & PROBE_THREAD_PYTHON)
			continue;
		fputs("\nThreads that run no Python\n", out);
		print_group(out, p, NULL, before);
		return;
	}
}

void dump_print(FILE *out, const struct look_process *p, struct look_process *before)
{
	char version[24];

	fprintf(out, "Process %d: ", (int)p->process.pid);
	put_text(out, p->has_info ? p->info.command : p->process.comm);
	if (p->result) {
		fputs("\n  ", out);
		put_text(out, p->process.why);
		fputc('\n', out);
		return;
	}
	py_version_format(p->process.version, version, sizeof(version));
	fprintf(out, "\nPython %s (", version);
	put_text(out, *p->process.file ? p->process.file : "its file is not here");
	fputs(")\n", out);
	if (*p->process.second) {
		fputs("a second interpreter runs in it, which krait does not read: ", out);
		put_text(out, p->process.second);
		fputc('\n', out);
	}
	if (p->pause_ns)
		fprintf(out, "paused for %.1f ms%s\n", (double)p->pause_ns / 1e6,
			p->pause_cnt > 1 ? ", in several parts" : "");
	print_threads(out, p, before);
	if (p->cut)
		fputs("\n[more threads or variables, not shown]\n", out);
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static const char *const how_names[] = {
	[LOOK_NONE] = "none",	  [LOOK_AT_REST] = "at rest", [LOOK_INTERRUPTED] = "interrupted",
	[LOOK_NATIVE] = "native", [LOOK_ENDED] = "ended",
};

static void put_frame(struct json *j, const struct look_frame *f)
{
	json_open_object(j);
	json_put_string(j, "name", f->name);
	if (*f->file)
		json_put_string(j, "file", f->file);
	if (f->line > 0)
		json_put_number(j, "line", f->line);
	if (f->native)
		json_put_bool(j, "native", true);
	if (f->mark)
		json_put_bool(j, "mark", true);
	if (f->local_cnt) {
		json_put_array(j, "locals");
		for (__u32 i = 0; i < f->local_cnt; i++) {
			json_open_object(j);
			json_put_string(j, "name", f->locals[i].name);
			json_put_string(j, "value", f->locals[i].value);
			if (f->locals[i].changed)
				json_put_bool(j, "changed", true);
			json_close_object(j);
		}
		json_close_array(j);
	}
	json_close_object(j);
}

static void put_thread(struct json *j, const struct look_process *p, const struct look_thread *t,
		       struct look_process *before)
{
	char state[80];

	state_into(state, sizeof(state), t);
	json_open_object(j);
	json_put_number(j, "tid", t->os.tid);
	json_put_number(j, "ns_tid", t->os.ns_tid);
	json_put_string(j, "name", t->os.comm);
	if (t->name)
		json_put_string(j, "python_name", t->name);
	if (t->os.flags & PROBE_THREAD_NAME_CHANGED)
		json_put_bool(j, "name_changed", true);
	if (p->pause_ns)
		json_put_bool(j, "paused", t->os.flags & PROBE_THREAD_PAUSED);
	json_put_bool(j, "main", t->os.tid == p->process.pid);
	json_put_string(j, "state", state);
	json_put_number(j, "cpu_ns", (__s64)t->os.cpu_ns);
	if (t->os.flags & PROBE_THREAD_PYTHON)
		json_put_number(j, "interpreter", t->os.interp_id);
	json_put_string(j, "stack", how_names[t->how]);
	if (t->how == LOOK_NONE)
		json_put_string(j, "why", t->why ? t->why : "it did not hold still");
	if (before)
		json_put_bool(j, "unchanged", is_unchanged(before, t));
	json_put_array(j, "frames");
	for (__u32 i = 0; i < t->frame_cnt; i++)
		put_frame(j, &t->frames[i]);
	json_close_array(j);
	json_close_object(j);
	json_newline(j);
}

static const char *const gil_names[] = {
	[PROBE_GIL_UNKNOWN] = "unknown",
	[PROBE_GIL_NONE] = "none",
	[PROBE_GIL_FREE] = "free",
	[PROBE_GIL_HELD] = "held",
};

static void put_interps(struct json *j, const struct look_process *p)
{
	json_put_array(j, "interpreters");
	for (__u32 i = 0; i < p->interp_cnt; i++) {
		const struct look_thread *holder = look__gil_holder(p, &p->interps[i]);

		json_open_object(j);
		json_put_number(j, "id", p->interps[i].id);
		json_put_string(
			j, "gil",
			gil_names[p->interps[i].gil <= PROBE_GIL_HELD ? p->interps[i].gil : 0]);
		if (holder)
			json_put_number(j, "holder", holder->os.tid);
		json_close_object(j);
	}
	json_close_array(j);
}

void dump_put_json(struct json *j, const struct look_process *p, struct look_process *before,
		   unsigned look)
{
	char version[24];

	json_open_object(j);
	printed_json_row(j, "dump");
	json_put_number(j, "look", look);
	json_put_number(j, "pid", p->process.pid);
	json_put_string(j, "command", p->has_info ? p->info.command : p->process.comm);
	if (p->process.version) {
		py_version_format(p->process.version, version, sizeof(version));
		json_put_string(j, "version", version);
		if (*p->process.second)
			json_put_string(j, "second", p->process.second);
	}
	if (p->result)
		json_put_string(j, "why", p->process.why);
	put_interps(j, p);
	if (p->pause_ns) {
		json_key(j, "paused_ms");
		json_ms(j, p->pause_ns);
		json_put_number(j, "pauses", p->pause_cnt);
	}
	json_put_array(j, "threads");
	for (__u32 i = 0; i < p->thread_cnt; i++)
		put_thread(j, p, &p->threads[i], before);
	json_close_array(j);
	json_put_bool(j, "cut", p->cut);
	json_close_object(j);
	json_newline(j);
}
