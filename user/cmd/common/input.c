/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/arguments.h"
#include "capture/import/mappings.h"
#include "capture/import/folded_reader.h"
#include "profile/states.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/text/pattern.h"
#include "base/worker/keeper.h"

enum {
	KEY_PID = 1000,
	KEY_TID,
	KEY_COMM,
	KEY_FUNCTION,
	KEY_EVENT,
	KEY_TIME,
	KEY_NO_NATIVE,
	KEY_NO_KERNEL,
	KEY_STATE,
	KEY_INLINE,
	KEY_WALL,
	KEY_IDLE,
	KEY_GIL,
	KEY_THREAD,
	KEY_CHARGE_WAITERS
};

/* Of the file: a read for each few KiB would cost more than what is done with them. */
#define BUFFER_SIZE (1U << 18)

/* Which samples: what all commands that read a capture have. */
#define FILTER_OPTIONS                                                                                                            \
	{ "pid", KEY_PID, "PID[,PID...]", 0, "only these processes" },                                                            \
		{ "tid", KEY_TID, "TID", 0, "only this thread" },                                                                 \
		{ "thread", KEY_THREAD, "THREAD", 0, THREAD_FILTER_ABOUT },                                                       \
		{ "comm", KEY_COMM, "NAME", 0, "only threads, or processes, of this name" },                                      \
		{ "function", KEY_FUNCTION, "NAME", 0,                                                                            \
		  "only stacks with a matching function or file: Cart.total, "                                                    \
		  "'test_*', cart.py" },                                                                                          \
		{ "event", KEY_EVENT, "NAME", 0,                                                                                  \
		  "only this event of a capture with several (default: the first, or wall-clock if it was recorded with --wall; " \
		  "report: all)" },                                                                                               \
		{ "wall", KEY_WALL, 0, 0,                                                                                         \
		  "show time on and off the CPU as one event, wall-clock, for a "                                                 \
		  "capture made with --wall or --off-cpu" },                                                                      \
		{ "idle", KEY_IDLE, 0, 0, "also idle threads, as in py-spy: the same as --wall" },                                \
		{ "state", KEY_STATE, "STATE[,STATE...]", 0,                                                                      \
		  "only samples in these states: " STATES_WORDS },                                                                \
		{ "gil", KEY_GIL, 0, 0, "only threads that held the GIL, as in py-spy" },                                         \
		{ "time", KEY_TIME, "FROM,TO", 0,                                                                                 \
		  "only this range, in seconds since the first sample; you can "                                                  \
		  "omit either; or, as in perf, a part of the time: 10%-20%, or 10%/2, the second tenth" },                       \
		{ "no-kernel", KEY_NO_KERNEL, 0, 0,                                                                               \
		  "no kernel frames: their samples count for the function that "                                                  \
		  "called the kernel" },                                                                                          \
		{ "no-native", KEY_NO_NATIVE, 0, 0,                                                                               \
		  "no native frames: their samples count for the Python function "                                                \
		  "that called them" },                                                                                           \
		{ "charge-waiters", KEY_CHARGE_WAITERS, 0, 0,                                                                     \
		  "count what native threads do (OpenBLAS, OpenMP, Rayon) for the line "                                          \
		  "of Python that waits for them, if it is one line; with several waiters "                                       \
		  "they stay apart" },                                                                                            \
	{                                                                                                                         \
		"inline", KEY_INLINE, 0, 0,                                                                                       \
			"also functions that the compiler inlined in native code, as "                                            \
			"\"name (inlined)\", if debug information is available here or "                                          \
			"in the capture (record --inline)"                                                                        \
	}

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "Input:", 1 },
	{ "input", 'i', "FILE", 0,
	  "a perf.data capture or folded stacks, - for stdin (default " INPUT_DEFAULT ")" },
	FILTER_OPTIONS,
	{ 0 },
};
static const struct argp_option filters[] = { { 0, 0, 0, 0, "Input:", 1 }, FILTER_OPTIONS, { 0 } };

/* "10%-20%", or "10%/2", the second tenth. Returns false: it is neither. */
static bool parse_share(struct perf_filter *f, const char *text)
{
	char *end;
	double first = strtod(text, &end), second;
	bool slice;

	if (end == text || *end != '%')
		return false;
	slice = end[1] == '/';
	if (!slice && end[1] != '-')
		return false;
	text = end + 2;
	second = strtod(text, &end);
	if (end == text || strcmp(end, slice ? "" : "%"))
		return false;
	f->from_share = (slice ? first * (second - 1) : first) / 100;
	f->to_share = (slice ? first * second : second) / 100;
	return f->from_share >= 0 && f->to_share > f->from_share && f->to_share <= 1;
}

static void parse_time(struct perf_filter *f, const char *text, struct argp_state *state)
{
	char *end;

	if (strchr(text, '%')) {
		if (!parse_share(f, text))
			arguments_refuse(state,
					 "--time takes a part such as 10%%-20%%, or 10%%/2 for the "
					 "second tenth, not \"%s\"",
					 text);
		return;
	}
	f->from_seconds = *text == ',' ? 0 : strtod(text, &end);
	if (*text == ',')
		end = (char *)text;
	if (*end == ',' && end[1])
		f->to_seconds = strtod(end + 1, &end);
	else if (*end == ',')
		end++;
	if (*end || !(f->from_seconds >= 0) || f->to_seconds < 0 ||
	    (f->to_seconds > 0 && f->to_seconds <= f->from_seconds))
		arguments_refuse(
			state,
			"--time takes FROM,TO in seconds, such as 2.5,10 or 2.5, or ,10; not \"%s\"",
			text);
}

/* Also splits at blanks and newlines, which pgrep and pidof print. */
static void add_pids(struct perf_filter *f, const char *text, struct argp_state *state)
{
	cleanup_free char *copy = strdup(text);
	char *rest = NULL;

	for (char *word = copy ? strtok_r(copy, ", \t\n", &rest) : NULL; word;
	     word = strtok_r(NULL, ", \t\n", &rest)) {
		if (f->pid_cnt == PERF_FILTER_PIDS)
			arguments_refuse(state, "--pid takes at most %d processes",
					 PERF_FILTER_PIDS);
		f->pids[f->pid_cnt++] = arguments_id(word, "--pid", state);
	}
	if (!f->pid_cnt)
		arguments_refuse(state, "--pid takes numbers, not \"%s\"", text);
}

/* For the message if nothing matches. */
static void note_given(struct input_options *o, const char *option, const char *value)
{
	size_t len = strlen(o->given);

	snprintf(o->given + len, sizeof(o->given) - len, " %s%s%s", option, *value ? " " : "",
		 value);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct input_options *o = state->input;

	switch (key) {
	case 'i':
		o->path = arg;
		break;
	case KEY_PID:
		add_pids(&o->filter, arg, state);
		note_given(o, "--pid", arg);
		break;
	case KEY_TID:
		o->filter.tid = arguments_id(arg, "--tid", state);
		note_given(o, "--tid", arg);
		break;
	case KEY_COMM:
		o->filter.comm = arg;
		note_given(o, "--comm", arg);
		break;
	case KEY_FUNCTION:
		o->filter.function = arg;
		note_given(o, "--function", arg);
		break;
	case KEY_EVENT:
		o->wall = !strcmp(arg, EVENT_WALL);
		o->filter.event = o->wall ? NULL : arg;
		break;
	case KEY_WALL:
	case KEY_IDLE:
		o->wall = true;
		break;
	case KEY_NO_NATIVE:
		o->filter.no_native = true;
		break;
	case KEY_CHARGE_WAITERS:
		o->filter.charge_waiters = true;
		break;
	case KEY_INLINE:
		o->filter.sources = o->filter.inlined = true;
		break;
	case KEY_NO_KERNEL:
		o->filter.no_kernel = true;
		break;
	case KEY_STATE:
		if (states_parse(&o->filter.states, arg))
			arguments_refuse(state, "--state takes " STATES_WORDS ", not \"%s\"", arg);
		note_given(o, "--state", arg);
		break;
	case KEY_GIL:
		o->filter.holds_gil = true;
		note_given(o, "--gil", "");
		break;
	case KEY_THREAD:
		arguments_thread(&o->filter.thread, arg, state);
		note_given(o, "--thread", arg);
		break;
	case KEY_TIME:
		parse_time(&o->filter, arg, state);
		note_given(o, "--time", arg);
		break;
	case ARGP_KEY_ARG: /* if the command does not use arguments itself */
		if (o->path)
			arguments_refuse(state, "only one input file (extra: \"%s\")%s", arg,
					 o->filter.pid_cnt && !arg[strspn(arg, "0123456789")] ?
						 "; several processes are one word: --pid 12,34" :
						 "");
		o->path = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp parser = { .options = options, .parser = parse_option };
const struct argp_child input_children[] = { { &parser, 0, NULL, 0 }, { 0 } };
static const struct argp filter_parser = { .options = filters, .parser = parse_option };
const struct argp_child input_filters[] = { { &filter_parser, 0, NULL, 0 }, { 0 } };

/* ---- folded ----------------------------------------------------------------------------------- */

/* Folded stacks say neither whose they are nor when they were taken. */
static bool is_told_by_captures_only(const struct perf_filter *f)
{
	return f->pid_cnt || f->tid || f->comm || f->event || f->states || f->holds_gil ||
	       f->charge_waiters || !thread_filter_is_empty(&f->thread) || f->from_seconds > 0 ||
	       f->to_seconds > 0 || f->to_share > 0;
}

/* Reports what was requested and what exists. */
static void say_none_wanted(const struct input_options *o, const char *name, __u64 samples,
			    const struct perf_import_stats *stats)
{
	const struct perf_filter *f = &o->filter;
	char there[sizeof(stats->others) + 32] = "";

	if (f->from_seconds > 0 || f->to_seconds > 0 || f->to_share > 0)
		snprintf(there, sizeof(there), " (it is %.2f s long)", stats->recording.seconds);
	else if (f->pid_cnt)
		snprintf(there, sizeof(there), " (its processes: %s)", stats->others);
	else if (f->tid || f->comm || f->thread.cnt)
		snprintf(there, sizeof(there), " (its threads: %s)", stats->others);
	else if (f->states || f->holds_gil)
		snprintf(there, sizeof(there),
			 " (krait record --off-cpu records the states of threads)");
	else if (f->function && !pattern_is_glob(f->function))
		snprintf(there, sizeof(there), " (a pattern such as '*.%.64s' may help)",
			 f->function);
	log_error(NULL, "%s: none of its %llu samples fits%s%s", name, samples, o->given, there);
}

/* Nothing has the name literally: it may be a pattern. True: the file is to be read again. */
static bool turn_to_pattern(struct input_options *o, FILE *file)
{
	if (!o->filter.function || o->filter.function_use != PATTERN_LITERAL ||
	    !pattern_is_glob(o->filter.function) || fseek(file, 0, SEEK_SET))
		return false;
	o->filter.function_use = PATTERN_GLOB;
	return true;
}

static int load_folded(struct input *in, FILE *file, struct input_options *o, const char *name)
{
	static const struct perf_import_stats none;
	const struct perf_filter *filter = &o->filter;
	struct stack_filter *stacks = NULL;
	struct folded_stats stats;
	int err;

	if (is_told_by_captures_only(filter) || o->wall) {
		log_error(
			NULL,
			"%s: --pid, --tid, --thread, --comm, --event, --wall, --state, "
			"--gil, --charge-waiters and --time need a perf.data capture; folded stacks "
			"record none of these",
			name);
		return EXIT_CODE_USAGE;
	}
	if (filter->function &&
	    !(stacks = stack_filter__new(filter->function, filter->function_use))) {
		log_error(NULL, "out of memory");
		return EXIT_CODE_OUTPUT;
	}
	err = folded_read(profile__counts(in->profile, 0), file, stacks, &stats);
	stack_filter__free(stacks);
	if (!err && !stats.samples && stats.filtered && turn_to_pattern(o, file))
		return load_folded(in, file, o, name);
	if (err) {
		log_error(NULL, "cannot read %s, line %llu: %s", name, stats.lines, strerror(-err));
		return EXIT_CODE_OUTPUT;
	}
	if (stats.malformed)
		log_warn(NULL, "%s: %llu of %llu lines are not folded stacks (first: line %llu)",
			 name, stats.malformed, stats.lines, stats.first_malformed);
	if (!stats.stacks && stats.malformed) {
		log_error(NULL,
			  "%s is neither a perf.data capture nor folded stacks (lines \"a;b;c "
			  "COUNT\")",
			  name);
		return EXIT_CODE_OUTPUT;
	}
	if (stats.samples)
		return EXIT_CODE_OK;
	if (stats.filtered)
		say_none_wanted(o, name, stats.filtered, &none);
	else
		log_error(NULL, "%s has no samples", name);
	return EXIT_CODE_EMPTY;
}

/* ---- captures --------------------------------------------------------------------------------- */

static void say_oddities(const struct perf_import_stats *s, const char *name)
{
	if (s->read.unfinished)
		log_warn(NULL, "%s: the recording was cut off; showing what was saved", name);
	if (s->read.cut)
		log_warn(
			NULL,
			"%s: the file ends in the middle of a record; everything before it is used",
			name);
	if (s->read.skipped)
		log_warn(NULL, "%s: %llu of %llu records are malformed and were skipped", name,
			 s->read.skipped, s->read.records);
	if (s->mappings_refused)
		log_warn(NULL,
			 "%s: %llu mappings are more than krait holds (%u MB in all, 65,536 a "
			 "process): addresses in them have no names",
			 name, s->mappings_refused, MAPPINGS_BYTES_MAX >> 20);
	if (*s->missing_dso)
		log_warn(NULL,
			 "the names of Python functions are missing: %s (from another "
			 "machine? unpack what perf archive made into ~/.debug)",
			 s->missing_dso);
	else if (s->unresolved)
		log_warn(NULL,
			 "%llu frames have no name: krait was killed before it wrote their names",
			 s->unresolved);
}

/* Tells whether there is off-CPU time to add. */
static bool has_waits(const struct profile *p)
{
	for (unsigned i = 0; i < p->event_cnt; i++) {
		if (event_is_off_cpu(&profile__counts(p, i)->event))
			return true;
	}
	return false;
}

/* What --charge-waiters has done. */
static void say_charged(const struct charging_stats *s, const struct profile *p)
{
	const __u64 none = s->samples - s->charged - s->several;

	if (!s->samples)
		log_info(NULL, "no native thread used the CPU: --charge-waiters changes nothing");
	else if (s->charged == s->samples)
		log_info(
			NULL,
			"all %llu samples of native threads count for the lines that wait for them",
			s->samples);
	else
		log_info(NULL,
			 "%llu of %llu samples of native threads count for the line that waits for "
			 "them; several wait for %llu, and none is seen to wait for %llu%s",
			 s->charged, s->samples, s->several, none,
			 none > s->charged && !has_waits(p) ?
				 " (krait record --off-cpu sees waits)" :
				 "");
	if (s->crowded)
		log_info(
			NULL,
			"for %llu of these several, more calls were under way at once than krait looks "
			"through (1,024)",
			s->crowded);
}

const struct counts *input__shown(const struct input *in)
{
	return in->wall ? profile__counts(in->wall, 0) : profile__counts(in->profile, in->event);
}

void input_event_text(const struct input *in, char *ret, size_t size)
{
	const struct counts *c = input__shown(in);

	*ret = '\0';
	if (in->stats.events > 1 && in->stats.samples > c->samples)
		snprintf(ret, size, "%s only; %llu samples of other events are left out (--event)",
			 c->event.name, in->stats.samples - c->samples);
}

void input__say_event(const struct input *in)
{
	char text[256];

	input_event_text(in, text, sizeof(text));
	if (*text)
		log_info(NULL, "%s", text);
}

bool input_joins_time(const struct input_options *o, const struct profile *p)
{
	return o->wall || (!o->filter.event && profile__is_wall(p));
}

static int join_time(struct input *in, const char *name)
{
	if (!has_waits(in->profile)) {
		log_error(NULL, "%s has no time off the CPU: krait record --wall records it", name);
		return EXIT_CODE_EMPTY;
	}
	if (!profile__new_wall(&in->wall, in->profile))
		return EXIT_CODE_OK;
	log_error(NULL, "out of memory");
	return EXIT_CODE_OUTPUT;
}

static int load_capture(struct input *in, FILE *file, struct input_options *o, const char *name,
			input_sample_fn fn, void *ctx)
{
	const struct perf_import_config config = {
		.path = name,
		.filter = o->filter,
		.on_sample = fn,
		.ctx = ctx,
	};
	struct error err;

	in->is_capture = true;
	if (perf_import(in->profile, file, &config, &in->stats, &err)) {
		log_error(NULL, "%s", err.text);
		return err.code;
	}
	/* Nobody has got a sample yet. */
	if (!in->stats.samples && in->stats.filtered && turn_to_pattern(o, file))
		return load_capture(in, file, o, name, fn, ctx);
	in->event = in->stats.event;
	say_oddities(&in->stats, name);
	if (o->filter.charge_waiters && !o->quiet)
		say_charged(&in->stats.charging, in->profile);
	if (in->stats.samples)
		return input_joins_time(o, in->profile) ? join_time(in, name) : EXIT_CODE_OK;
	if (in->stats.filtered)
		say_none_wanted(o, name, in->stats.filtered, &in->stats);
	else if (in->stats.other_events)
		log_error(NULL, "%s: no samples of an event %s", name, o->filter.event);
	else
		log_error(NULL, "%s has no samples", name);
	return EXIT_CODE_EMPTY;
}

/* Reads the first bytes and pushes them back; glibc can push back any number. */
bool input_stream_is_capture(FILE *file)
{
	static const char *const magics[] = { "PERFILE2", "2ELIFREP" };
	char start[8];
	size_t n = fread(start, 1, sizeof(start), file);
	bool found = n == sizeof(start) && (!memcmp(start, magics[0], sizeof(start)) ||
					    !memcmp(start, magics[1], sizeof(start)));

	while (n)
		ungetc(start[--n], file);
	return found;
}

FILE *input_open(const char *path)
{
	int fd = keeper_open_named(path, O_RDONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd < 0)
		errno = -fd;
	else if (!file)
		close(fd);
	return file;
}

bool input_stat(const char *path, struct stat *ret)
{
	cleanup_close int fd = keeper_open_named(path, O_PATH);

	return fd >= 0 && !fstat(fd, ret);
}

bool input_is_capture(const char *path)
{
	cleanup_fclose FILE *file = NULL;

	if (keeper_is_there())
		return !keeper_ask_about(KEEPER_IS_CAPTURE, path);
	file = input_open(path);

	return file && input_stream_is_capture(file);
}

int input__load(struct input *ret, const struct input_options *given, const struct input *beside,
		input_sample_fn fn, void *ctx)
{
	struct input_options copy = *given, *o = &copy;
	const char *path = o->path ? o->path : INPUT_DEFAULT;
	bool is_stdin = !o->file && !strcmp(path, "-");
	cleanup_free char *buffer = NULL; /* freed after the file is closed */
	cleanup_fclose FILE *opened = is_stdin || o->file ? NULL : input_open(path);
	FILE *file = is_stdin ? stdin : opened ? opened : o->file;
	const char *name = is_stdin ? "standard input" : path;

	*ret = (struct input){ .profile = beside ? profile__new_beside(beside->profile) :
						   profile__new() };
	if (!ret->profile) {
		log_error(NULL, "out of memory");
		return EXIT_CODE_OUTPUT;
	}
	if (!file) {
		log_error(NULL, "cannot open %s: %s%s", path, strerror(errno),
			  o->path ? "" : " (record one first: krait record -p PID)");
		return EXIT_CODE_OUTPUT;
	}
	if (opened && (buffer = malloc(BUFFER_SIZE)))
		setvbuf(opened, buffer, _IOFBF, BUFFER_SIZE);
	/* A pipe cannot be read again. */
	if (fseek(file, 0, SEEK_CUR))
		o->filter.function_use = PATTERN_EITHER;
	if (!input_stream_is_capture(file) && (o->filter.no_native || o->filter.no_kernel) &&
	    !o->may_fold) {
		log_error(NULL,
			  "%s: folded stacks do not say what is native: --no-native and "
			  "--no-kernel are for captures",
			  name);
		return EXIT_CODE_USAGE;
	}
	if (!input_stream_is_capture(file))
		return load_folded(ret, file, o, name);
	return load_capture(ret, file, o, name, fn, ctx);
}

void input__free(struct input *in)
{
	profile__free(in->wall);
	profile__free(in->profile);
	in->wall = in->profile = NULL;
}
