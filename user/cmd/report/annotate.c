/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * annotate.c - "krait annotate": source lines with the samples of each.
 */
#include "cmd/common/keeper_serve.h"
#include "cmd/common/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "cmd/common/formats.h"
#include "cmd/common/input.h"
#include "cmd/common/page_sources.h"
#include "cmd/common/pager.h"
#include "cmd/common/printed.h"
#include "output/text/annotate.h"
#include "output/page/html.h"
#include "output/text/summary.h"
#include "profile/waits.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/output_file.h"

#define DEFAULT_FILES 3
#define DEFAULT_CONTEXT 4
#define DEFAULT_MIN_PERCENT 0.5

struct annotate_command {
	struct input_options input;
	struct annotate_options annotate;
	struct emit_options page;
	struct page_sources sources;
	struct emitter *emitter; /* for a page; NULL: text */
	const char *output;
	int failed; /* error in keeping a sample */
	bool open, native, no_source, no_pager, min_given;
};

enum {
	KEY_NATIVE = 256,
	KEY_COLUMNS,
	KEY_INSTRUCTIONS,
	KEY_NO_SOURCE,
	KEY_NO_PAGER,
	KEY_MIN_PERCENT,
	KEY_STDIO,
	KEY_EDITOR,
	KEY_OPEN
};

static const struct argp_option option_table[] = {
	{ 0, 0, 0, 0, "Output:", 2 },
	{ "output", 'o', "FILE", 0,
	  "write to FILE; if it ends in .html, a page that opens at its "
	  "source view",
	  0 },
	{ "context", 'C', "LINES", 0,
	  "lines around those with samples, 0 for whole files (default 4)", 0 },
	{ "limit", 'n', "FILES", 0, "without a name: the number of hottest files (default 3)", 0 },
	{ "min-percent", KEY_MIN_PERCENT, "SHARE", 0,
	  "leave out lines with a smaller Total, and what is around them (default 0.5, with a name 0)",
	  0 },
	{ "native", KEY_NATIVE, 0, 0,
	  "also source lines of native code, if debug information is "
	  "available here or in the capture: time in them counts for "
	  "them, not for the Python line that called them",
	  0 },
	{ "columns", KEY_COLUMNS, 0, 0,
	  "print a row for each part of a line: which call of f(g(x), "
	  "h(y)). A page shows the parts within the line",
	  0 },
	{ "instructions", KEY_INSTRUCTIONS, 0, 0,
	  "print a row for each instruction of a function that has samples: "
	  "its offset, name, and whether it is specialised (krait record "
	  "--opcodes). A page has them if they were recorded",
	  0 },
	{ "no-pager", KEY_NO_PAGER, NULL, 0, PAGER_HELP, 0 },
	{ "stdio", KEY_STDIO, NULL, 0, "print text, as in perf (there is nothing else)", 0 },
	PAGE_EDITOR_OPTION(KEY_EDITOR),
	PAGE_OPEN_OPTION(KEY_OPEN),
	{ "no-source", KEY_NO_SOURCE, NULL, 0, PAGE_NO_SOURCE_HELP, 0 },
	{ "source", 's', "DIR", 0,
	  "look here for source files that are not in their original "
	  "place; a page also includes files below DIR that not everybody may read",
	  0 },
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
	case KEY_MIN_PERCENT:
		c->annotate.min_percent = arguments_percent(arg, "--min-percent", 0, 100, state);
		c->min_given = true;
		break;
	case KEY_EDITOR:
		c->page.editor = page_editor(arg, state);
		break;
	case KEY_OPEN:
		c->open = true;
		break;
	case ARGP_KEY_END:
		if (c->open)
			page_must_be_among(&c->output, 1, state);
		break;
	case KEY_STDIO:
		break;
	case KEY_NO_PAGER:
		c->no_pager = true;
		break;
	case KEY_NO_SOURCE:
		c->no_source = true;
		break;
	case 'o':
		c->output = arg;
		keeper_names_output(arg);
		break;
	case 'C':
		c->annotate.context = arguments_count(arg, "--context", ARGUMENTS_COUNT_MAX, state);
		break;
	case 'n':
		c->annotate.limit = arguments_count(arg, "--limit", ARGUMENTS_COUNT_MAX, state);
		break;
	case 's':
		c->annotate.source_dir = arg;
		break;
	case ARGP_KEY_ARG:
		if (c->annotate.what)
			arguments_refuse(
				state, "only one NAME (extra: \"%s\"; -i names the capture)", arg);
		c->annotate.what = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[NAME]",
	.doc = "Print source lines with their samples, the hottest first, then each file. NAME is a function, with or without its class, or a file. "
	       "Time that a line spends in the kernel, and in C unless "
	       "--native is given, counts for the line."
	       "\vExamples:\n"
	       "  krait annotate                        the hottest files of perf.data\n"
	       "  krait annotate Cart.total -i other.data\n"
	       "  krait annotate --columns Cart.total   which part of each line\n"
	       "  krait annotate models.py -C 0 -o models.html\n"
	       "  krait annotate --native inner_loop -s ~/src/ext   lines of C\n",
	.children = input_children,
};

static int write_page(struct annotate_command *c, FILE *out, const struct input *in)
{
	const char *file = NULL;
	int line = 0;
	int err = annotate_find(input__shown(in), &c->annotate, &file, &line);

	if (err)
		return err;
	c->page.recording = in->stats.recording;
	c->emitter->out = out;
	html_show(c->emitter, "source", file, line);
	return format_by_name("html")->finish(c->emitter, in->wall ? in->wall : in->profile,
					      in->wall ? 0 : in->event);
}

/* A line has the waits that it begins, as in a report. */
static int write_text(struct annotate_command *c, FILE *out, const struct input *in)
{
	const struct counts *shown = input__shown(in);
	struct counts *waits = NULL;
	int err;

	/* Only a capture says who waits. */
	c->annotate.charged |= !in->is_capture;
	if (waits_are_in(shown)) {
		waits = waits__new_of_functions(shown);
		if (!waits)
			return -ENOMEM;
	}
	err = annotate(out, waits ? waits : shown, &c->annotate);
	counts__free(waits);
	return err;
}

static int write_annotation(struct annotate_command *c, const struct input *in)
{
	cleanup_output_file struct output_file *file = NULL;
	int err = printed_open(&file, c->output);
	struct stat st;

	if (err)
		return err;
	err = c->emitter ? write_page(c, output_file__stream(file), in) :
			   write_text(c, output_file__stream(file), in);
	if (err == -ENOENT && c->annotate.what && input_stat(c->annotate.what, &st) &&
	    !c->input.path) {
		log_error(NULL,
			  "\"%s\" is not a function or file in the capture; to read it as a "
			  "capture, use -i %s",
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
	if (err == -ENOMSG) {
		log_error(NULL,
			  "what has samples has no lines: compiled without a line table or debug "
			  "information; krait report shows it by function");
		return EXIT_CODE_EMPTY;
	}
	if (err == -ENODATA) {
		log_error(NULL, "the capture has no instructions; record them with krait record "
				"--opcodes");
		return EXIT_CODE_EMPTY;
	}
	return printed_finish(file, c->output, err);
}

/* Returns 0 or -ENOMEM. */
static int open_page(struct annotate_command *c)
{
	if (!printed_is_page(c->output))
		return 0;
	c->page.title = "krait";
	c->page.sources = c->native;
	c->sources.folder = c->annotate.source_dir;
	if (!c->no_source)
		page_sources_offer(&c->sources, &c->page);
	return format_by_name("html")->open(&c->emitter, NULL, &c->page);
}

static void on_sample(void *ctx, const struct profile *p, const struct profile_sample *s)
{
	struct annotate_command *c = ctx;

	if (c->emitter && !c->failed)
		c->failed = format_by_name("html")->sample(c->emitter, p, s);
}

static int run(struct annotate_command *c)
{
	struct pager pager;
	struct input in;
	int code;

	if (open_page(c)) {
		log_error(NULL, "out of memory");
		return EXIT_CODE_OUTPUT;
	}
	code = input__load(&in, &c->input, NULL, on_sample, c);
	if (code == EXIT_CODE_OK && c->failed) {
		log_error(NULL, "out of memory");
		code = EXIT_CODE_OUTPUT;
	}
	/* A page shows all times. */
	if (code == EXIT_CODE_OK && !(c->emitter && event_is_time(&input__shown(&in)->event)))
		input__say_event(&in);
	if (code == EXIT_CODE_OK) {
		pager_start(&pager, !c->output && !c->no_pager);
		code = write_annotation(c, &in);
		pager_end(&pager);
	}
	input__free(&in);
	if (c->emitter)
		format_by_name("html")->free(c->emitter);
	return code;
}

int cmd_annotate(int argc, char **argv)
{
	struct annotate_command c = {
		.annotate = { .limit = DEFAULT_FILES, .context = DEFAULT_CONTEXT },
	};
	struct summary_options terminal;
	int code;

	if (arguments_parse(&parser, argc, argv, ARGUMENTS_READS, &c))
		return EXIT_CODE_USAGE;
	/* The argument is a file, as other commands take it. */
	if (c.annotate.what && !c.input.path && input_is_capture(c.annotate.what)) {
		c.input.path = c.annotate.what;
		c.annotate.what = NULL;
	}
	if (!c.annotate.what && !c.min_given)
		c.annotate.min_percent = DEFAULT_MIN_PERCENT;
	/*
	 * What a line calls in the kernel counts for that line, and in C unless C has lines of its
	 * own.
	 */
	c.native |= c.input.filter.inlined;
	c.input.filter.no_kernel = c.input.may_fold = true;
	c.input.filter.no_native = !c.native;
	c.input.filter.sources = c.native;
	c.input.filter.instructions = c.annotate.instructions || c.output;
	summary_options_init(&terminal, stdout);
	c.annotate.charged = c.input.filter.charge_waiters;
	c.annotate.color = terminal.color && !c.output;
	code = run(&c);
	if (code == EXIT_CODE_OK && c.open)
		page_open(&c.output, 1);
	return code;
}
