/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.c - "krait diff": shows what changed from one capture to another.
 */
#include "cmd/common/keeper_serve.h"
#include "cmd/common/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "cmd/common/input.h"
#include "cmd/common/page_sources.h"
#include "cmd/common/printed.h"
#include "output/text/diff.h"
#include "output/text/gate.h"
#include "output/text/text_report.h"
#include "base/data/cleanup.h"
#include "profile/waits.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/output_file.h"
#include "base/text/json.h"
#include "base/text/units.h"

#define DEFAULT_ROWS 20
#define DEFAULT_MIN_POINTS 0.05

enum option_key {
	OPTION_UNIT = 256,
	OPTION_JSON,
	OPTION_OPEN,
	OPTION_FAIL_ABOVE,
	OPTION_WORK,
	OPTION_JUNIT,
};

/* Captures in all. */
#define MAX_CAPTURES 128

struct diff_command {
	struct input_options input;
	struct diff_options diff;
	struct gate_options gate;
	const char *paths[MAX_CAPTURES]; /* those of A, then those of B */
	unsigned cnt[2];
	const char *output, *junit;
	bool json, open, limit_given, sort_given, has_vs, has_gate;
};

static const struct argp_option option_table[] = {
	{ 0, 0, 0, 0, "Output:", 2 },
	{ "output", 'o', "FILE", 0, "write to FILE; a flame graph if it ends in .html", 0 },
	PAGE_OPEN_OPTION(OPTION_OPEN),
	{ "sort", 's', "self|total", 0, "order by the change of self or of total (default self)",
	  0 },
	{ "limit", 'n', "ROWS", 0, "rows of the table, 0 for all (default 20)", 0 },
	{ "min-points", 'm', "POINTS", 0,
	  "leave out functions that changed by less, in percentage points "
	  "(default 0.05)",
	  0 },
	{ "input", 'i', "FILE", OPTION_HIDDEN },
	{ "json", OPTION_JSON, NULL, 0,
	  "for programs: one JSON object, without a limit unless -n gives one (docs/READING.md)",
	  0 },
	{ "unit", OPTION_UNIT, "time|samples", 0,
	  "beside shares, print the time that samples stand for (default) or their "
	  "number",
	  0 },
	{ 0, 0, 0, 0, "For CI:", 3 },
	{ "fail-above", OPTION_FAIL_ABOVE, "SHARE[:FUNCTION|total]", 0,
	  "exit with 9 if any function, FUNCTION with what it calls, or the total (only with --work) grows by more than "
	  "SHARE (5%), beyond chance: once in 50,000 comparisons of equal programs. A function grows against the rest of "
	  "the program, or with --work by what it costs. More "
	  "captures a side say how much runs differ (krait diff old*.data vs new*.data)",
	  0 },
	{ "work", OPTION_WORK, "N[,M]", 0,
	  "each capture did N units of work (M: those of B), such as requests: compare the cost of "
	  "one, not shares. 1: all did the same",
	  0 },
	{ "junit", OPTION_JUNIT, "FILE", 0, "also write the verdicts as JUnit's XML", 0 },
	{ 0 },
};

static double parse_points(const char *arg, struct argp_state *state)
{
	char *end;
	double value = strtod(arg, &end);

	if (end == arg || *end || !(value >= 0 && value <= 1e6))
		arguments_refuse(state, "--min-points is a number, not \"%s\"", arg);
	return value;
}

static void parse_gate(struct diff_command *c, const char *arg, struct argp_state *state)
{
	char *end;

	c->has_gate = true;
	c->gate.above = strtod(arg, &end);
	end += *end == '%';
	if (end == arg || !(c->gate.above >= 0 && c->gate.above <= 1e6) || (*end && *end != ':') ||
	    (*end && !end[1]))
		arguments_refuse(state,
				 "--fail-above takes a share such as 5%%, 5%%:FUNCTION or "
				 "5%%:total, not \"%s\"",
				 arg);
	c->gate.whole = !strcmp(end, ":total");
	c->gate.function = *end && !c->gate.whole ? end + 1 : NULL;
}

static void parse_work(struct diff_command *c, const char *arg, struct argp_state *state)
{
	char *end;

	c->gate.work[0] = c->gate.work[1] = strtod(arg, &end);
	if (end != arg && *end == ',')
		c->gate.work[1] = strtod(end + 1, &end);
	if (end == arg || *end || !(c->gate.work[0] > 0 && c->gate.work[0] < 1e300) ||
	    !(c->gate.work[1] > 0 && c->gate.work[1] < 1e300))
		arguments_refuse(state, "--work takes a number of units, or two: N,M; not \"%s\"",
				 arg);
}

/* "vs" is between the captures of A and those of B; with two captures there is no need of it. */
static void add_path(struct diff_command *c, const char *arg, struct argp_state *state)
{
	if (!strcmp(arg, "vs") && !c->has_vs && c->cnt[0]) {
		c->has_vs = true;
		return;
	}
	if (c->cnt[0] + c->cnt[1] == MAX_CAPTURES)
		arguments_refuse(state, "at most %d captures", MAX_CAPTURES);
	c->paths[c->cnt[0] + c->cnt[1]] = arg;
	c->cnt[c->has_vs]++;
}

static void settle(struct diff_command *c, struct argp_state *state)
{
	if (!c->cnt[0])
		arguments_refuse(state, "nothing to compare: name two captures");
	if (!c->has_vs && c->cnt[0] > 2)
		arguments_refuse(
			state,
			"more than two captures: put \"vs\" between those of before and those of after");
	if (c->has_vs && !c->cnt[1])
		arguments_refuse(state, "nothing follows \"vs\"");
	if (!c->has_vs && c->cnt[0] == 1)
		c->paths[1] = INPUT_DEFAULT;
	if (!c->has_vs)
		c->cnt[0] = c->cnt[1] = 1;
	if (!c->has_gate && (c->junit || c->gate.work[0] > 0))
		arguments_refuse(state, "%s goes with --fail-above",
				 c->junit ? "--junit" : "--work");
	if (c->gate.whole && !(c->gate.work[0] > 0))
		arguments_refuse(
			state,
			"a total is compared by --work N: the units of work that each capture did");
	if (c->open)
		page_must_be_among(&c->output, 1, state);
	c->gate.by_total = c->sort_given ? c->diff.by_total : c->gate.function != NULL;
	c->gate.min_points = c->diff.min_points;
	c->gate.limit = c->diff.limit;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct diff_command *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->input;
		break;
	case 'o':
		c->output = arg;
		keeper_names_output(arg);
		break;
	case 's':
		if (strcmp(arg, "self") && strcmp(arg, "total"))
			arguments_refuse(state, "--sort is self or total, not \"%s\"", arg);
		c->diff.by_total = !strcmp(arg, "total");
		c->sort_given = true;
		break;
	case 'n':
		c->diff.limit = arguments_count(arg, "--limit", ARGUMENTS_COUNT_MAX, state);
		c->limit_given = true;
		break;
	case 'm':
		c->diff.min_points = parse_points(arg, state);
		break;
	case OPTION_OPEN:
		c->open = true;
		break;
	case OPTION_FAIL_ABOVE:
		parse_gate(c, arg, state);
		break;
	case OPTION_WORK:
		parse_work(c, arg, state);
		break;
	case OPTION_JUNIT:
		c->junit = arg;
		keeper_names_output(arg);
		break;
	case OPTION_JSON:
		c->json = true;
		break;
	case OPTION_UNIT:
		if (strcmp(arg, "time") && strcmp(arg, "samples"))
			arguments_refuse(state, "--unit is time or samples, not \"%s\"", arg);
		c->diff.samples = !strcmp(arg, "samples");
		break;
	case ARGP_KEY_ARG:
		add_path(c, arg, state);
		break;
	case 'i':
		arguments_refuse(state, "name the two captures as arguments, not with -i");
		break;
	case ARGP_KEY_END:
		settle(c, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "A [B]\nA... vs B...",
	.doc = "Compare two captures, or folded stacks: B (default " INPUT_DEFAULT
	       ") with A, by shares of the samples, and the times of both."
	       "\vExamples:\n"
	       "  krait diff before.data after.data\n"
	       "  krait diff before.data after.data -o diff.html   a red and blue flame graph\n"
	       "  krait diff --sort total --comm worker old.data\n"
	       "  krait diff --fail-above 5% old*.data vs new*.data     for CI: exits with 9\n"
	       "  krait diff --fail-above 3%:total --work 1000 old*.data vs new*.data\n",
	.children = input_filters,
};

/* What is compared: of each capture, and the sums of both sides. */
struct compared {
	struct input in[MAX_CAPTURES];
	const struct counts *each[MAX_CAPTURES]; /* of functions, if they have waits */
	struct counts *own[MAX_CAPTURES], *own_sides[2];
	const struct counts *sides[2];
	unsigned cnt;
};

static void compared_free(struct compared *x)
{
	for (unsigned i = 0; i < x->cnt; i++)
		counts__free(x->own[i]);
	for (int side = 0; side < 2; side++)
		counts__free(x->own_sides[side]);
	/* Later profiles use the first one's dictionary. */
	for (unsigned i = x->cnt; i-- > 0;)
		input__free(&x->in[i]);
	free(x);
}

static int put_json(FILE *out, const struct compared *x, const struct diff_options *o,
		    const struct gate *gate)
{
	struct json j = { .out = out };
	int err;

	json_open_object(&j);
	printed_json_head(&j, "diff");
	err = diff_json(&j, x->sides[0], x->sides[1], o);
	if (gate)
		gate__json(gate, &j);
	json_close_object(&j);
	putc('\n', out);
	return err ? err : json_finish(&j);
}

static int write_diff(const struct diff_command *c, const struct compared *x,
		      const struct gate *gate)
{
	cleanup_output_file struct output_file *file = NULL;
	int err = printed_open(&file, c->output);
	FILE *out;

	if (err)
		return err;
	out = output_file__stream(file);
	err = c->json			 ? put_json(out, x, &c->diff, gate) :
	      printed_is_page(c->output) ? diff_page(out, x->sides[0], x->sides[1], &c->diff) :
					   diff_table(out, x->sides[0], x->sides[1], &c->diff);
	return printed_finish(file, c->output, err);
}

static int write_junit(const struct diff_command *c, const struct gate *gate)
{
	cleanup_output_file struct output_file *file = NULL;
	int err = printed_open(&file, c->junit);

	if (err)
		return err;
	return printed_finish(file, c->junit, gate__junit(gate, output_file__stream(file)));
}

static int explain_gate(const struct diff_command *c, int err)
{
	if (err == -ENOENT)
		log_error(NULL, "no function \"%s\" in the captures",
			  c->gate.function ? c->gate.function : "");
	else if (err == -ERANGE)
		log_error(NULL, "%s: name at least three captures a side",
			  c->gate.whole ? "one total does not say how much runs differ" :
					  "times of waits are no random samples");
	else if (err == -ENODATA)
		log_error(NULL, "a capture has no samples, so nothing can be said");
	else
		log_error(NULL, "%s", strerror(-err));
	return err == -ERANGE ? EXIT_CODE_USAGE :
	       err == -ENOMEM ? EXIT_CODE_OUTPUT :
				EXIT_CODE_EMPTY;
}

/* The verdicts, and what else is asked for. */
static int judge(const struct diff_command *c, const struct compared *x)
{
	struct gate *gate;
	int err = gate__new(&gate, x->each, c->cnt[0], c->cnt[1], &c->gate), code = EXIT_CODE_OK;

	if (err)
		return explain_gate(c, err);
	if (!c->json) {
		for (int side = 0; side < 2; side++) {
			char samples[32];

			format_count(samples, sizeof(samples), x->sides[side]->samples);
			printf("%c: %s, %u capture%s, %s samples\n", "AB"[side],
			       side ? c->diff.name_b : c->diff.name_a, c->cnt[side],
			       c->cnt[side] == 1 ? "" : "s", samples);
		}
		code = printed(NULL, gate__print(gate, stdout));
	}
	if (code == EXIT_CODE_OK && (c->json || c->output))
		code = write_diff(c, x, gate);
	if (code == EXIT_CODE_OK && c->junit)
		code = write_junit(c, gate);
	if (code == EXIT_CODE_OK && gate__failures(gate))
		code = EXIT_CODE_SLOWER;
	gate__free(gate);
	return code;
}

/* Page faults cannot be compared with time. Folded stacks do not say what they count. */
static int check_event(const struct compared *x, unsigned number, unsigned cnt_a)
{
	const struct event_spec *one = &input__shown(&x->in[0])->event;
	const struct event_spec *other = &input__shown(&x->in[number])->event;

	if (!x->in[0].is_capture || !x->in[number].is_capture ||
	    (one->type == other->type && one->config == other->config))
		return EXIT_CODE_OK;
	log_error(NULL, "A counts %s and %c counts %s; --event chooses one that both have",
		  one->name, number < cnt_a ? 'A' : 'B', other->name);
	return EXIT_CODE_USAGE;
}

static int load(struct diff_command *c, struct compared *x)
{
	int code = EXIT_CODE_OK;

	for (unsigned i = 0; i < c->cnt[0] + c->cnt[1] && code == EXIT_CODE_OK; i++) {
		c->input.path = c->paths[i];
		code = input__load(&x->in[i], &c->input, i ? &x->in[0] : NULL, NULL, NULL);
		if (code != EXIT_CODE_OK)
			break;
		x->cnt++;
		input__say_event(&x->in[i]);
		code = check_event(x, i, c->cnt[0]);
	}
	return code;
}

/* Of a side's recordings together; 0: that of one is unknown. */
static double length_of(const struct compared *x, unsigned first, unsigned cnt)
{
	double sum = 0;

	for (unsigned i = first; i < first + cnt; i++) {
		if (!(x->in[i].stats.recording.seconds > 0))
			return 0;
		sum += x->in[i].stats.recording.seconds;
	}
	return sum;
}

/* Sums up each side, and charges waits to functions. Returns 0 or -errno. */
static int add_up(struct diff_command *c, struct compared *x)
{
	bool have_waits = false;
	int err = 0;

	for (unsigned i = 0; i < x->cnt; i++) {
		x->each[i] = input__shown(&x->in[i]);
		have_waits |= waits_are_in(x->each[i]);
	}
	for (int side = 0; side < 2 && !err; side++) {
		const unsigned first = side ? c->cnt[0] : 0;

		x->sides[side] = x->each[first];
		c->diff.seconds[side] = length_of(x, first, c->cnt[side]);
		if (c->cnt[side] == 1)
			continue;
		x->sides[side] = x->own_sides[side] =
			counts__new(x->each[first]->dict, &x->each[first]->event);
		if (!x->own_sides[side])
			return -ENOMEM;
		for (unsigned i = first; i < first + c->cnt[side] && !err; i++)
			err = counts__merge(x->own_sides[side], x->each[i]);
	}
	for (unsigned i = 0; i < x->cnt && have_waits && c->has_gate && !err; i++) {
		x->each[i] = x->own[i] = waits__new_of_functions(x->each[i]);
		err = x->own[i] ? 0 : -ENOMEM;
	}
	return err;
}

/* "old.data and 2 more": borrowed, or made in the buffer. */
static const char *side_name(const char *first, unsigned cnt, char buf[512])
{
	if (cnt == 1)
		return first;
	snprintf(buf, 512, "%s and %u more", first, cnt - 1);
	return buf;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_command c = {
		.diff = { .limit = DEFAULT_ROWS, .min_points = DEFAULT_MIN_POINTS },
	};
	struct compared *x;
	struct summary_options text;
	char names[2][512];
	int code, err;

	if (arguments_parse(&parser, argc, argv, ARGUMENTS_READS, &c))
		return EXIT_CODE_USAGE;
	summary_options_init(&text, stdout);
	if (c.json && !c.limit_given)
		c.diff.limit = 0;
	c.diff.width = c.output ? 0 : text.width;
	c.diff.ascii = c.gate.ascii = text.ascii;
	c.diff.name_a = side_name(c.paths[0], c.cnt[0], names[0]);
	c.diff.name_b = side_name(c.paths[c.cnt[0]], c.cnt[1], names[1]);
	x = calloc(1, sizeof(*x));
	if (!x)
		return EXIT_CODE_OUTPUT;
	code = load(&c, x);
	err = code == EXIT_CODE_OK ? add_up(&c, x) : 0;
	if (err) {
		log_error(NULL, "cannot add up captures: %s", strerror(-err));
		code = EXIT_CODE_OUTPUT;
	}
	if (code == EXIT_CODE_OK)
		code = c.has_gate ? judge(&c, x) : write_diff(&c, x, NULL);
	compared_free(x);
	if ((code == EXIT_CODE_OK || code == EXIT_CODE_SLOWER) && c.open)
		page_open(&c.output, 1);
	return code;
}
