/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record_options.h"

#include <argp.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emitter.h"
#include "session/label.h"
#include "util/error.h"
#include "util/units.h"

/* A process or a command may be sampled densely; a whole machine for long. */
#define DEFAULT_HZ 997
#define DEFAULT_HZ_ALL 99
#define DEFAULT_MAX_LOSS_PERCENT 1.0
#define DEFAULT_AUDIT_EVERY 64
#define DEFAULT_OUTPUT "perf.data"

enum {
	KEY_RING = 256,
	KEY_MAX_LOSS,
	KEY_LINES,
	KEY_NO_PROCESS,
	KEY_STATS,
	KEY_ANCHORS,
	KEY_AUDIT,
	KEY_NO_NATIVE,
	KEY_NO_KERNEL,
	KEY_INTERPRETER,
	KEY_PERF_MAP
};

enum {
	KEY_NAME = 512,
	KEY_CGROUP,
	KEY_USER,
	KEY_LABEL,
};

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "Target:", 1 },
	{ "all", 'a', 0, 0, "every Python process of this machine, also those that start later" },
	{ "pid", 'p', "PID[,PID...]", 0, "these processes, and those they start" },
	{ "name", KEY_NAME, "GLOB", 0,
	  "of all, those whose command, script or module matches; may be given several times" },
	{ "cgroup", KEY_CGROUP, "PATH", 0,
	  "of all, those in this control group (a container, a service) or below" },
	{ "user", KEY_USER, "NAME", 0, "of all, those of this user (name or number)" },
	{ 0, 0, 0, 0, "Sampling:", 2 },
	{ "freq", 'F', "HZ", 0,
	  "samples per second and CPU (default 997, with -a 99; 10k is fine)" },
	{ "rate", 'r', "HZ", OPTION_ALIAS },
	{ "event", 'e', "EVENT[,EVENT...]", 0,
	  "what to count (default cpu-clock): any hardware or software event of perf list, such as "
	  "page-faults, minor-faults, major-faults, context-switches (cs), cpu-migrations, cycles, "
	  "instructions, cache-misses, LLC-load-misses, raw rNNN; :u or :k behind it for user or "
	  "kernel mode only. May be given several times. perf.data, pprof and script have all events, "
	  "each apart; other outputs the first" },
	{ "count", 'c', "PERIOD", 0,
	  "a sample every so many events, instead of so many samples a second. Clocks beside other "
	  "events keep their rate; alone they count nanoseconds" },
	{ "period", 'c', "PERIOD", OPTION_ALIAS },
	{ "duration", 'd', "TIME", 0,
	  "stop after 10s, 500ms, 2m (default: Ctrl-C, or the command's end)" },
	{ "native", 'n', 0, 0,
	  "also the C side of each stack (the default): extensions and libraries between the Python "
	  "frames. By frame pointers, as CPython has them from 3.15 on; [truncated] says where code "
	  "without them, or an older CPython, hides callers in C" },
	{ "no-native", KEY_NO_NATIVE, 0, 0,
	  "no native frames; krait report can leave them out, too" },
	{ "kernel", 'k', 0, 0, "also the kernel's frames, where a sample hit it (the default)" },
	{ "no-kernel", KEY_NO_KERNEL, 0, 0, "none of the kernel" },
	{ "interpreter-frames", KEY_INTERPRETER, 0, 0,
	  "also the interpreter's own C functions, which are folded into Python's" },
	{ 0, 0, 0, 0, "Output:", 3 },
	{ "output", 'o', "FILE", 0,
	  "the suffix tells the format; may be given several times, \"-\" is stdout (default " DEFAULT_OUTPUT
	  ")" },
	{ "format", 'f', "NAME", 0,
	  "perf, html, folded, pprof, speedscope, firefox, callgrind or script, whatever the suffix" },
	{ "lines", KEY_LINES, 0, 0, "one entry for each source line, not for each function" },
	{ "threads", 't', 0, 0, "a frame for each thread, below its process" },
	{ "label", KEY_LABEL, "PARTS", 0,
	  "tell processes apart by these: pid, nspid, user, script, container, cgroup" },
	{ "no-process", KEY_NO_PROCESS, 0, 0, "no frame for the process: merge all processes" },
	{ "perf-map", KEY_PERF_MAP, 0, 0,
	  "with a perf.data, also write /tmp/perf-PID.map of each process, in its own /tmp: names and "
	  "addresses of the capture's Python functions, for tools that do not read the capture's ELF "
	  "files. They stay until they are removed or replaced by the next recording" },
	{ "quiet", 'q', 0, 0, "only errors: no progress, no summary" },
	{ "stats", KEY_STATS, 0, 0, "also print every counter at the end" },
	{ "verbose", 'v', 0, 0, "say more on stderr" },
	{ 0, 0, 0, 0, "Tuning:", 4 },
	{ "ring-size", KEY_RING, "BYTES", 0,
	  "of the buffer between kernel and krait (default 4M for each CPU)" },
	{ "anchors", KEY_ANCHORS, "MODE", 0,
	  "auto, on or off: on CPython 3.15 write last_profiled_frame so that only what is new on a stack "
	  "need be walked (default auto: where that saves something)" },
	{ "audit", KEY_AUDIT, "N", 0,
	  "walk one such stack in N to the root and compare (default 64; 0 none); of stacks deeper than "
	  "128, one in N * depth / 128, so that this never costs more" },
	{ "max-loss", KEY_MAX_LOSS, "PERCENT", 0, "exit with 1 when more is lost (default 1)" },
	{ 0 },
};

static const char doc[] =
	"Record Python stacks, exact and without stopping anything."
	"\v"
	"Examples:\n"
	"  krait record -a -d 10s                    the whole machine -> perf.data\n"
	"  krait record -o flame.html -p 1234        as a flame graph\n"
	"  krait record -p 1234 -o out.folded        it and its children, until Ctrl-C\n"
	"  krait record -F 10k -- python3 app.py     a command, to its end\n"
	"  krait record -e page-faults -c 1 -p 1234  who touches new memory, each fault\n"
	"  krait record -e cpu-clock,context-switches -- python3 app.py\n"
	"  krait record -a -f script -o - | less     every sample as perf script prints it\n"
	"\n"
	"Suffixes: .data perf.data, for krait report, perf and others; .html flame graph; .folded, .txt one "
	"stack a line; .pb.gz pprof; .speedscope.json; .firefox.json; .callgrind; .script perf script text.\n"
	"Exit codes: 0 fine (or the command's own); 1 more lost than --max-loss; 2 usage; 3 no such "
	"process or not Python; 4 permission; 5 the kernel lacks something; 6 no samples; 7 a file "
	"could not be written.";

static void parse_pids(struct record_options *o, const char *text, struct argp_state *state)
{
	while (*text) {
		char *end;
		long pid = strtol(text, &end, 10);

		if (end == text || pid <= 0 || pid > 4194304 || (*end && *end != ','))
			argp_error(state, "-p takes process ids, such as 1234 or 12,34: \"%s\"",
				   text);
		if (o->pid_cnt == RECORD_MAX_PIDS)
			argp_error(state, "more than %d processes; use -a", RECORD_MAX_PIDS);
		o->pids[o->pid_cnt++] = (pid_t)pid;
		text = *end ? end + 1 : end;
	}
}

static void add_filter(const char *list[FILTER_MAX], size_t *cnt, const char *text,
		       struct argp_state *state)
{
	if (!*text)
		argp_error(state, "--name and --cgroup take a pattern and a path, not nothing");
	if (*cnt == FILTER_MAX)
		argp_error(state, "more than %d filters of a kind", FILTER_MAX);
	list[(*cnt)++] = text;
}

static void parse_user(struct filter *f, const char *text, struct argp_state *state)
{
	const struct passwd *user = getpwnam(text);
	unsigned long uid = user ? user->pw_uid : 0;
	char *end = "";

	if (!user)
		uid = strtoul(text, &end, 10);
	if (!user && (*text < '0' || *text > '9' || *end || uid >= (uid_t)-1))
		argp_error(state, "there is no user \"%s\"", text);
	if (f->user_cnt == FILTER_MAX)
		argp_error(state, "more than %d users", FILTER_MAX);
	f->users[f->user_cnt++] = (uid_t)uid;
}

static void parse_label(unsigned *ret, const char *text, struct argp_state *state)
{
	while (*text) {
		size_t len = strcspn(text, ",");
		unsigned part = label_part(text, len);

		if (!part)
			argp_error(state,
				   "--label takes pid, nspid, user, script, container, cgroup: "
				   "\"%s\"",
				   text);
		*ret |= part;
		text += len + (text[len] == ',');
	}
}

static void parse_percent(double *ret, const char *text, struct argp_state *state)
{
	char *end;

	*ret = strtod(text, &end);
	if (end == text || *end || !(*ret >= 0 && *ret <= 100))
		argp_error(state, "--max-loss takes a percentage, 0 to 100: \"%s\"", text);
}

static void parse_anchors(struct record_options *o, const char *text, struct argp_state *state)
{
	if (!strcmp(text, "auto"))
		o->anchors = ANCHOR_MODE_AUTO;
	else if (!strcmp(text, "on"))
		o->anchors = ANCHOR_MODE_ON;
	else if (!strcmp(text, "off"))
		o->anchors = ANCHOR_MODE_OFF;
	else
		argp_error(state, "--anchors is auto, on or off: \"%s\"", text);
}

static void parse_audit(struct record_options *o, const char *text, struct argp_state *state)
{
	char *end;
	unsigned long every = strtoul(text, &end, 10);

	if (end == text || *end || text[0] == '-' || every > 1000000)
		argp_error(state, "--audit takes a number: \"%s\"", text);
	o->audit_every = (__u32)every;
}

static void add_events(struct record_options *o, const char *text, struct argp_state *state)
{
	int depth = 0;

	for (;;) {
		size_t len = 0;
		int err;

		/* A comma in "cpu/event=0x3c,umask=1/" is none of ours: refused as a whole. */
		for (; text[len] && (text[len] != ',' || depth); len++)
			depth ^= text[len] == '/';
		if (o->event_cnt == KRAIT_MAX_EVENTS)
			argp_error(state, "more than %d events", KRAIT_MAX_EVENTS);
		err = event_parse(&o->events[o->event_cnt++], text, len);
		if (err == -EOPNOTSUPP)
			argp_error(state,
				   "\"%.*s\": krait samples hardware and software events, not "
				   "tracepoints or events of a named PMU (use rNNN)",
				   (int)len, text);
		if (err)
			argp_error(state, "there is no event \"%.*s\" (see: perf list hw sw cache)",
				   (int)len, text);
		if (!text[len])
			return;
		text += len + 1;
	}
}

static void parse_period(struct record_options *o, const char *text, struct argp_state *state)
{
	if (parse_rate(text, &o->period) || !o->period)
		argp_error(state, "a period is a number of events, such as 1, 1000 or 10k: \"%s\"",
			   text);
}

static void check_event(const struct record_options *o, unsigned index, struct argp_state *state)
{
	const struct event_spec *e = &o->events[index];

	for (unsigned i = 0; i < index; i++) {
		if (!strcmp(o->events[i].name, e->name))
			argp_error(state, "event %s is there twice", e->name);
	}
	if (event_is_clock(e) && e->period && e->period < EVENT_CLOCK_MIN_NS)
		argp_error(state, "-c %llu: %s counts nanoseconds, at least %d for each sample",
			   e->period, e->name, EVENT_CLOCK_MIN_NS);
}

/*
 * A period is meant for what is counted one by one; with clocks among them, these keep a rate. So each
 * event has the one or the other.
 */
static void settle_events(struct record_options *o, struct argp_state *state)
{
	bool clocks = false, others = false;

	if (!o->event_cnt)
		event_default(&o->events[o->event_cnt++]);
	for (unsigned i = 0; i < o->event_cnt; i++) {
		clocks = clocks || event_is_clock(&o->events[i]);
		others = others || !event_is_clock(&o->events[i]);
	}
	if (o->period && o->frequency && !(clocks && others))
		argp_error(state, "-F and -c exclude each other, unless there are both a clock, "
				  "for -F, and another event, for -c");
	if (!o->frequency && (!o->period || (clocks && others)))
		o->frequency = o->all ? DEFAULT_HZ_ALL : DEFAULT_HZ;
	for (unsigned i = 0; i < o->event_cnt; i++) {
		struct event_spec *e = &o->events[i];

		if (o->period && (!event_is_clock(e) || !others))
			e->period = o->period;
		else
			e->frequency = o->frequency;
		check_event(o, i, state);
	}
}

static void add_output(struct record_options *o, const char *path, struct argp_state *state)
{
	if (o->output_cnt == RECORD_MAX_OUTPUTS)
		argp_error(state, "more than %d outputs", RECORD_MAX_OUTPUTS);
	o->outputs[o->output_cnt++] = path;
}

static void check(struct record_options *o, struct argp_state *state)
{
	int targets;

	/* They choose among all. */
	if (!o->pid_cnt && !o->command && !filter_is_empty(&o->filter))
		o->all = true;
	targets = o->all + (o->pid_cnt > 0) + (o->command != NULL);

	if (targets == 0)
		argp_error(state, "what shall be recorded? -a, -p PID or -- COMMAND");
	if (!o->all && !filter_is_empty(&o->filter))
		argp_error(
			state,
			"--name, --cgroup and --user choose among all; not with -p or a command");
	if (targets > 1)
		argp_error(state, "-a, -p and a command exclude each other");
	if (!o->output_cnt)
		o->outputs[o->output_cnt++] = DEFAULT_OUTPUT;
	if (o->format && o->output_cnt > 1)
		argp_error(state, "-f goes with one -o; the suffixes tell the formats of several");
	settle_events(o, state);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case 'a':
		o->all = true;
		break;
	case 'p':
		parse_pids(o, arg, state);
		break;
	case 'F':
	case 'r':
		if (parse_rate(arg, &o->frequency))
			argp_error(state, "a rate is a number of Hz, such as 997 or 10k: \"%s\"",
				   arg);
		break;
	case 'e':
		add_events(o, arg, state);
		break;
	case 'c':
		parse_period(o, arg, state);
		break;
	case 'd':
		if (parse_duration(arg, &o->duration_ns))
			argp_error(state, "a time is a number with ms, s, m or h: \"%s\"", arg);
		break;
	case 'o':
		add_output(o, arg, state);
		break;
	case 'f':
		o->format = arg;
		break;
	case 't':
		o->threads = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'v':
		o->verbose++;
		break;
	case KEY_LINES:
		o->lines = true;
		break;
	case KEY_NO_PROCESS:
		o->no_process = true;
		break;
	case KEY_STATS:
		o->stats = true;
		break;
	case KEY_MAX_LOSS:
		parse_percent(&o->max_loss_percent, arg, state);
		break;
	case KEY_NAME:
		add_filter(o->filter.names, &o->filter.name_cnt, arg, state);
		break;
	case KEY_CGROUP:
		add_filter(o->filter.cgroups, &o->filter.cgroup_cnt, arg, state);
		break;
	case KEY_USER:
		parse_user(&o->filter, arg, state);
		break;
	case KEY_LABEL:
		parse_label(&o->label, arg, state);
		break;
	case KEY_RING:
		if (parse_size(arg, &o->ring_bytes))
			argp_error(state, "a size is a number with k, M or G: \"%s\"", arg);
		break;
	case 'n':
		o->native = true;
		break;
	case KEY_NO_NATIVE:
		o->native = false;
		break;
	case 'k':
		o->kernel = true;
		break;
	case KEY_NO_KERNEL:
		o->kernel = false;
		break;
	case KEY_INTERPRETER:
		o->native = true;
		o->interpreter_frames = true;
		break;
	case KEY_PERF_MAP:
		o->perf_map = true;
		break;
	case KEY_ANCHORS:
		parse_anchors(o, arg, state);
		break;
	case KEY_AUDIT:
		parse_audit(o, arg, state);
		break;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		check(o, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void record_options_parse(struct record_options *ret, int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, "[-- COMMAND...]", doc, 0, 0, 0 };

	memset(ret, 0, sizeof(*ret));
	ret->max_loss_percent = DEFAULT_MAX_LOSS_PERCENT;
	ret->audit_every = DEFAULT_AUDIT_EVERY;
	ret->native = ret->kernel = true;
	argp_err_exit_status = EXIT_CODE_USAGE;
	/* In order: what follows the command's name belongs to the command. */
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, ret);
}
