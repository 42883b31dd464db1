/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - "krait report": shows the hottest functions, lines, threads, processes, programs or
 * origins of a capture or of folded stacks, or its call tree.
 */
#include "cmd/common/commands.h"

#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "cmd/common/input.h"
#include "cmd/common/pager.h"
#include "cmd/common/printed.h"
#include "cmd/report/browser.h"
#include "cmd/top/terminal.h"
#include "output/text/call_tree.h"
#include "output/text/column_table.h"
#include "output/text/gil_table.h"
#include "output/text/opcode_table.h"
#include "output/text/origin_table.h"
#include "output/text/summary.h"
#include "output/text/thread_table.h"
#include "profile/waits.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/text/pattern.h"
#include "base/text/json.h"

/* Nodes below this share say little and hide the rest. */
#define TREE_MIN_PERCENT 1.0
/* The default limit on stacks in perf report and perf script. */
#define PERF_MAX_STACK 127
/* Whose code it is: --by origin shows all. */
#define ORIGIN_ROWS 8

enum option_key {
	OPTION_TREE = 256,
	OPTION_LINES,
	OPTION_MIN_PERCENT,
	OPTION_BY,
	OPTION_CHILDREN,
	OPTION_CALLERS,
	OPTION_CALLEES,
	OPTION_UNIT,
	OPTION_COLOR,
	OPTION_NO_PAGER,
	OPTION_KERNEL,
	OPTION_STATS,
	OPTION_COMMS,
	OPTION_DSOS,
	OPTION_SYMBOL_FILTER,
	OPTION_STDIO,
	OPTION_NO_CHILDREN,
	OPTION_JSON,
	OPTION_TUI,
	OPTION_SOURCE,
};

enum report_by {
	BY_FUNCTION,
	BY_LINE,
	BY_THREAD,
	BY_PROCESS,
	BY_PROGRAM,
	BY_ORIGIN,
	BY_GIL,
	BY_OPCODE,
	BY_CNT
};

static const char *const by_names[BY_CNT] = { "function", "line",   "thread", "process",
					      "program",  "origin", "gil",    "opcode" };

struct report_options {
	struct gil_table *gil; /* NULL: not requested */
	int gil_err;
	struct input_options input;
	struct summary_options summary;
	enum report_by by;
	struct column_options columns;
	bool by_columns; /* some of these were given */
	const char *source_dir; /* for --tui; NULL: none */
	const char *about; /* whose callers or callees to show; NULL: not requested */
	bool callees, tree, by_given, min_given, limit_given, no_pager, json, tui;
};

static const struct argp_option option_table[] = {
	{ 0, 0, 0, 0, "Report:", 2 },
	{ "by", OPTION_BY, "WHAT", 0,
	  "one row for each function (the default; several programs come first, whose code it is comes "
	  "after), "
	  "line, thread, process, program (processes that run the same script "
	  "or module), or origin: the interpreter, libc, the kernel, the "
	  "standard library, your own code, each package of site-packages "
	  "with its Python and its C, other libraries. gil: for the lock of "
	  "each interpreter, who waits for it, who holds it meanwhile and who "
	  "hands it to whom (record --off-cpu). opcode: the interpreter's "
	  "instructions, and which hot ones are not specialised (record "
	  "--opcodes); --function limits them to a function",
	  0 },
	{ "sort", 's', "COLUMN[,COLUMN...]", 0,
	  "self (the default) or total: order of the table; or a row for each combination of perf's columns comm, pid, tid, "
	  "dso, symbol, srcline, by what ended there",
	  0 },
	{ "fields", 'F', "COLUMN[,COLUMN...]", 0,
	  "these columns of perf's: overhead, sample, period, and those of --sort", 0 },
	{ "comms", OPTION_COMMS, "NAME[,NAME...]", 0,
	  "a table as with --sort comm,dso,symbol, only of these threads' names", 0 },
	{ "dsos", OPTION_DSOS, "FILE[,FILE...]", 0,
	  "the same, only of these libraries and Python files: libc.so.6, app.py", 0 },
	{ "symbols", 'S', "NAME[,NAME...]", 0, "the same, only of these functions", 0 },
	{ "symbol-filter", OPTION_SYMBOL_FILTER, "TEXT", 0,
	  "the same, only of functions whose name contains TEXT", 0 },
	{ "children", OPTION_CHILDREN, NULL, 0,
	  "like --sort total: time in a function and everything that it "
	  "calls",
	  0 },
	{ "no-children", OPTION_NO_CHILDREN, NULL, 0, "like --sort self (the default)", 0 },
	{ "limit", 'n', "ROWS", 0, "rows of the table, 0 for all (default 20)", 0 },
	{ "lines", OPTION_LINES, NULL, 0, "one row or node per line, not per function", 0 },
	{ "tree", OPTION_TREE, NULL, 0, "print the call tree", 0 },
	{ "call-graph", 'g', "MODE", OPTION_ARG_OPTIONAL,
	  "as in perf: the call tree, whatever the mode; none: a table without it", 0 },
	{ "callers", OPTION_CALLERS, "NAME", 0,
	  "print who calls the functions NAME (as for --function), as a tree from there to the root; lock, io, sleep: "
	  "who waits for that",
	  0 },
	{ "callees", OPTION_CALLEES, "NAME", 0,
	  "print what the functions NAME call, wherever they are called from", 0 },
	{ "kernel", OPTION_KERNEL, NULL, 0,
	  "with --tree, --callers and --callees: also the kernel's functions below a wait", 0 },
	{ "unit", OPTION_UNIT, "time|samples", 0,
	  "print the time that samples stand for (default) or their "
	  "number",
	  0 },
	{ "stats", OPTION_STATS, NULL, 0,
	  "also how every interrupt of the recording ended: complete, truncated or lost, and why",
	  0 },
	{ "json", OPTION_JSON, "lines", OPTION_ARG_OPTIONAL,
	  "functions or lines for programs: one JSON object, without a limit unless -n gives one, or "
	  "with =lines one a row, each on its line (docs/READING.md)",
	  0 },
	{ "no-pager", OPTION_NO_PAGER, 0, 0, PAGER_HELP, 0 },
	{ "tui", OPTION_TUI, 0, 0,
	  "browse on the terminal: callers and callees, threads, programs, files, source, search; ? there lists the keys",
	  0 },
	{ "source", OPTION_SOURCE, "DIR", 0,
	  "with --tui: look here for source files that are not in their original place", 0 },
	{ "stdio", OPTION_STDIO, 0, 0, "print text (the default)", 0 },
	{ "color", OPTION_COLOR, "always|never|auto", OPTION_ARG_OPTIONAL,
	  "auto (the default): on a terminal, unless NO_COLOR is set", 0 },
	{ "min-percent", OPTION_MIN_PERCENT, "SHARE", 0,
	  "leave out rows with a smaller share of the samples (default 1 "
	  "with --tree, --callers and --callees, else 0)",
	  0 },
	{ "percent-limit", OPTION_MIN_PERCENT, "SHARE", OPTION_ALIAS, NULL, 0 },
	{ 0 }
};

const char *report_by_name(unsigned i)
{
	return i < BY_CNT ? by_names[i] : NULL;
}

const char *report_field_name(unsigned i)
{
	return column_name(i);
}

const char *report_sort_name(unsigned i)
{
	static const char *const own[] = { "self", "total" };

	return i < 2 ? own[i] : column_name(i - 2);
}

static enum report_by parse_by(const char *arg, struct argp_state *state)
{
	for (int i = 0; i < BY_CNT; i++) {
		if (*arg && !strncmp(by_names[i], arg, strlen(arg)))
			return (enum report_by)i;
	}
	arguments_refuse(
		state,
		"--by is function, line, thread, process, program, origin, gil or opcode, not \"%s\"",
		arg);
	return BY_FUNCTION;
}

static void parse_color(struct report_options *o, const char *arg, struct argp_state *state)
{
	if (strcmp(arg, "always") && strcmp(arg, "never") && strcmp(arg, "auto"))
		arguments_refuse(state, "--color is always, never or auto, not \"%s\"", arg);
	if (strcmp(arg, "auto"))
		o->summary.color = !strcmp(arg, "always");
}

/* self and total are orders of krait's own table. */
static void parse_columns(struct report_options *o, const char *arg, const char *option,
			  struct argp_state *state)
{
	const char *word = arg;
	int err = column_options_add(&o->columns, arg, &word);

	if (err)
		arguments_refuse(state, "%s takes %s%s, not \"%.*s\"", option,
				 strcmp(option, "--sort") ? "" : "self, total, or ", column_names,
				 (int)strcspn(word, ","), word);
	o->by_columns = true;
}

static void parse_sort(struct report_options *o, const char *arg, struct argp_state *state)
{
	if (!strcmp(arg, "self") || !strcmp(arg, "total"))
		o->summary.sort = strcmp(arg, "self") ? SUMMARY_TOTAL : SUMMARY_SELF;
	else
		parse_columns(o, arg, "--sort", state);
}

/* perf takes the mode also as a word of its own: -g none. */
static void parse_graph(struct report_options *o, const char *arg, struct argp_state *state)
{
	static const char *const modes[] = { "none",   "flat",	 "graph", "fractal",
					     "folded", "caller", "callee" };
	const char *next = state->next < state->argc ? state->argv[state->next] : "";

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && !arg; i++) {
		if (strncmp(next, modes[i], strlen(modes[i])) ||
		    (next[strlen(modes[i])] && next[strlen(modes[i])] != ','))
			continue;
		arg = next;
		state->next++;
	}
	o->tree = !arg || strcmp(arg, "none");
}

/* Options that choose rows of the table of columns. False: it is another one. */
static bool take_rows(struct report_options *o, int key, const char *arg)
{
	const char **to = key == OPTION_COMMS	      ? &o->columns.comms :
			  key == OPTION_DSOS	      ? &o->columns.dsos :
			  key == 'S'		      ? &o->columns.symbols :
			  key == OPTION_SYMBOL_FILTER ? &o->columns.symbol_filter :
							NULL;

	if (!to)
		return false;
	*to = arg;
	o->by_columns = true;
	return true;
}

static void check(const struct report_options *o, struct argp_state *state)
{
	if ((o->tree || o->about) && o->by > BY_LINE)
		arguments_refuse(state,
				 "--tree, --callers and --callees need --by function or --by line");
	if (o->tree && o->about)
		arguments_refuse(
			state,
			"--tree goes from the root, --callers and --callees from a function: choose one");
	if (o->json && (o->tree || o->about || o->by > BY_LINE || o->by_columns))
		arguments_refuse(
			state,
			"--json has functions or lines: only with --by function or --by line");
	if (o->tui && (o->json || o->tree || o->about || o->by_given || o->by_columns))
		arguments_refuse(
			state,
			"--tui browses functions: leave out --by, --sort, --json, --tree, --callers and --callees");
	if (o->source_dir && !o->tui)
		arguments_refuse(state, "--source is for --tui: krait annotate prints source");
	if (o->by_columns && o->by_given)
		arguments_refuse(state, "--by chooses one kind of row, --sort and the like several "
					"columns: choose one");
	if (o->by_columns && o->about)
		arguments_refuse(
			state, "--callers and --callees print a tree, --sort and the like a table: "
			       "choose one");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct report_options *o = state->input;

	if (take_rows(o, key, arg))
		return 0;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->input;
		return 0;
	case 's':
		parse_sort(o, arg, state);
		return 0;
	case 'F':
		parse_columns(o, arg, "-F", state);
		return 0;
	case 'g':
		parse_graph(o, arg, state);
		return 0;
	case OPTION_STDIO:
		o->tui = false;
		return 0;
	case OPTION_SOURCE:
		o->source_dir = arg;
		return 0;
	case OPTION_TUI:
		o->tui = true;
		return 0;
	case OPTION_NO_CHILDREN:
		o->summary.sort = SUMMARY_SELF;
		return 0;
	case 'n':
		o->summary.limit = arguments_count(arg, "--limit", ARGUMENTS_COUNT_MAX, state);
		o->limit_given = true;
		return 0;
	case OPTION_BY:
		o->by = parse_by(arg, state);
		o->by_given = true;
		return 0;
	case OPTION_CHILDREN:
		o->summary.sort = SUMMARY_TOTAL;
		return 0;
	case OPTION_TREE:
		o->tree = true;
		return 0;
	case OPTION_KERNEL:
		o->summary.wait_kernel = true;
		return 0;
	case OPTION_LINES:
		o->summary.lines = true;
		return 0;
	case OPTION_CALLERS:
	case OPTION_CALLEES:
		if (o->about)
			arguments_refuse(state, "one --callers or --callees at a time");
		o->about = arg;
		o->callees = key == OPTION_CALLEES;
		return 0;
	case OPTION_UNIT:
		if (strcmp(arg, "time") && strcmp(arg, "samples"))
			arguments_refuse(state, "--unit is time or samples, not \"%s\"", arg);
		o->summary.samples = !strcmp(arg, "samples");
		return 0;
	case OPTION_STATS:
		o->summary.stats = true;
		return 0;
	case OPTION_JSON:
		o->json = true;
		o->summary.json_lines = arg != NULL;
		if (arg && strcmp(arg, "lines"))
			arguments_refuse(state, "--json takes =lines or nothing, not \"%s\"", arg);
		return 0;
	case OPTION_NO_PAGER:
		o->no_pager = true;
		return 0;
	case OPTION_COLOR:
		parse_color(o, arg ? arg : "always", state);
		return 0;
	case OPTION_MIN_PERCENT:
		o->summary.min_percent = arguments_percent(arg, "--min-percent", 0, 100, state);
		o->min_given = true;
		return 0;
	case ARGP_KEY_END:
		check(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[FILE]",
	.doc = "Print the hottest functions of a capture, or of folded stacks of any tool."
	       "\vExamples:\n"
	       "  krait report                              the hottest of perf.data\n"
	       "  krait report --by line -n 40 other.data\n"
	       "  krait report --by program                 which program uses the CPU\n"
	       "  krait report --by origin                  numpy, libc, kernel, your code\n"
	       "  krait report --by opcode --function total instructions, of record --opcodes\n"
	       "  krait report --tree --min-percent 2 --comm worker out.data\n"
	       "  krait report --sort comm,dso,symbol       perf's columns\n"
	       "  krait report --callers Cart.total         who calls it, and for how much\n"
	       "  krait report --callees Cart.total         what it calls\n"
	       "  krait report --callers lock               who waits for a lock, and where\n"
	       "  krait report --tui                        browse it\n"
	       "  krait report --json | jq '.events[0].rows[].function'\n"
	       "  krait record -p PID -f folded -o - | krait report -\n",
	.children = input_children,
};

/* Without special requests, the programs come first, and whose code it is follows. */
static int print_overview(const struct report_options *o, const struct counts *c)
{
	struct summary_options summary = o->summary;
	int err = o->by_given ? 0 : program_table(stdout, c, &o->summary);

	summary.origins = o->by_given ? 0 : ORIGIN_ROWS;
	return err ? err : summary_table(stdout, c, &summary);
}

static int print_event(const struct report_options *o, const struct counts *c)
{
	/* perf prints both; the tree has the rows, too, but not a choice of them. */
	if (o->by_columns && (!o->tree || o->columns.comms || o->columns.dsos ||
			      o->columns.symbols || o->columns.symbol_filter))
		return column_table(stdout, c, &o->columns, &o->summary);
	if (o->about)
		return (o->callees ? callees_tree : callers_tree)(stdout, c, o->about, &o->summary);
	if (o->tree)
		return call_tree(stdout, c, &o->summary);
	if (o->by == BY_OPCODE)
		return opcode_table(stdout, c, o->input.filter.function, &o->summary);
	if (o->by == BY_ORIGIN)
		return origin_table(stdout, c, &o->summary);
	if (o->by >= BY_THREAD)
		return thread_table(stdout, c, &o->summary,
				    o->by == BY_THREAD	? ROWS_THREADS :
				    o->by == BY_PROCESS ? ROWS_PROCESSES :
							  ROWS_PROGRAMS);
	return print_overview(o, c);
}

/* Prints a section for each event that has samples. */
static int print_report(const struct report_options *o, struct input *in)
{
	unsigned cnt = in->profile->event_cnt, printed = 0, found = 0;
	int err = 0;

	if (in->wall) {
		printf("# event %s\n", EVENT_WALL);
		return print_event(o, input__shown(in));
	}
	for (unsigned i = 0; i < cnt && !err; i++) {
		const struct counts *c = profile__counts(in->profile, i);

		if (cnt > 1 && !c->samples)
			continue;
		if (in->stats.events > 1)
			printf("%s# event %s\n", printed++ ? "\n" : "", c->event.name);
		err = print_event(o, c);
		found += err != -ENOENT;
		err = err == -ENOENT ? 0 : err;
	}
	return err ? err : found ? 0 : -ENOENT;
}

/* An array of events with samples. */
static int put_json_events(struct json *j, const struct report_options *o, struct input *in)
{
	int err = 0;

	for (unsigned i = 0; i < (in->wall ? 1 : in->profile->event_cnt) && !err; i++) {
		const struct counts *c = in->wall ? input__shown(in) :
						    profile__counts(in->profile, i);

		if (in->profile->event_cnt > 1 && !c->samples)
			continue;
		json_open_object(j);
		if (o->summary.json_lines)
			printed_json_head(j, "report");
		err = summary_json(j, c, &o->summary);
		if (!o->summary.json_lines)
			json_close_object(j);
	}
	return err;
}

static int print_json(const struct report_options *o, struct input *in)
{
	struct json j = { .out = stdout };
	int err;

	if (o->summary.json_lines) {
		err = put_json_events(&j, o, in);
		return err ? err : json_finish(&j);
	}
	json_open_object(&j);
	printed_json_head(&j, "report");
	json_put_array(&j, "events");
	err = put_json_events(&j, o, in);
	json_close_array(&j);
	json_close_object(&j);
	putchar('\n');
	return err ? err : json_finish(&j);
}

static void take_sample(void *ctx, const struct profile *p, const struct profile_sample *s)
{
	struct report_options *o = ctx;

	if (!o->gil_err)
		o->gil_err = gil_table__add(o->gil, p, s);
}

static int print_gil(struct report_options *o, const struct input *in)
{
	int err = o->gil_err;

	if (!err)
		err = gil_table__print(o->gil, stdout, in->profile, &o->summary);
	return err;
}

/* ---- browsing ----------------------------------------------------------------------------------- */

/* How long to sleep: without a controlling terminal, no signal says that its size has changed. */
#define BROWSE_MS 250

static int show(struct terminal *t, struct browser *b, bool utf8)
{
	struct screen screen;
	unsigned rows, columns;

	terminal__size(t, &rows, &columns);
	if (screen_init(&screen, rows, columns, utf8))
		return -ENOMEM;
	browser_draw(b, &screen);
	terminal__show(t, &screen);
	screen_free(&screen);
	return 0;
}

static int browse_on(struct terminal *t, struct browser *b, bool utf8)
{
	struct pollfd fd = { .fd = terminal__fd(t), .events = POLLIN };
	int key, err = 0;

	terminal__take_all_keys(t);
	while (!err) {
		err = show(t, b, utf8);
		(void)!poll(&fd, 1, BROWSE_MS);
		while ((key = terminal__key(t)) != TERMINAL_NO_KEY)
			if (key == TERMINAL_GONE || !browser_key(b, key))
				return b->view ? 0 : -ENOMEM;
	}
	return err;
}

/* Returns an exit code. */
static int browse(const struct report_options *o, const struct input *in)
{
	const struct counts *shown = input__shown(in);
	struct counts *waits = waits_are_in(shown) ? waits__new_of_functions(shown) : NULL;
	const bool utf8 = terminal_utf8();
	struct terminal *t = NULL;
	struct browser b;
	int err = browser_init(&b, waits ? waits : shown,
			       o->input.path ? o->input.path : "perf.data");

	b.source_dir = o->source_dir;
	input_event_text(in, b.message, sizeof(b.message));
	if (waits_are_in(shown) && !waits)
		err = -ENOMEM;
	if (!err && !(t = terminal__open(utf8)))
		err = -errno;
	if (!err)
		err = browse_on(t, &b, utf8);
	terminal__close(t);
	browser_free(&b);
	counts__free(waits);
	if (!err)
		return EXIT_CODE_OK;
	log_error(NULL, "--tui: %s",
		  err == -ENOTTY ? "this terminal is not known here (TERM)" : strerror(-err));
	return EXIT_CODE_OUTPUT;
}

/* Did the programs mostly wait, and nothing of that was recorded? */
static bool is_idle(const struct input *in)
{
	return in->stats.is_krait && in->profile->event_cnt == 1 && !in->stats.filtered &&
	       report_is_idle(input__shown(in));
}

int cmd_report(int argc, char **argv)
{
	struct report_options o = { 0 };
	struct pager pager;
	struct input in;
	int err, code;

	summary_options_init(&o.summary, stdout);
	if (arguments_parse(&parser, argc, argv, ARGUMENTS_READS, &o))
		return EXIT_CODE_USAGE;
	if ((o.tree || o.about) && !o.min_given)
		o.summary.min_percent = TREE_MIN_PERCENT;
	if (o.tui && !terminal_suits()) {
		log_error(NULL, "--tui needs a terminal: krait report without it prints text");
		return EXIT_CODE_USAGE;
	}
	if (o.json && !o.limit_given)
		o.summary.limit = 0;
	if (o.by == BY_LINE)
		o.summary.lines = true;
	o.input.filter.sources |= o.summary.lines;
	if (o.by == BY_GIL && !(o.gil = gil_table__new()))
		return EXIT_CODE_OUTPUT;
	code = input__load(&in, &o.input, NULL, o.gil ? take_sample : NULL, &o);
	if (code == EXIT_CODE_OK && o.tui) {
		code = browse(&o, &in);
	} else if (code == EXIT_CODE_OK) {
		pager_start(&pager, !o.no_pager && !o.json);
		o.summary.can_leave_kernel = in.is_capture;
		err = o.gil  ? print_gil(&o, &in) :
		      o.json ? print_json(&o, &in) :
			       print_report(&o, &in);
		pager_end(&pager);
		/* A reader such as head that has seen enough is no error. */
		if (err == -ENOENT && !o.about) {
			log_error(NULL,
				  "nothing in the samples has these --comms, --dsos and --symbols; "
				  "krait report --sort comm,dso,symbol shows what there is");
			code = EXIT_CODE_EMPTY;
		} else if (err == -ENOENT) {
			log_error(NULL, "no function \"%s\" in the samples%s%s%s", o.about,
				  pattern_is_glob(o.about) ? "" : " (a pattern such as *.",
				  pattern_is_glob(o.about) ? "" : o.about,
				  pattern_is_glob(o.about) ? "" : " may help)");
			code = EXIT_CODE_EMPTY;
		} else if (err == -ENODATA && o.by == BY_OPCODE) {
			log_error(
				NULL,
				"no sample has an opcode; record them with krait record --opcodes");
			code = EXIT_CODE_EMPTY;
		} else if (err == -ENODATA) {
			log_error(NULL,
				  "no sample says which interpreter's lock it belongs to; record "
				  "that with krait record --off-cpu");
			code = EXIT_CODE_EMPTY;
		} else {
			code = printed("report", err);
		}
		if (!o.gil && is_idle(&in))
			log_info(
				NULL,
				"the programs hardly used a CPU; krait record --wall also shows what they wait for");
		if (in.stats.max_depth > PERF_MAX_STACK)
			log_info(NULL,
				 "stacks are up to %u frames deep; perf shows them whole "
				 "with --max-stack %u",
				 in.stats.max_depth, in.stats.max_depth);
	}
	gil_table__free(o.gil);
	input__free(&in);
	return code;
}
