/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - "krait report": the hottest functions, or the call tree, of folded stacks.
 */
#include "cmd/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emit/folded_reader.h"
#include "emit/summary.h"
#include "profile/profile.h"
#include "util/cleanup.h"
#include "util/error.h"
#include "util/log.h"

/* Nodes of the tree below this share say little and hide the rest. */
#define TREE_MIN_PERCENT 1.0

enum option_key {
	OPTION_TREE = 256,
	OPTION_LINES,
	OPTION_MIN_PERCENT,
};

struct report_options {
	struct summary_options summary;
	const char *path;
	bool tree, min_given;
};

static const struct argp_option option_table[] = {
	{ "sort", 's', "self|total", 0, "order of the table (default self)", 0 },
	{ "limit", 'n', "ROWS", 0, "rows of the table, 0 for all (default 20)", 0 },
	{ "lines", OPTION_LINES, NULL, 0, "one row per line, not per function", 0 },
	{ "tree", OPTION_TREE, NULL, 0, "print the call tree", 0 },
	{ "min-percent", OPTION_MIN_PERCENT, "SHARE", 0,
	  "leave out what has less of the samples (default 1 with --tree, else 0)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct report_options *o = state->input;
	char *end;

	switch (key) {
	case 's':
		if (strcmp(arg, "self") && strcmp(arg, "total"))
			argp_error(state, "--sort is self or total, not \"%s\"", arg);
		o->summary.sort = strcmp(arg, "self") ? SUMMARY_TOTAL : SUMMARY_SELF;
		return 0;
	case 'n':
		errno = 0;
		o->summary.limit = (unsigned)strtoul(arg, &end, 10);
		if (errno || *end || end == arg || *arg == '-')
			argp_error(state, "--limit is a number of rows, not \"%s\"", arg);
		return 0;
	case OPTION_TREE:
		o->tree = true;
		return 0;
	case OPTION_LINES:
		o->summary.lines = true;
		return 0;
	case OPTION_MIN_PERCENT:
		o->summary.min_percent = strtod(arg, &end);
		o->min_given = true;
		if (end == arg || (*end && strcmp(end, "%")) ||
		    !(o->summary.min_percent >= 0 && o->summary.min_percent <= 100))
			argp_error(state, "--min-percent is from 0 to 100, not \"%s\"", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (o->path)
			argp_error(state, "one FILE, please: \"%s\" is the second", arg);
		o->path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which FILE? (\"-\" is the standard input)");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "FILE",
	.doc = "Print the hottest functions of folded stacks, of krait or any other tool."
	       "\vexamples:\n"
	       "  krait report out.folded\n"
	       "  krait report --tree --min-percent 2 out.folded\n"
	       "  krait record -p PID -f folded -o - | krait report -\n",
};

static int read_file(struct profile *p, const char *path)
{
	bool is_stdin = !strcmp(path, "-");
	cleanup_fclose FILE *file = is_stdin ? NULL : fopen(path, "re");
	const char *name = is_stdin ? "standard input" : path;
	struct folded_stats stats;
	int err;

	if (!is_stdin && !file) {
		log_error("report", "cannot open %s: %s", path, strerror(errno));
		return EXIT_CODE_OUTPUT;
	}
	err = folded_read(p, is_stdin ? stdin : file, &stats);
	if (err) {
		log_error("report", "cannot read %s, line %llu: %s", name,
			  (unsigned long long)stats.lines, strerror(-err));
		return EXIT_CODE_OUTPUT;
	}
	if (stats.malformed)
		log_warn("report",
			 "%s: %llu of %llu lines are no folded stacks, the first is line %llu",
			 name, (unsigned long long)stats.malformed, (unsigned long long)stats.lines,
			 (unsigned long long)stats.first_malformed);
	if (!stats.stacks && stats.malformed) {
		log_error("report", "%s is not a file of folded stacks (lines \"a;b;c COUNT\")",
			  name);
		return EXIT_CODE_OUTPUT;
	}
	if (!stats.samples) {
		log_error("report", "%s has no samples", name);
		return EXIT_CODE_EMPTY;
	}
	return EXIT_CODE_OK;
}

int cmd_report(int argc, char **argv)
{
	struct report_options o = { 0 };
	struct profile *p;
	int err, code;

	summary_options_init(&o.summary, stdout);
	argp_err_exit_status = EXIT_CODE_USAGE;
	if (argp_parse(&parser, argc, argv, 0, NULL, &o))
		return EXIT_CODE_USAGE;
	if (o.tree && !o.min_given)
		o.summary.min_percent = TREE_MIN_PERCENT;
	p = profile__new();
	if (!p) {
		log_error("report", "out of memory");
		return EXIT_CODE_OUTPUT;
	}
	code = read_file(p, o.path);
	if (code == EXIT_CODE_OK) {
		err = (o.tree ? summary_tree : summary_table)(stdout, p, &o.summary);
		/* A reader such as head that has seen enough is no error. */
		if (err && err != -EPIPE) {
			log_error("report", "cannot write: %s", strerror(-err));
			code = EXIT_CODE_OUTPUT;
		}
	}
	profile__free(p);
	return code;
}
