/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * annotate.c - "krait annotate": source lines with the samples of each.
 */
#include "cmd/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/arguments.h"
#include "cmd/input.h"
#include "emit/annotate.h"
#include "emit/summary.h"
#include "util/cleanup.h"
#include "util/error.h"
#include "util/log.h"
#include "util/output_file.h"

#define DEFAULT_FILES 3
#define DEFAULT_CONTEXT 4

struct annotate_command {
	struct input_options input;
	struct annotate_options annotate;
	const char *output;
	bool native;
};

enum { KEY_NATIVE = 256, KEY_COLUMNS, KEY_INSTRUCTIONS };

static const struct argp_option option_table[] = {
	{ 0, 0, 0, 0, "Output:", 2 },
	{ "output", 'o', "FILE", 0, "write there; a page if it ends in .html", 0 },
	{ "context", 'C', "LINES", 0,
	  "lines around those with samples, 0 for whole files (default 4)", 0 },
	{ "limit", 'n', "FILES", 0, "without a name: so many of the hottest files (default 3)", 0 },
	{ "native", KEY_NATIVE, 0, 0,
	  "also source lines of native code, where its debug information is here or in the capture: what runs in "
	  "them is theirs, not that of the line of Python that called them",
	  0 },
	{ "columns", KEY_COLUMNS, 0, 0,
	  "below a line a row for each part of it: which call of f(g(x), h(y)). A page shows them in the line",
	  0 },
	{ "instructions", KEY_INSTRUCTIONS, 0, 0,
	  "below a line a row for each instruction that has samples: its offset, what it is, whether it is specialised "
	  "(krait record --opcodes). A page has them where they were recorded",
	  0 },
	{ "source", 's', "DIR", 0, "where source files are that are not where they were", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct annotate_command *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->input;
		break;
	case KEY_NATIVE:
		c->native = true;
		break;
	case KEY_COLUMNS:
		c->annotate.columns = true;
		break;
	case KEY_INSTRUCTIONS:
		c->annotate.instructions = true;
		break;
	case 'o':
		c->output = arg;
		break;
	case 'C':
		c->annotate.context = input_parse_count(arg, "--context", state);
		break;
	case 'n':
		c->annotate.limit = input_parse_count(arg, "--limit", state);
		break;
	case 's':
		c->annotate.source_dir = arg;
		break;
	case ARGP_KEY_ARG:
		if (c->annotate.what)
			argp_error(state,
				   "one NAME, please: \"%s\" is the second (-i names the file)",
				   arg);
		c->annotate.what = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &input_argp, 0, NULL, 0 }, { 0 } };
static const struct argp parser = {
	option_table,
	parse_option,
	"[NAME]",
	"Print source lines with their samples. NAME is a function, with or without its class, or a file. "
	"What a line calls in the kernel, and in C unless --native is given, is its own."
	"\vexamples:\n"
	"  krait annotate                        the hottest files of perf.data\n"
	"  krait annotate Cart.total -i other.data\n"
	"  krait annotate --columns Cart.total   which part of each line\n"
	"  krait annotate models.py -C 0 -o models.html\n"
	"  krait annotate --native inner_loop -s ~/src/ext   lines of C\n",
	children,
	NULL,
	NULL
};

static int write_annotation(struct annotate_command *c, const struct counts *counts)
{
	cleanup_output_file struct output_file *file = NULL;
	const char *path = c->output ? c->output : "-";
	size_t len = strlen(path);
	int err = output_file__open(&file, path, false);

	if (err) {
		log_error(NULL, "%s: %s", path, output_file_strerror(err));
		return EXIT_CODE_OUTPUT;
	}
	c->annotate.html = len > 5 && !strcmp(path + len - 5, ".html");
	err = annotate(output_file__stream(file), counts, &c->annotate);
	if (err == -ENOENT && c->annotate.what && !access(c->annotate.what, F_OK) &&
	    !c->input.path) {
		log_error(NULL, "\"%s\" is no function or file of the capture: -i %s reads it",
			  c->annotate.what, c->annotate.what);
		return EXIT_CODE_EMPTY;
	}
	if (err == -ENOENT) {
		log_error(NULL,
			  c->annotate.what ? "no samples in a function or file \"%s\"" :
					     "no samples with a line%s",
			  c->annotate.what ? c->annotate.what : "");
		return EXIT_CODE_EMPTY;
	}
	if (err == -ENODATA) {
		log_error(NULL, "the capture has no instructions: krait record --opcodes");
		return EXIT_CODE_EMPTY;
	}
	if (!err)
		err = output_file__finish(file);
	if (err && err != -EPIPE) {
		log_error(NULL, "cannot write: %s", output_file_strerror(err));
		return EXIT_CODE_OUTPUT;
	}
	return EXIT_CODE_OK;
}

int cmd_annotate(int argc, char **argv)
{
	struct annotate_command c = {
		.annotate = { .limit = DEFAULT_FILES, .context = DEFAULT_CONTEXT },
	};
	struct summary_options terminal;
	struct input in;
	int code;

	if (arguments_parse(&parser, argc, argv, 0, &c))
		return EXIT_CODE_USAGE;
	/* What a line calls in the kernel is its own, and in C unless that has lines, too. */
	c.native |= c.input.filter.inlined;
	c.input.filter.no_kernel = c.input.may_fold = true;
	c.input.filter.no_native = !c.native;
	c.input.filter.sources = c.native;
	summary_options_init(&terminal, stdout);
	c.annotate.color = terminal.color && !c.output;
	code = input__load(&in, &c.input, NULL, NULL, NULL);
	if (code == EXIT_CODE_OK)
		input__say_event(&in);
	if (code == EXIT_CODE_OK)
		code = write_annotation(&c, input__shown(&in));
	input__free(&in);
	return code;
}
