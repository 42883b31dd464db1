/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record/record_output_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "cmd/common/formats.h"
#include "cmd/common/page_sources.h"
#include "record/samples/label.h"
#include "base/data/cleanup.h"
#include "base/files/sudo_user.h"
#include "base/text/short_path.h"

/* "python3.12 [app.py]": without the script, all would be "python3.12". */
#define DEFAULT_LABEL LABEL_SCRIPT
#define DEFAULT_OUTPUT "perf.data"

enum {
	KEY_LINES = 768,
	KEY_NO_PROCESS,
	KEY_NO_SOURCE,
	KEY_STATS,
	KEY_PERF_MAP,
	KEY_LABEL,
	KEY_EDITOR,
	KEY_OPEN,
	KEY_CELLS,
};

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "Output:", 3 },
	{ "output", 'o', "FILE", 0,
	  "the suffix selects the format; may be given several times, \"-\" is stdout (default " DEFAULT_OUTPUT
	  "; krait keeps the previous one as " DEFAULT_OUTPUT
	  ".old). Only the owner can read the files. The names of Python functions are in FILE.krait, with a copy in "
	  "perf's build-id cache, ~/.debug; krait clean removes what is no longer needed" },
	{ "format", 'f', "NAME", 0, "whatever the suffix" },
	{ "compression-level", 'z', "LEVEL", OPTION_ARG_OPTIONAL,
	  "compress perf.data with zstd, as perf record -z does: LEVEL 1 (the default, fastest) to 22. Deep stacks "
	  "need a hundredth of the space then. krait, and perf and viewers that are built with zstd, read it; "
	  "krait convert -o plain.data makes a plain file of it" },
	{ "lines", KEY_LINES, 0, 0, "one entry for each source line, not for each function" },
	{ "threads", 't', 0, 0, "a frame for each thread, below its process" },
	{ "label", KEY_LABEL, "PARTS", 0,
	  "what a process is called beside its command: any of script (or module), pid, nspid, user, container and cgroup; "
	  "\"command\" adds nothing (default script)" },
	{ "no-source", KEY_NO_SOURCE, 0, 0, PAGE_NO_SOURCE_HELP },
	PAGE_EDITOR_OPTION(KEY_EDITOR),
	{ "cells", KEY_CELLS, "FILE", 0,
	  "names of a notebook's cells, as %%krait knows them: lines of a path, a tab, and a name" },
	PAGE_OPEN_OPTION(KEY_OPEN),
	{ "no-process", KEY_NO_PROCESS, 0, 0, "no frame for the process: merge all processes" },
	{ "perf-map", KEY_PERF_MAP, 0, 0,
	  "with a perf.data, also write /tmp/perf-PID.map of each process, in its own /tmp: names and "
	  "addresses of the capture's Python functions, for tools that do not read the capture's ELF "
	  "files. krait makes them with the rights of the process; they stay "
	  "until you remove them or the next recording replaces them" },
	{ "quiet", 'q', 0, 0,
	  "only errors: no progress, no summary (which goes to stderr if "
	  "krait launches a command)" },
	{ "stats", KEY_STATS, 0, 0, "also how every interrupt ended, and every counter" },
	{ "verbose", 'v', 0, 0, "print more on stderr" },
	{ 0 },
};

static void parse_label(struct record_options *o, const char *text, struct argp_state *state)
{
	if (!o->label_given)
		o->label = 0;
	o->label_given = true;
	while (*text) {
		size_t len = strcspn(text, ",");
		unsigned part = label_part(text, len);

		if (!part)
			arguments_refuse(
				state,
				"--label takes script, pid, nspid, user, container, cgroup, command, not \"%s\"",
				text);
		o->label |= part;
		text += len + (text[len] == ',');
	}
}

/* Names are for people only; samples keep paths. */
static void read_cells(const char *path, struct argp_state *state)
{
	int fd = sudo_user_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	cleanup_free char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (!file)
		arguments_refuse(state, "cannot read %s: %s", path,
				 sudo_user_why(fd < 0 ? -fd : errno));
	while ((len = getline(&line, &size, file)) > 0) {
		char *name = strchr(line, '\t');

		if (!name || len < 3)
			continue;
		*name++ = '\0';
		name[strcspn(name, "\n")] = '\0';
		if (*name && strlen(name) < SHORT_FILE_SIZE && short_path_call(line, name))
			break;
	}
	fclose(file);
}

static void add_output(struct record_options *o, const char *path, struct argp_state *state)
{
	if (o->output_cnt == RECORD_MAX_OUTPUTS)
		arguments_refuse(state, "too many outputs: at most %d", RECORD_MAX_OUTPUTS);
	o->outputs[o->output_cnt++] = path;
}

static void settle(struct record_options *o, struct argp_state *state)
{
	if (o->open)
		page_must_be_among(o->outputs, o->output_cnt, state);
	if (!o->output_cnt) {
		o->outputs[o->output_cnt++] = DEFAULT_OUTPUT;
		o->default_output = true;
	}
	if (o->format && o->output_cnt > 1)
		arguments_refuse(
			state,
			"-f applies to a single -o; with several, their suffixes choose the formats");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case 'o':
		add_output(o, arg, state);
		break;
	case 'f':
		o->format = arg;
		break;
	case 'z':
		o->compression = arguments_level(arg, state);
		break;
	case 't':
		o->threads = true;
		break;
	case KEY_LINES:
		o->lines = true;
		break;
	case KEY_EDITOR:
		o->editor = page_editor(arg, state);
		break;
	case KEY_CELLS:
		read_cells(arg, state);
		break;
	case KEY_OPEN:
		o->open = true;
		break;
	case KEY_NO_SOURCE:
		o->no_source = true;
		break;
	case KEY_NO_PROCESS:
		o->no_process = true;
		break;
	case KEY_PERF_MAP:
		o->perf_map = true;
		break;
	case KEY_LABEL:
		parse_label(o, arg, state);
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'v':
		o->verbose++;
		break;
	case KEY_STATS:
		o->stats = true;
		break;
	case ARGP_KEY_END:
		settle(o, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

char *record_output_help(int key, const char *text, void *input)
{
	return formats_help(key, text, false);
}

const struct argp record_output_argp = { .options = options,
					 .parser = parse_option,
					 .help_filter = record_output_help };

void record_output_defaults(struct record_options *ret)
{
	ret->label = DEFAULT_LABEL;
}
