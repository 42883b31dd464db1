/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/arguments.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/perfdata/compressed.h"
#include "cmd/common/complete.h"
#include "cmd/common/config_file.h"
#include "cmd/common/keeper_serve.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/text/nearest.h"
#include "base/text/units.h"

#define PID_BLANKS " \t\n"

/* Options that argp adds to every parser. */
static const struct argp_option own_table[] = { { "help", '?', NULL, 0, NULL, 0 },
						{ "usage", 0, NULL, 0, NULL, 0 },
						{ 0 } };
static const struct argp own = { .options = own_table };

static bool is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc && !o->group;
}

bool arguments_each(const struct argp *argp, arguments_fn fn, void *ctx)
{
	const struct argp_option *o = argp->options;
	const struct argp_child *child = argp->children;

	for (; o && !is_end(o); o++) {
		if (fn(o, ctx))
			return true;
	}
	for (; child && child->argp; child++) {
		if (arguments_each(child->argp, fn, ctx))
			return true;
	}
	return false;
}

/* The file whose options come before those of the command line; empty: none. */
static char defaults_path[PATH_MAX];

void arguments_refuse(const struct argp_state *state, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	log_error(NULL, "%s (see %s --help%s%s)", text ? text : "wrong usage", state->name,
		  *defaults_path ? "; defaults are in " : "", defaults_path);
	exit(EXIT_CODE_USAGE);
}

/* A word of the command line and the option that it is. */
struct word {
	const char *name; /* of a long option: len letters */
	size_t len;
	const struct argp_option *real; /* the last non-alias: an alias takes the same arguments */
	const struct argp_option *found; /* NULL: none */
	const char *found_name,
		*other_name; /* of long options; other: another option with the same prefix */
	struct nearest nearest;
};

static bool match_long(const struct argp_option *o, void *ctx)
{
	struct word *w = ctx;
	bool exact;

	if (!(o->flags & OPTION_ALIAS))
		w->real = o;
	if (!o->name)
		return false;
	if (!(o->flags & OPTION_HIDDEN))
		nearest_try(&w->nearest, o->name);
	if (strncmp(o->name, w->name, w->len))
		return false;
	exact = !o->name[w->len];
	if (w->found && w->found != w->real && !exact) {
		w->other_name = o->name;
		return false;
	}
	w->found = w->real;
	w->found_name = o->name;
	if (exact)
		w->other_name = NULL;
	return exact;
}

const struct argp_option *arguments_long(const struct argp *argp, const char *text, size_t len)
{
	struct word w = { .name = text, .len = len };

	nearest_begin(&w.nearest, "");
	arguments_each(argp, match_long, &w);
	return w.found;
}

struct letter {
	char key;
	const struct argp_option *real, *found;
};

static bool match_short(const struct argp_option *o, void *ctx)
{
	struct letter *l = ctx;

	if (!(o->flags & OPTION_ALIAS))
		l->real = o;
	if (o->key == l->key)
		l->found = l->real;
	return l->found;
}

const struct argp_option *arguments_short(const struct argp *argp, char key)
{
	struct letter l = { .key = key };

	arguments_each(argp, match_short, &l);
	return l.found;
}

static bool takes_value(const struct argp_option *o)
{
	return o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
}

static _Noreturn void refuse_long(const struct word *w, const char *command)
{
	int len = (int)w->len;

	if (w->nearest.best)
		log_error(NULL, "no option --%.*s; did you mean --%s? (%s --help lists all)", len,
			  w->name, w->nearest.best, command);
	else
		log_error(NULL, "no option --%.*s (%s --help lists all)", len, w->name, command);
	exit(EXIT_CODE_USAGE);
}

/*
 * --freq=99, --freq 99: tells whether the next word is its value. Ends the program for what
 * getopt_long() would refuse, with a message in krait's format.
 */
static bool check_long(const struct argp *argp, const struct argp_state *state, const char *text)
{
	char name[32] = "";
	struct word w = { .name = text, .len = strcspn(text, "=") };
	bool value = text[w.len];

	if (w.len < sizeof(name))
		memcpy(name, text, w.len);
	nearest_begin(&w.nearest, name);
	if (!arguments_each(argp, match_long, &w))
		arguments_each(&own, match_long, &w);
	if (!w.found)
		refuse_long(&w, state->name);
	if (w.other_name)
		arguments_refuse(state, "--%.*s is short for --%s and for --%s", (int)w.len, text,
				 w.found_name, w.other_name);
	if (value && !w.found->arg)
		arguments_refuse(state, "--%s takes no value: \"%s\"", w.found_name,
				 text + w.len + 1);
	if (!takes_value(w.found) || value)
		return false;
	if (state->next >= state->argc)
		arguments_refuse(state, "--%s needs a value: --%s=%s", w.found_name, w.found_name,
				 w.found->arg);
	return true;
}

/* -p 12, -p12, -an 5: tells whether the next word is a value. */
static bool check_short(const struct argp *argp, const struct argp_state *state, const char *text)
{
	for (; *text; text++) {
		const struct argp_option *o = arguments_short(argp, *text);

		if (!o)
			o = arguments_short(&own, *text);
		if (!o)
			arguments_refuse(state, "no option -%c", *text);
		if (!o->arg)
			continue;
		if (takes_value(o) && !text[1] && state->next >= state->argc)
			arguments_refuse(state, "-%c needs a value: -%c %s", *text, *text, o->arg);
		return takes_value(o) && !text[1];
	}
	return false;
}

static void check_words(const struct argp *argp, int argc, char **argv, unsigned flags)
{
	static char help[] = "--help";
	struct argp_state state = { .name = argv[0], .argc = argc };

	for (int i = 1; i < argc; i++) {
		const char *text = argv[i];
		bool option = text[0] == '-' && text[1];

		state.next = i + 1;
		if (!strcmp(text, "--") || (!option && flags & ARGP_IN_ORDER))
			return;
		if (!strcmp(text, "-h"))
			argv[i] = help;
		else if (option && text[1] == '-')
			i += check_long(argp, &state, text + 2);
		else if (option)
			i += check_short(argp, &state, text + 1);
	}
}

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--usage") ||
		    !strcmp(argv[i], "-h") || !strcmp(argv[i], "-?"))
			return true;
	return false;
}

/* Puts the caller's defaults before what he has typed, for the rest of the program. */
static void add_defaults(const struct argp *argp, int *argc, char ***argv)
{
	static const char *const with[] = { "record", "report", "top" };
	static struct config_arguments all;
	const char *command = strrchr(**argv, ' ');
	struct error err;

	for (size_t i = 0; command && i < sizeof(with) / sizeof(with[0]); i++) {
		if (strcmp(command + 1, with[i]) || asks_for_help(*argc, *argv) ||
		    !config_file_defaults(defaults_path, sizeof(defaults_path)))
			continue;
		if (config_file_load(&all, defaults_path, with[i], argp, *argc, *argv, &err)) {
			log_error(NULL, "%s", err.text);
			exit(err.code);
		}
		if (!all.own)
			*defaults_path = '\0';
		*argc = all.argc;
		*argv = all.argv;
		return;
	}
	*defaults_path = '\0';
}

static struct {
	const struct argp *argp;
	int argc;
	char **argv;
	unsigned flags;
} parsed;

int arguments_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	int err;

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (complete_begun())
		complete_line(argp, argc, argv, flags);
	add_defaults(argp, &argc, &argv);
	check_words(argp, argc, argv, flags & ~ARGUMENTS_READS);
	parsed.argp = argp;
	parsed.argc = argc;
	parsed.argv = argv;
	parsed.flags = flags & ~ARGUMENTS_READS;
	err = argp_parse(argp, argc, argv, flags & ~ARGUMENTS_READS, NULL, input);
	if (!err && flags & ARGUMENTS_READS)
		keeper_split(argv);
	return err;
}

struct repeated {
	arguments_said_fn fn;
	void *ctx;
};

#define CHILDREN_MAX 4

struct keyed {
	int key;
	const struct argp_option *real, *found;
};

static bool match_key(const struct argp_option *o, void *ctx)
{
	struct keyed *k = ctx;

	if (!(o->flags & OPTION_ALIAS))
		k->real = o;
	if (o->key == k->key && (o->name || o->key))
		k->found = k->real;
	return k->found;
}

/* Stands in for the command's own parser and those of its children. */
static error_t repeat_one(int key, char *arg, struct argp_state *state)
{
	const struct repeated *r = state->input;
	struct keyed k = { .key = key };

	switch (key) {
	case ARGP_KEY_ARG:
		if (parsed.flags & ARGP_IN_ORDER)
			return ARGP_ERR_UNKNOWN;
		r->fn(NULL, arg, r->ctx);
		return 0;
	case ARGP_KEY_ARGS:
		return 0;
	default:
		arguments_each(parsed.argp, match_key, &k);
		if (key <= 0 || !k.found)
			return ARGP_ERR_UNKNOWN;
		r->fn(k.found, arg, r->ctx);
		return 0;
	}
}

static error_t repeat_first(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_INIT)
		return repeat_one(key, arg, state);
	for (int i = 0; state->root_argp->children && state->root_argp->children[i].argp; i++)
		state->child_inputs[i] = state->input;
	return 0;
}

void arguments_repeat(arguments_said_fn fn, void *ctx)
{
	struct repeated r = { fn, ctx };
	struct argp child_argps[CHILDREN_MAX];
	struct argp_child children[CHILDREN_MAX + 1] = { { 0 } };
	struct argp argp = { .options = parsed.argp->options, .parser = repeat_first };

	for (int i = 0; i < CHILDREN_MAX && parsed.argp->children && parsed.argp->children[i].argp;
	     i++) {
		child_argps[i] = (struct argp){ .options = parsed.argp->children[i].argp->options,
						.parser = repeat_one };
		children[i].argp = &child_argps[i];
		argp.children = children;
	}
	argp_parse(&argp, parsed.argc, parsed.argv, parsed.flags | ARGP_NO_HELP, NULL, &r);
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

	arguments_each(argp, match_name, &w);
	return w.found;
}

/* ---- what options take ------------------------------------------------------------------------ */

int arguments_id(const char *text, const char *what, struct argp_state *state)
{
	char *end;
	long id = strtol(text, &end, 10);

	if (end == text || *end || id <= 0 || id > ARGUMENTS_PID_MAX)
		arguments_refuse(state, "%s is a number, not \"%s\"", what, text);
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
		arguments_refuse(state, "-p takes process ids, such as 1234 or 12,34, not \"%s\"",
				 start);
	*text = *end ? end + 1 : end;
	return (int)pid;
}

double arguments_percent(const char *text, const char *what, double min, double max,
			 struct argp_state *state)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%")) || !(percent >= min && percent <= max))
		arguments_refuse(state, "%s takes a percentage, %g to %g, not \"%s\"", what, min,
				 max, text);
	return percent;
}

unsigned arguments_count(const char *text, const char *what, unsigned max, struct argp_state *state)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || value > max)
		arguments_refuse(state, "%s takes a number up to %u, not \"%s\"", what, max, text);
	return (unsigned)value;
}

void arguments_time(__u64 *ret_ns, const char *text, struct argp_state *state)
{
	if (parse_duration(text, ret_ns))
		arguments_refuse(state, "a time is 10 or 10s, 500ms, 2m or 1h, not \"%s\"", text);
}

void arguments_rate(__u64 *ret, const char *text, struct argp_state *state)
{
	if (parse_rate(text, ret))
		arguments_refuse(state, "a rate is a number of Hz, such as 997 or 10k, not \"%s\"",
				 text);
}

void arguments_size(__u64 *ret, const char *text, struct argp_state *state)
{
	if (parse_size(text, ret))
		arguments_refuse(state, "a size is a number with k, M or G, not \"%s\"", text);
}

int arguments_level(const char *text, struct argp_state *state)
{
	char *end;
	long level = text ? strtol(text, &end, 10) : COMPRESSED_LEVEL_DEFAULT;

	if (text && (end == text || *end || level < 1 || level > COMPRESSED_LEVEL_MAX))
		arguments_refuse(state, "-z takes a level, 1 (fastest) to %d, not \"%s\"",
				 COMPRESSED_LEVEL_MAX, text);
	return (int)level;
}

void arguments_thread(struct thread_filter *filter, const char *text, struct argp_state *state)
{
	if (thread_filter_add(filter, text))
		arguments_refuse(state, "--thread takes a thread's id, name or main, not \"%s\"",
				 text);
}
