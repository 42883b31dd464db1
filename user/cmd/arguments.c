/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/arguments.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"
#include "util/log.h"
#include "util/nearest.h"
#include "util/units.h"

#define PID_BLANKS " \t\n"

/* Options that argp adds to every parser. */
static const struct argp_option own_table[] = { { "help", '?', NULL, 0, NULL, 0 },
						{ "usage", 0, NULL, 0, NULL, 0 },
						{ 0 } };
static const struct argp own = { .options = own_table };

typedef bool (*option_fn)(const struct argp_option *option, void *ctx);

static bool is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc && !o->group;
}

/* Calls fn for each option of the parser and of those below it, until it says true. */
static bool each_option(const struct argp *argp, option_fn fn, void *ctx)
{
	const struct argp_option *o = argp->options;
	const struct argp_child *child = argp->children;

	for (; o && !is_end(o); o++) {
		if (fn(o, ctx))
			return true;
	}
	for (; child && child->argp; child++) {
		if (each_option(child->argp, fn, ctx))
			return true;
	}
	return false;
}

/* One word of the command line, and what it is. */
struct word {
	const char *name; /* of a long option, len letters */
	size_t len;
	char key; /* of a short one */
	bool known, takes_argument;
	struct nearest nearest;
};

static bool match_long(const struct argp_option *o, void *ctx)
{
	struct word *w = ctx;

	if (!o->name)
		return false;
	if (!(o->flags & OPTION_HIDDEN))
		nearest_try(&w->nearest, o->name);
	/* A prefix does; whether it is that of one option only is argp's to say. */
	if (strncmp(o->name, w->name, w->len))
		return false;
	w->known = true;
	w->takes_argument = o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
	return !o->name[w->len];
}

static bool match_short(const struct argp_option *o, void *ctx)
{
	struct word *w = ctx;

	if (o->key != w->key)
		return false;
	w->takes_argument = o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
	return true;
}

/* --freq=99, --freq 99: says whether the next word is its argument. An unknown one ends the program. */
static bool check_long(const struct argp *argp, const char *command, const char *text)
{
	char name[32] = "";
	struct word w = { .name = text, .len = strcspn(text, "=") };

	if (w.len >= sizeof(name))
		return false;
	memcpy(name, text, w.len);
	nearest_begin(&w.nearest, name);
	if (!each_option(argp, match_long, &w))
		each_option(&own, match_long, &w);
	if (w.known || !w.nearest.best)
		return w.takes_argument && !text[w.len];
	log_error(NULL, "no option --%s; did you mean --%s? (%s --help lists all)", name,
		  w.nearest.best, command);
	exit(EXIT_CODE_USAGE);
}

/* -p 12, -p12, -an 5: whether the next word is an argument. */
static bool check_short(const struct argp *argp, const char *text)
{
	for (; *text; text++) {
		struct word w = { .key = *text };

		each_option(argp, match_short, &w);
		if (w.takes_argument)
			return !text[1];
	}
	return false;
}

static void check_words(const struct argp *argp, int argc, char **argv, unsigned flags)
{
	for (int i = 1; i < argc; i++) {
		const char *text = argv[i];
		bool option = text[0] == '-' && text[1];

		if (!strcmp(text, "--") || (!option && flags & ARGP_IN_ORDER))
			return;
		if (!option)
			continue;
		if (text[1] == '-')
			i += check_long(argp, argv[0], text + 2);
		else
			i += check_short(argp, text + 1);
	}
}

int arguments_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	static char help[] = "--help";

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (argc > 1 && !strcmp(argv[1], "-h"))
		argv[1] = help;
	check_words(argp, argc, argv, flags);
	return argp_parse(argp, argc, argv, flags, NULL, input);
}

struct wanted {
	const char *name;
	const struct argp_option *found;
};

static bool match_name(const struct argp_option *o, void *ctx)
{
	struct wanted *w = ctx;

	if (o->name && !strcmp(o->name, w->name))
		w->found = o;
	return w->found;
}

const struct argp_option *arguments_find(const struct argp *argp, const char *name)
{
	struct wanted w = { .name = name };

	each_option(argp, match_name, &w);
	return w.found;
}

/* ---- what options take ------------------------------------------------------------------------ */

int arguments_id(const char *text, const char *what, struct argp_state *state)
{
	char *end;
	long id = strtol(text, &end, 10);

	if (end == text || *end || id <= 0 || id > ARGUMENTS_PID_MAX)
		argp_error(state, "%s is a number: \"%s\"", what, text);
	return (int)id;
}

int arguments_next_pid(const char **text, struct argp_state *state)
{
	const char *start = *text + strspn(*text, PID_BLANKS);
	char *end;
	long pid;

	if (!*start)
		return 0;
	pid = strtol(start, &end, 10);
	if (end == start || pid <= 0 || pid > ARGUMENTS_PID_MAX ||
	    (*end && !strchr("," PID_BLANKS, *end)))
		argp_error(state, "-p takes process ids, such as 1234 or 12,34: \"%s\"", start);
	*text = *end ? end + 1 : end;
	return (int)pid;
}

unsigned arguments_count(const char *text, const char *what, struct argp_state *state)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || value > 1000000000)
		argp_error(state, "%s is a number, not \"%s\"", what, text);
	return (unsigned)value;
}

void arguments_time(__u64 *ret_ns, const char *text, struct argp_state *state)
{
	if (parse_duration(text, ret_ns))
		argp_error(state, "a time is 10 or 10s, 500ms, 2m or 1h, not \"%s\"", text);
}

void arguments_rate(__u64 *ret, const char *text, struct argp_state *state)
{
	if (parse_rate(text, ret))
		argp_error(state, "a rate is a number of Hz, such as 997 or 10k: \"%s\"", text);
}

void arguments_size(__u64 *ret, const char *text, struct argp_state *state)
{
	if (parse_size(text, ret))
		argp_error(state, "a size is a number with k, M or G: \"%s\"", text);
}

void arguments_thread(struct thread_filter *filter, const char *text, struct argp_state *state)
{
	if (thread_filter_add(filter, text))
		argp_error(state, "--thread takes a thread's id, name or main: \"%s\"", text);
}
