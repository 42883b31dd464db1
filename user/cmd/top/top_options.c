/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/top_options.h"

#include <string.h>

#include "cmd/common/arguments.h"
#include "cmd/common/commands.h"
#include "cmd/record/live_options.h"
#include "cmd/record/record_events.h"
#include "cmd/record/record_targets.h"
#include "base/system/clock.h"

#define DEFAULT_HZ 99
#define DEFAULT_LIMIT 20
/* A round's screen is built as a whole. */
#define MAX_LIMIT 1000
/* Nobody can read faster rounds, and they cost time. */
#define MIN_INTERVAL_NS (NS_PER_SEC / 10)

enum {
	KEY_VIEW = 256,
	KEY_SHARES,
	KEY_SOURCE,
	KEY_JSON,
};

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "Target:", 1 },
	{ "all", 'a', 0, 0, "every Python process on this machine (the default)" },
	{ "pid", 'p', "PID[,PID...]", 0, "these processes and their children" },
	{ "name", TARGET_NAME, "GLOB", 0, "those whose command, script or module matches" },
	{ "cgroup", TARGET_CGROUP, "PATH", 0, "those in this control group (container) or below" },
	{ "user", 'u', "NAME", 0, "those of this user (name or number)" },
	{ "thread", TARGET_THREAD, "THREAD", 0, THREAD_FILTER_ABOUT },
	{ 0, 0, 0, 0, "Sampling:", 2 },
	{ "rate", 'r', "HZ", 0, "samples per second and CPU (default 99)" },
	{ "freq", 'F', "HZ", OPTION_ALIAS },
	{ LIVE_ROW_OFF_CPU, "also time off the CPU: waiting for the GIL, for anything else, "
			    "for a CPU. TIME as in krait record" },
	LIVE_NATIVE_OPTIONS,
	{ LIVE_ROW_NO_ASYNC, "for asyncio programs the thread's own stack instead of that of "
			     "tasks" },
	{ LIVE_ROW_NO_GREENLETS, "for programs with greenlet (gevent) only the stack of the "
				 "running greenlet" },
	{ 0, 0, 0, 0, "Display:", 3 },
	{ "interval", 'i', "TIME", 0, "between two rounds (default 1s)" },
	{ "rounds", 'n', "COUNT", 0, "end after so many rounds" },
	{ LIVE_ROW_DURATION, "end after 10s, 2m" },
	{ "batch", 'b', 0, 0, "plain lines (the default if the output is not a terminal)" },
	{ "json", KEY_JSON, 0, 0,
	  "for programs: --batch with one JSON object a line, one for each round (docs/READING.md)" },
	{ "view", KEY_VIEW, "NAME", 0,
	  "functions (the default), lines, processes, threads, containers, states or tree" },
	{ "sort", 's', "KEY", 0,
	  "self (the default) or total of the last round, self-all or total-all, name" },
	{ "limit", 'l', "ROWS", 0,
	  "rows of each round in plain lines (default 20; 0: all, at most "
	  "1000)" },
	{ "shares", KEY_SHARES, 0, 0,
	  "also show figures since the start as shares of a CPU, not as "
	  "seconds" },
	{ "source", KEY_SOURCE, "DIR", 0,
	  "look here for source files that are not in their original "
	  "place" },
	{ LIVE_ROW_NO_REALTIME, "do not raise krait's own priority" },
	{ 0 },
};

static const char doc[] =
	"Show what the Python programs on this machine do now: "
	"functions and their cost, second by second."
	"\v"
	"h shows the keys. 100% is one CPU.\n"
	"\n"
	"Examples:\n"
	"  krait top                          the whole machine\n"
	"  krait top -p 1234 --off-cpu        one process, and what it waits for\n"
	"  krait top --view processes         which program?\n"
	"  krait top --batch -n 1 -i 10s      the next ten seconds, as text\n"
	"\n"
	"Exit codes: 0 success; 2 usage; 3 no such process or not Python; 4 permission; 5 the kernel lacks "
	"something; 6 no samples (of --batch); 7 lines could not be written.";

static const struct {
	const char *name;
	enum rows_view view;
	bool tree;
} views[] = {
	{ "functions", ROWS_FUNCTIONS, false },	  { "lines", ROWS_LINES, false },
	{ "processes", ROWS_PROCESSES, false },	  { "threads", ROWS_THREADS, false },
	{ "containers", ROWS_CONTAINERS, false }, { "states", ROWS_STATES, false },
	{ "tree", ROWS_FUNCTIONS, true },
};

const char *top_view_name(unsigned i)
{
	return i < sizeof(views) / sizeof(views[0]) ? views[i].name : NULL;
}

static void parse_view(struct top_options *o, const char *text, struct argp_state *state)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (!strcmp(views[i].name, text)) {
			o->view = views[i].view;
			o->tree = views[i].tree;
			return;
		}
	}
	arguments_refuse(
		state,
		"--view is functions, lines, processes, threads, containers, states or tree, not \"%s\"",
		text);
}

static const char *const sorts[SORT_CNT] = {
	[SORT_SELF] = "self",		[SORT_TOTAL] = "total", [SORT_SELF_ALL] = "self-all",
	[SORT_TOTAL_ALL] = "total-all", [SORT_NAME] = "name",
};

const char *top_sort_name(unsigned i)
{
	return i < SORT_CNT ? sorts[i] : NULL;
}

static void parse_sort(struct top_options *o, const char *text, struct argp_state *state)
{
	for (enum row_sort i = 0; i < SORT_CNT; i++) {
		if (!strcmp(sorts[i], text)) {
			o->sort = i;
			return;
		}
	}
	arguments_refuse(state, "--sort is self, total, self-all, total-all or name, not \"%s\"",
			 text);
}

static void settle(struct top_options *o, struct argp_state *state)
{
	struct record_options *r = &o->record;

	if (!r->pid_cnt)
		r->all = true;
	record_targets_settle(r, state);
	if (o->interval_ns < MIN_INTERVAL_NS)
		arguments_refuse(state, "-i takes at least 100ms");
	if (!r->frequency)
		r->frequency = DEFAULT_HZ;
	record_events_settle(r, state);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct top_options *o = state->input;
	struct record_options *r = &o->record;

	switch (key) {
	case 'i':
		arguments_time(&o->interval_ns, arg, state);
		break;
	case 'n':
		o->rounds = arguments_count(arg, "-n", ARGUMENTS_COUNT_MAX, state);
		break;
	case 'b':
		o->batch = true;
		break;
	case KEY_JSON:
		o->json = o->batch = true;
		break;
	case KEY_VIEW:
		parse_view(o, arg, state);
		break;
	case 's':
		parse_sort(o, arg, state);
		break;
	case 'l':
		o->limit = arguments_count(arg, "--limit", MAX_LIMIT, state);
		o->limit = o->limit ? o->limit : MAX_LIMIT;
		break;
	case KEY_SHARES:
		o->shares = true;
		break;
	case KEY_SOURCE:
		o->source = arg;
		break;
	case ARGP_KEY_ARG:
		arguments_refuse(
			state,
			"krait top takes no arguments (extra: \"%s\"); for one process, use -p PID",
			arg);
		break;
	case ARGP_KEY_END:
		settle(o, state);
		break;
	default:
		return live_option(r, key, arg, state);
	}
	return 0;
}

void top_options_parse(struct top_options *ret, int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, NULL, doc, NULL, NULL, NULL };

	memset(ret, 0, sizeof(*ret));
	live_options_defaults(&ret->record);
	ret->interval_ns = NS_PER_SEC;
	ret->limit = DEFAULT_LIMIT;
	arguments_parse(&argp, argc, argv, 0, ret);
}
