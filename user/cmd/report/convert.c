/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * convert.c - "krait convert": turns a capture or folded stacks into other formats.
 */
#include "cmd/common/keeper_serve.h"
#include "cmd/common/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/common/arguments.h"
#include "cmd/common/formats.h"
#include "cmd/common/input.h"
#include "cmd/common/outputs.h"
#include "cmd/common/page_sources.h"
#include "capture/import/capture_copy.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/output_file.h"

#define MAX_OUTPUTS 16
/* For folded stacks: 300 MB of Firefox's JSON, or three hours at 997 Hz. */
#define REPLAY_MAX 10000000U

struct convert {
	struct input_options input;
	struct emit_options emit;
	struct outputs *outputs;
	const char *paths[MAX_OUTPUTS];
	unsigned path_cnt;
	const char *format;
	struct page_sources sources;
	const char *command_line; /* that of the recording; NULL: the capture says it */
	bool quiet, no_source, open, keep_old;
	bool began; /* a sample has come */
};

enum { KEY_LINES = 256, KEY_NO_PROCESS, KEY_NO_SOURCE, KEY_KERNEL, KEY_EDITOR, KEY_OPEN };

static const struct argp_option option_table[] = {
	{ 0, 0, 0, 0, "Output:", 2 },
	{ "output", 'o', "FILE", 0,
	  "the suffix selects the format; may be given several times, - "
	  "is stdout",
	  0 },
	{ "format", 'f', "NAME", 0, "whatever the suffix", 0 },
	{ "compression-level", 'z', "LEVEL", OPTION_ARG_OPTIONAL,
	  "perf.data: compress it, as record -z does; otherwise it is a plain file", 0 },
	{ "lines", KEY_LINES, NULL, 0, "folded: one entry for each line, not for each function",
	  0 },
	{ "threads", 't', NULL, 0, "folded: a frame for each thread", 0 },
	{ "no-process", KEY_NO_PROCESS, NULL, 0, "folded and html: merge all processes", 0 },
	{ "kernel", KEY_KERNEL, NULL, 0, "html: also the kernel's functions below a wait", 0 },
	{ "no-source", KEY_NO_SOURCE, NULL, 0, PAGE_NO_SOURCE_HELP, 0 },
	{ "source", 's', "DIR", 0,
	  "html: also include source files below DIR; otherwise the page has only those that are in "
	  "their original place and that everybody may read",
	  0 },
	PAGE_EDITOR_OPTION(KEY_EDITOR),
	PAGE_OPEN_OPTION(KEY_OPEN),
	{ "quiet", 'q', NULL, 0, "print only errors", 0 },
	{ 0 },
};

static void add_path(struct convert *c, const char *path, struct argp_state *state)
{
	if (c->path_cnt == MAX_OUTPUTS)
		arguments_refuse(state, "too many outputs: at most %d", MAX_OUTPUTS);
	c->paths[c->path_cnt++] = path;
}

static void check(struct convert *c, struct argp_state *state)
{
	if (!c->path_cnt && !c->format)
		arguments_refuse(
			state,
			"no output: use -o FILE (out.html), or -f FORMAT for the standard output");
	if (!c->path_cnt)
		add_path(c, "-", state);
	if (c->open)
		page_must_be_among(c->paths, c->path_cnt, state);
	if (c->format && c->path_cnt > 1)
		arguments_refuse(
			state,
			"-f applies to a single -o; with several, their suffixes choose the formats");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct convert *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->input;
		break;
	case 'o':
		add_path(c, arg, state);
		keeper_names_output(arg);
		break;
	case 'f':
		c->format = arg;
		break;
	case 'z':
		c->emit.compression = arguments_level(arg, state);
		break;
	case 't':
		c->emit.threads = true;
		break;
	case 'q':
		c->quiet = c->input.quiet = true;
		break;
	case KEY_LINES:
		c->emit.lines = true;
		break;
	case 's':
		c->sources.folder = arg;
		break;
	case KEY_NO_SOURCE:
		c->no_source = true;
		break;
	case KEY_EDITOR:
		c->emit.editor = page_editor(arg, state);
		break;
	case KEY_OPEN:
		c->open = true;
		break;
	case KEY_KERNEL:
		c->emit.wait_kernel = true;
		break;
	case KEY_NO_PROCESS:
		c->emit.no_process = true;
		break;
	case ARGP_KEY_END:
		check(c, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static char *filter_help(int key, const char *text, void *input)
{
	return formats_help(key, text, false);
}

static const struct argp parser = {
	option_table,
	parse_option,
	"[FILE]",
	"Turn a capture, or folded stacks, into other formats."
	"\vExamples:\n"
	"  krait convert -o flame.html                      perf.data as a flame graph\n"
	"  krait convert old.data -o p.pb.gz -o p.speedscope.json\n"
	"  krait convert packed.data -o plain.data          without compression\n"
	"  krait convert --tid 1234 -f folded | flamegraph.pl > graph.svg\n"
	"\n"
	"Suffixes: " FORMATS_SUFFIXES ".\n",
	input_children,
	filter_help,
	NULL
};

static void on_sample(void *ctx, const struct profile *p, const struct profile_sample *s)
{
	struct convert *c = ctx;

	if (!c->began && input_joins_time(&c->input, p))
		outputs__join_time(c->outputs);
	c->began = true;
	outputs__sample(c->outputs, p, s);
	outputs__tick(c->outputs, p, s->time_ns);
}

/*
 * Turns counts into single samples for a profile that has none. The total is limited: a line of 26
 * bytes may claim 10^18. Returns EXIT_CODE_OK, or another code after an error message.
 */
static int replay(struct convert *c, const struct profile *p)
{
	const struct counts *counts = profile__counts(p, 0);
	struct profile_sample s = { .comm = "folded", .pid = 1, .tid = 1 };

	if (!outputs__stream(c->outputs))
		return EXIT_CODE_OK;
	outputs__without_times(c->outputs);
	if (counts->samples > REPLAY_MAX) {
		log_error(NULL,
			  "%llu samples are more than krait writes one by one (at most %u); "
			  "html, folded, pprof and callgrind take any number",
			  counts->samples, REPLAY_MAX);
		return EXIT_CODE_OUTPUT;
	}
	for (s.node = 0; s.node <= dict__node_cnt(p->dict); s.node++) {
		struct node_count n = counts__at(counts, s.node);

		s.period = n.samples ? n.weight / n.samples : 0;
		for (__u64 i = 0; i < n.samples; i++, s.time_ns++)
			outputs__sample(c->outputs, p, &s);
	}
	return EXIT_CODE_OK;
}

static const char *input_path(const struct convert *c)
{
	return c->input.path ? c->input.path : INPUT_DEFAULT;
}

/* The output would replace its own input, which nobody wants. */
static bool is_input(const struct convert *c, const char *path)
{
	struct stat in, out;

	return input_stat(input_path(c), &in) && input_stat(path, &out) &&
	       in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

/* ---- a capture of a capture ------------------------------------------------------------------- */

static bool is_copy(const struct convert *c, const char *path)
{
	const struct emitter_ops *ops = c->format ? format_by_name(c->format) :
						    format_by_suffix(path);

	return ops && ops->addresses;
}

/* All samples or none: what a copy says of losses and of the time belongs to the whole. */
static int refuse_part(const struct convert *c)
{
	const struct perf_filter *f = &c->input.filter;

	if (!*c->input.given && !f->event && !f->no_native && !f->no_kernel && !f->charge_waiters &&
	    !c->input.wall)
		return EXIT_CODE_OK;
	log_error(NULL,
		  "a capture of a capture has all of its samples; choose a part when you read it "
		  "(krait report%s)",
		  *c->input.given ? c->input.given : " --event, --no-native ...");
	return EXIT_CODE_USAGE;
}

static void say_copied(const struct convert *c, const char *path, const struct capture_copied *s)
{
	if (s->read.unfinished)
		log_warn(NULL, "%s: the recording was cut off; showing what was saved",
			 input_path(c));
	if (s->read.cut)
		log_warn(
			NULL,
			"%s: the file ends in the middle of a record; everything before it is used",
			input_path(c));
	if (s->missing)
		log_warn(NULL, "%s: the names of Python functions are missing, in the copy, too",
			 input_path(c));
	if (!c->quiet && strcmp(path, "-"))
		log_info(NULL, "wrote %s: krait report %s, or perf report -i %s", path, path, path);
}

static int copy_to(const struct convert *c, FILE *in, const char *path)
{
	bool is_stdin = in == stdin;
	cleanup_output_file struct output_file *file = NULL;
	struct capture_copied copied;
	struct error err;
	int result = output_file__open(&file, path,
				       c->keep_old ? OUTPUT_FILE_KEEP_OLD : OUTPUT_FILE_REPLACE);

	if (result) {
		log_error(NULL, "%s: %s", path, output_file_strerror(result));
		return EXIT_CODE_OUTPUT;
	}
	if (capture_copy(output_file__stream(file), output_file__name(file),
			 output_file__kept_name(file), in, is_stdin ? NULL : input_path(c),
			 c->emit.compression, NULL, NULL, &copied, &err)) {
		log_error(NULL, "%s", err.text);
		return err.code;
	}
	result = output_file__finish(file);
	if (result) {
		log_error(NULL, "%s: %s", path, output_file_strerror(result));
		return EXIT_CODE_OUTPUT;
	}
	say_copied(c, path, &copied);
	return EXIT_CODE_OK;
}

static int copy(const struct convert *c, const char *path)
{
	bool is_stdin = !strcmp(input_path(c), "-");
	cleanup_fclose FILE *opened = is_stdin ? NULL : input_open(input_path(c));
	FILE *in = is_stdin ? stdin : opened;
	int code = refuse_part(c);

	if (code != EXIT_CODE_OK)
		return code;
	if (in)
		return copy_to(c, in, path);
	log_error(NULL, "cannot open %s: %s", input_path(c), strerror(errno));
	return EXIT_CODE_OUTPUT;
}

/*
 * Makes the captures among the outputs of a capture, and takes them off the list. Folded stacks go the way of all
 * formats.
 */
static int copy_captures(struct convert *c)
{
	const char *path = input_path(c);
	const bool is_stdin = !strcmp(path, "-");
	int code = EXIT_CODE_OK;
	unsigned rest = 0, cnt = c->path_cnt;

	for (unsigned i = 0; i < cnt; i++)
		rest += !is_copy(c, c->paths[i]);
	if (rest == cnt || !(is_stdin ? input_stream_is_capture(stdin) : input_is_capture(path)))
		return EXIT_CODE_OK;
	if (is_stdin && cnt > 1) {
		log_error(NULL, "standard input can be read once: name the capture, or one output");
		return EXIT_CODE_USAGE;
	}
	c->path_cnt = 0;
	for (unsigned i = 0; i < cnt && code == EXIT_CODE_OK; i++) {
		if (is_copy(c, c->paths[i]))
			code = copy(c, c->paths[i]);
		else
			c->paths[c->path_cnt++] = c->paths[i];
	}
	return code;
}

/* ---- the whole -------------------------------------------------------------------------------- */

static int convert(struct convert *c)
{
	struct error err;
	struct input in;
	int code = EXIT_CODE_OK;

	if (!c->no_source)
		page_sources_offer(&c->sources, &c->emit);
	for (unsigned i = 0; i < c->path_cnt; i++) {
		if (is_input(c, c->paths[i])) {
			log_error(NULL, "%s is the input; choose another output", c->paths[i]);
			return EXIT_CODE_USAGE;
		}
	}
	code = copy_captures(c);
	if (code != EXIT_CODE_OK || !c->path_cnt)
		return code;
	for (unsigned i = 0; i < c->path_cnt; i++) {
		if (outputs__add(c->outputs, c->paths[i], c->format, false, &c->emit, &err)) {
			log_error(NULL, "%s", err.text);
			return err.code;
		}
	}
	c->input.filter.sources |= c->emit.lines || outputs__use_sources(c->outputs);
	code = input__load(&in, &c->input, NULL, on_sample, c);
	c->emit.charged = c->input.filter.charge_waiters || !in.is_capture;
	if (code == EXIT_CODE_OK) {
		c->emit.recording = in.stats.recording;
		if (c->command_line)
			c->emit.recording.command_line = c->command_line;
		if (!in.is_capture)
			code = replay(c, in.profile);
	}
	if (code == EXIT_CODE_OK) {
		if (outputs__single(c->outputs, &input__shown(&in)->event))
			input__say_event(&in);
		if (outputs__finish(c->outputs, in.profile, in.event, c->quiet, &err)) {
			log_error(NULL, "%s", err.text);
			code = err.code;
		}
	}
	input__free(&in);
	return code;
}

static int run(struct convert *c)
{
	int code;

	c->outputs = outputs__new(false);
	if (!c->outputs)
		return EXIT_CODE_OUTPUT;
	code = convert(c);
	outputs__free(c->outputs);
	if (code == EXIT_CODE_OK && c->open)
		page_open(c->paths, c->path_cnt);
	return code;
}

int convert_capture(const struct convert_job *job)
{
	struct convert c = { .input = { .path = job->capture },
			     .emit = { .title = "krait",
				       .lines = job->lines,
				       .threads = job->threads,
				       .wait_kernel = job->wait_kernel,
				       .no_process = job->no_process,
				       .editor = job->editor,
				       .compression = job->compression },
			     .format = job->format,
			     .command_line = job->command_line,
			     .quiet = job->quiet,
			     .no_source = job->no_source,
			     .open = job->open,
			     .keep_old = job->keep_old };

	for (unsigned i = 0; i < job->path_cnt && i < MAX_OUTPUTS; i++)
		c.paths[c.path_cnt++] = job->paths[i];
	return run(&c);
}

int cmd_convert(int argc, char **argv)
{
	struct convert c = { .emit = { .title = "krait" } };

	if (arguments_parse(&parser, argc, argv, ARGUMENTS_READS, &c))
		return EXIT_CODE_USAGE;
	return run(&c);
}
