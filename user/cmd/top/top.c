/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top.c - krait top: a session feeds its samples to a model, which is shown on a terminal or as
 * plain lines.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/json.h"
#include "base/system/priority.h"
#include "base/text/log.h"
#include "base/text/stream.h"
#include "cmd/broker/client.h"
#include "cmd/common/commands.h"
#include "cmd/common/outputs.h"
#include "cmd/common/printed.h"
#include "cmd/record/live_options.h"
#include "cmd/record/record_targets.h"
#include "cmd/top/draw.h"
#include "cmd/top/lasting.h"
#include "cmd/top/lines.h"
#include "cmd/top/model.h"
#include "cmd/top/pick.h"
#include "cmd/top/terminal.h"
#include "cmd/top/top_options.h"
#include "cmd/top/ui.h"
#include "native/names/kernel_symbols.h"
#include "output/emitter.h"
#include "record/follow/refusals.h"
#include "record/run/session.h"

/* ---- top write -------------------------------------------------------------------------------- */

/* Writes what krait top shows to a file of any format. */

struct writing {
	struct outputs *outputs;
	const struct profile *profile;
};

static bool put_sample(void *ctx, const struct profile_sample *sample)
{
	struct writing *w = ctx;

	return outputs__sample(w->outputs, w->profile, sample);
}

/* From the first kept round, or since the start. */
static void set_times(const struct model *m, bool streams, struct recording *r)
{
	const struct round *first = NULL, *last = samples__round(m->samples, 0), *next;
	__s64 offset = recording_wall_offset_ns(r);
	__u64 ns = samples__all_ns(m->samples);

	for (unsigned age = 0; (next = samples__round(m->samples, age)); age++)
		first = next;
	if (streams && first)
		ns = last->to_ns - first->from_ns;
	r->seconds = (double)ns / NS_PER_SEC;
	r->began_ns = last ? last->to_ns - ns : r->began_ns;
	r->began_wall_ns = (__s64)r->began_ns + offset;
}

static int write_to(struct writing *w, const struct model *m, const char *path,
		    struct emit_options *options, struct error *err)
{
	int result = outputs__add(w->outputs, path, NULL, false, options, err);
	bool streams = !result && outputs__stream(w->outputs);

	if (result)
		return result;
	set_times(m, streams, &options->recording);
	if (streams)
		result = pick_samples(m, put_sample, w);
	if (result)
		return error_set(err, -result, EXIT_CODE_OUTPUT, "%s: out of memory", path);
	return outputs__finish(w->outputs, w->profile, 0, false, err);
}

/*
 * Reports on stderr what was written, or why not. Never replaces an existing file. Streaming
 * formats get the kept rounds, others everything since the start.
 */
static void top_write(const struct model *m, const char *path, const struct emit_options *options)
{
	struct emit_options own = *options;
	struct profile *profile;
	struct writing w;
	struct error err;
	struct stat st;

	if (!lstat(path, &st) && S_ISREG(st.st_mode)) {
		log_error(NULL, "%s already exists; choose another name", path);
		return;
	}
	own.lines = model_place_const(m)->spec.view == ROWS_LINES ||
		    model_place_const(m)->spec.view == ROWS_SOURCE;
	profile = pick_profile(m);
	w = (struct writing){ outputs__new(false), profile };
	if (!profile || !w.outputs)
		log_error(NULL, "%s: out of memory", path);
	else if (write_to(&w, m, path, &own, &err))
		log_error(NULL, "%s", err.text);
	outputs__free(w.outputs);
	profile__free(profile);
}

/* ---- top -------------------------------------------------------------------------------------- */

/* On a terminal the first round is short, so that the user soon sees something. */
#define FIRST_ROUND_NS (NS_PER_SEC / 4)
/* How often we poll for keys if nothing signals them. */
#define STEP_NS (NS_PER_SEC / 4)

struct top_command {
	struct top_options options;
	struct session_config config;
	struct session *session;
	struct kernel_symbols *kernel_symbols;
	struct priority priority;
	struct utsname host;
	struct emit_options emit;
	struct model *model;
	struct lasting *lasting; /* waits that have not ended; NULL: not wanted */
	struct ui ui;
	struct terminal *terminal; /* NULL: plain lines */
	struct top_status status;
	struct session_progress progress; /* of the previous round */
	char clock[16];
	bool utf8, over;
	__u64 rounds, due_ns; /* rounds so far; end of the current one */
	int failed; /* output error, -errno */
};

/* ---- what comes in ---------------------------------------------------------------------------- */

static void on_sample(void *ctx, const struct profile *profile, const struct profile_sample *sample)
{
	struct top_command *t = ctx;
	struct profile_sample left = *sample;
	char container[128];

	if (!t->model)
		return;
	if (groups__is_new(t->model->groups, sample->pid, sample->image)) {
		session__container(t->session, sample->pid, container, sizeof(container));
		groups__set(t->model->groups, sample->pid, sample->image, container);
	}
	/* Event 0 is time on the CPU. */
	if (!t->lasting || !sample->event || lasting__count(t->lasting, &left))
		samples__add(t->model->samples, &left);
}

/* Signal 0 checks that it exists. */
static bool is_alive(void *ctx, int pid, int tid)
{
	long result = tid ? syscall(SYS_tgkill, pid, tid, 0) : kill(pid, 0);

	return !result || errno != ESRCH;
}

static void update_status(struct top_command *t)
{
	struct session_progress now;
	time_t seconds = time(NULL);
	struct tm local;

	session__progress(t->session, &now);
	localtime_r(&seconds, &local);
	strftime(t->clock, sizeof(t->clock), "%H:%M:%S", &local);
	t->status = (struct top_status){
		.clock = t->clock,
		.frequency = t->options.record.frequency,
		.processes = now.processes,
		.cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
		.lost = now.lost - t->progress.lost,
		.interrupts = now.samples - t->progress.samples + now.lost - t->progress.lost,
	};
	t->progress = now;
}

/* ---- what goes out ---------------------------------------------------------------------------- */

static void show(struct top_command *t)
{
	unsigned rows, columns;
	struct screen s;

	terminal__message(t->terminal, t->ui.message, sizeof(t->ui.message));
	terminal__size(t->terminal, &rows, &columns);
	if (screen_init(&s, rows, columns, t->utf8))
		return;
	draw_top(&s, &t->ui, &t->status);
	terminal__show(t->terminal, &s);
	screen_free(&s);
}

static int put_json(const struct top_command *t)
{
	struct json j = { .out = stdout };
	int err;

	json_open_object(&j);
	printed_json_head(&j, "top");
	lines_put_json(&j, t->model, &t->status, t->options.limit);
	json_close_object(&j);
	putchar('\n');
	err = stream_finish(stdout);
	return err ? err : json_finish(&j);
}

static void print_lines(struct top_command *t)
{
	const struct lines_options options = { .limit = t->options.limit,
					       .utf8 = t->utf8 || !isatty(STDOUT_FILENO),
					       .shares = t->options.shares };

	t->failed = t->options.json ? put_json(t) :
				      lines_print(stdout, t->model, &t->status, &options);
	if (t->failed)
		t->over = true;
}

/* Frequent short waits are seen when they end. */
static void look_at_waits(struct top_command *t)
{
	if (!t->lasting)
		return;
	lasting__begin(t->lasting);
	if (session__look_at_waits(t->session, t->options.interval_ns / 2) < 0)
		log_debug("top", "waits that last cannot be looked at");
	lasting__end(t->lasting);
}

static void end_round(struct top_command *t, __u64 now_ns)
{
	int err;

	look_at_waits(t);
	update_status(t);
	err = model__end_round(t->model, now_ns, is_alive, NULL);
	if (err)
		log_warn(NULL, "this round is incomplete: %s", strerror(-err));
	if (!t->terminal)
		print_lines(t);
	t->rounds++;
	if (t->options.rounds && t->rounds >= t->options.rounds)
		t->over = true;
	t->due_ns += t->options.interval_ns;
	/* If krait was stopped, skip the missed rounds. */
	if (t->due_ns <= now_ns)
		t->due_ns = now_ns + t->options.interval_ns;
}

/* Returns false if there was no key. */
static bool take_keys(struct top_command *t)
{
	bool any = false;
	int key;

	while (!t->over && (key = terminal__key(t->terminal)) != TERMINAL_NO_KEY) {
		enum ui_wish wish = WISH_NONE;

		any = true;
		if (key == 'L' - '@')
			terminal__redraw(t->terminal);
		else if (key >= 0)
			wish = ui_key(&t->ui, key, clock_monotonic_ns());
		if (wish == WISH_WRITE)
			top_write(t->model, t->ui.input, &t->emit);
		if (wish == WISH_QUIT || key == TERMINAL_GONE)
			t->over = true;
	}
	return any;
}

static __u64 step_ns(const struct top_command *t)
{
	__u64 now_ns = clock_monotonic_ns(), left = t->due_ns > now_ns ? t->due_ns - now_ns : 0;

	return left < STEP_NS ? left : STEP_NS;
}

static void run(struct top_command *t)
{
	update_status(t);
	if (t->terminal)
		show(t);
	while (!t->over && session__step(t->session, step_ns(t))) {
		__u64 now_ns = clock_monotonic_ns();
		bool due = now_ns >= t->due_ns;

		if (due)
			end_round(t, now_ns);
		if (t->terminal && (take_keys(t) || due))
			show(t);
	}
}

/* ---- begin and end ---------------------------------------------------------------------------- */

static void configure(struct top_command *t)
{
	const struct record_options *o = &t->options.record;

	t->config = live_options_session(o);
	t->config.sampler.states = true;
	t->config.collector.on_sample = on_sample;
	t->config.collector.on_sample_ctx = t;
	t->config.collector.natives.kernel_symbols = t->kernel_symbols;
	t->config.priority = &t->priority;
	t->emit = (struct emit_options){
		.title = "krait top",
		.recording = { .host = t->host.nodename,
			       .kernel = t->host.release,
			       .command_line = "krait top",
			       .frequency = o->frequency,
			       .events = o->events,
			       .event_cnt = o->event_cnt },
	};
}

static int start(struct top_command *t, struct error *err)
{
	int result;

	configure(t);
	t->session = session__new(&t->config, err);
	if (!t->session)
		return -1;
	result = session__open(t->session, err);
	if (result)
		return result;
	t->emit.recording.began_ns = session__began_ns(t->session);
	t->emit.recording.began_wall_ns =
		(__s64)t->emit.recording.began_ns + clock_wall_offset_ns();
	t->model = model__new(session__profile(t->session), session__began_ns(t->session));
	if (t->options.record.off_cpu)
		t->lasting = lasting__new();
	if (!t->model || (t->options.record.off_cpu && !t->lasting))
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	t->model->options.sort = t->options.sort;
	t->model->source_folder = t->options.source;
	t->ui = (struct ui){ .model = t->model, .shares = t->options.shares };
	if (model__show(t->model, t->options.view, t->options.tree))
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	return 0;
}

/* Opens the terminal if it is capable; its signals go to this thread. */
static void open_terminal(struct top_command *t)
{
	t->due_ns = session__began_ns(t->session) + t->options.interval_ns;
	if (t->options.batch || !terminal_suits())
		return;
	t->terminal = terminal__open(t->utf8);
	if (!t->terminal) {
		log_warn(NULL, "krait does not know this terminal (TERM=%s) and prints plain lines",
			 getenv("TERM"));
		return;
	}
	session__watch(t->session, terminal__fd(t->terminal));
	if (t->options.interval_ns > FIRST_ROUND_NS)
		t->due_ns = session__began_ns(t->session) + FIRST_ROUND_NS;
}

static int finish(struct top_command *t)
{
	bool lines = !t->terminal;
	char none[RECORD_TARGETS_TEXT];
	struct session_stats stats;

	session__watch(t->session, -1);
	terminal__close(t->terminal);
	t->terminal = NULL;
	session__close(t->session);
	session__stats(t->session, &stats);
	refusals_print(session__refusals(t->session), stderr);
	session__warn_of_shortages(t->session);
	if (printed(NULL, t->failed))
		return EXIT_CODE_OUTPUT;
	if (!lines || stats.samples || t->failed)
		return EXIT_CODE_OK;
	record_targets_explain_session(none, &t->options.record, t->session);
	log_error(NULL, "no samples: %s", none);
	return EXIT_CODE_EMPTY;
}

static int top(struct top_command *t)
{
	struct error err = { .code = EXIT_CODE_KERNEL };
	int result;

	/* Threads of the session must leave the terminal alone. */
	terminal_hold_signals(true);
	result = start(t, &err);
	terminal_hold_signals(false);
	if (!result) {
		open_terminal(t);
		run(t);
		return finish(t);
	}
	log_error(NULL, "%s%s", err.text, error_doctor(err.code));
	return err.code;
}

int cmd_top(int argc, char **argv)
{
	struct top_command *t = calloc(1, sizeof(*t));
	int code = EXIT_CODE_KERNEL;

	if (!t)
		return code;
	top_options_parse(&t->options, argc, argv);
	if (client_is_possible()) {
		free(t);
		return client_run(BROKER_TOP);
	}
	if (t->options.record.realtime)
		priority_raise(&t->priority);
	uname(&t->host);
	t->utf8 = terminal_utf8();
	t->kernel_symbols = kernel_symbols__new(KALLSYMS);
	if (t->kernel_symbols)
		code = top(t);
	else
		log_error(NULL, "out of memory");
	/* It uses the session's dictionary. */
	model__free(t->model);
	lasting__free(t->lasting);
	session__free(t->session);
	kernel_symbols__free(t->kernel_symbols);
	free(t);
	return code;
}
