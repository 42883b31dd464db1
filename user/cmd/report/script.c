/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script.c - "krait script": prints every sample of a capture as "perf script" does, without perf.
 */
#include "cmd/common/commands.h"

#include <argp.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "cmd/common/formats.h"
#include "cmd/common/input.h"
#include "cmd/common/printed.h"
#include "base/system/error.h"
#include "base/text/log.h"

struct script {
	struct input_options input;
	struct emit_options emit;
	struct emitter *emitter;
	const struct emitter_ops *ops;
	int err;
};

static const struct argp_option option_table[] = {
	{ 0, 0, 0, 0, "Output:", 2 },
	{ "lines", 'l', NULL, 0, "a line with file and line below each frame", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct script *s = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &s->input;
		break;
	case 'l':
		s->emit.lines = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[FILE]",
	.doc = "Print every sample of a capture with its stack, as perf script does."
	       "\vExamples:\n"
	       "  krait script | less\n"
	       "  krait script --tid 1234 --time 2,3 --lines\n"
	       "  krait script | stackcollapse-perf.pl | flamegraph.pl > graph.svg\n",
	.children = input_children,
};

static void on_sample(void *ctx, const struct profile *p, const struct profile_sample *sample)
{
	struct script *s = ctx;

	if (!s->err)
		s->err = s->ops->sample(s->emitter, p, sample);
}

int cmd_script(int argc, char **argv)
{
	struct script s = { .ops = format_by_name("script") };
	struct input in;
	int code;

	if (arguments_parse(&parser, argc, argv, ARGUMENTS_READS, &s))
		return EXIT_CODE_USAGE;
	s.input.filter.sources |= s.emit.lines;
	if (s.ops->open(&s.emitter, stdout, &s.emit))
		return EXIT_CODE_OUTPUT;
	code = input__load(&in, &s.input, NULL, on_sample, &s);
	if (code == EXIT_CODE_OK && !in.is_capture) {
		log_error(NULL, "folded stacks do not contain single samples; use krait report");
		code = EXIT_CODE_USAGE;
	}
	if (code == EXIT_CODE_OK && !s.err)
		s.err = s.ops->finish(s.emitter, in.profile, in.event);
	if (printed(NULL, s.err))
		code = EXIT_CODE_OUTPUT;
	s.ops->free(s.emitter);
	input__free(&in);
	return code;
}
