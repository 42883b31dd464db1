/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.c - "krait diff": shows what changed from one capture to another.
 */
#include "cmd/common/commands.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "cmd/common/input.h"
#include "cmd/common/page_sources.h"
#include "cmd/common/printed.h"
#include "output/text/diff.h"
#include "output/text/text_report.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/output_file.h"
#include "base/text/json.h"

#define DEFAULT_ROWS 20
#define DEFAULT_MIN_POINTS 0.05

enum option_key {
	OPTION_UNIT = 256,
	OPTION_JSON,
	OPTION_OPEN,
};

struct diff_command {
	struct input_options input;
	struct diff_options diff;
	const char *paths[2];
	const char *output;
	bool json, open, limit_given;
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

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct diff_command *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->input;
		break;
	case 'o':
		c->output = arg;
		break;
	case 's':
		if (strcmp(arg, "self") && strcmp(arg, "total"))
			arguments_refuse(state, "--sort is self or total, not \"%s\"", arg);
		c->diff.by_total = !strcmp(arg, "total");
		break;
	case 'n':
		c->diff.limit = arguments_count(arg, "--limit", state);
		c->limit_given = true;
		break;
	case 'm':
		c->diff.min_points = parse_points(arg, state);
		break;
	case OPTION_OPEN:
		c->open = true;
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
		if (state->arg_num > 1)
			arguments_refuse(state, "only two files (extra: \"%s\")", arg);
		c->paths[state->arg_num] = arg;
		break;
	case 'i':
		arguments_refuse(state, "name the two captures as arguments, not with -i");
		break;
	case ARGP_KEY_END:
		if (!c->paths[0])
			arguments_refuse(state, "nothing to compare: name two captures");
		if (c->open)
			page_must_be_among(&c->output, 1, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "A [B]",
	.doc = "Compare two captures, or folded stacks: B (default " INPUT_DEFAULT
	       ") with A, by shares of the samples, and the times of both."
	       "\vExamples:\n"
	       "  krait diff before.data after.data\n"
	       "  krait diff before.data after.data -o diff.html   a red and blue flame graph\n"
	       "  krait diff --sort total --comm worker old.data\n",
	.children = input_filters,
};

static int put_json(FILE *out, const struct counts *a, const struct counts *b,
		    const struct diff_options *o)
{
	struct json j = { .out = out };
	int err;

	json_open_object(&j);
	printed_json_head(&j, "diff");
	err = diff_json(&j, a, b, o);
	json_close_object(&j);
	putc('\n', out);
	return err ? err : json_finish(&j);
}

static int write_diff(struct diff_command *c, const struct counts *a, const struct counts *b)
{
	cleanup_output_file struct output_file *file = NULL;
	int err = printed_open(&file, c->output);

	if (err)
		return err;
	err = (c->json			  ? put_json :
	       printed_is_page(c->output) ? diff_page :
					    diff_table)(output_file__stream(file), a, b, &c->diff);
	return printed_finish(file, c->output, err);
}

/* Page faults cannot be compared with time. Folded stacks do not say what they count. */
static int check_events(const struct input in[2])
{
	const struct event_spec *events[2];

	for (int i = 0; i < 2; i++) {
		input__say_event(&in[i]);
		events[i] = &input__shown(&in[i])->event;
	}
	if (!in[0].is_capture || !in[1].is_capture ||
	    (events[0]->type == events[1]->type && events[0]->config == events[1]->config))
		return EXIT_CODE_OK;
	log_error(NULL, "A counts %s and B counts %s; --event chooses one that both have",
		  events[0]->name, events[1]->name);
	return EXIT_CODE_USAGE;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_command c = {
		.diff = { .limit = DEFAULT_ROWS, .min_points = DEFAULT_MIN_POINTS },
		.paths = { NULL, INPUT_DEFAULT },
	};
	struct input in[2] = { 0 };
	struct summary_options text;
	int code = EXIT_CODE_OK;

	if (arguments_parse(&parser, argc, argv, 0, &c))
		return EXIT_CODE_USAGE;
	for (int i = 0; i < 2 && code == EXIT_CODE_OK; i++) {
		c.input.path = c.paths[i];
		code = input__load(&in[i], &c.input, i ? &in[0] : NULL, NULL, NULL);
		c.diff.seconds[i] = in[i].stats.recording.seconds;
	}
	summary_options_init(&text, stdout);
	if (c.json && !c.limit_given)
		c.diff.limit = 0;
	c.diff.width = c.output ? 0 : text.width;
	c.diff.ascii = text.ascii;
	c.diff.name_a = c.paths[0];
	c.diff.name_b = c.paths[1];
	if (code == EXIT_CODE_OK)
		code = check_events(in);
	if (code == EXIT_CODE_OK)
		code = write_diff(&c, input__shown(&in[0]), input__shown(&in[1]));
	/* The second profile uses the first one's dictionary. */
	input__free(&in[1]);
	input__free(&in[0]);
	if (code == EXIT_CODE_OK && c.open)
		page_open(&c.output, 1);
	return code;
}
