/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/complete.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/common/arguments.h"
#include "cmd/common/commands.h"
#include "cmd/common/formats.h"
#include "cmd/common/input.h"
#include "cmd/common/keeper_serve.h"
#include "profile/dict.h"
#include "profile/states.h"
#include "record/samples/label.h"
#include "process/proc/proc.h"
#include "process/identify/py_process.h"
#include "process/proc/process_info.h"
#include "base/data/cleanup.h"
#include "base/files/sudo_user.h"
#include "base/system/error.h"
#include "base/system/event.h"
#include "base/text/printable.h"
#include "base/data/vec.h"
#include "base/worker/keeper.h"

/* Nobody waits longer for a key to have an effect. */
#define SECONDS_MAX 3
/* Reading more takes longer than that. */
#define CAPTURE_MAX (64 << 20)
/* Enough of what a thing means. */
#define ABOUT_MAX 100

static bool begun;

void complete_begin(void)
{
	begun = true;
	/* A process can let whoever reads its arguments wait (proc.h): what was printed until then is good. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(SECONDS_MAX);
	unsetenv("DEBUGINFOD_URLS");
}

bool complete_begun(void)
{
	return begun;
}

/* ---- one word --------------------------------------------------------------------------------- */

/* The first sentence at most. */
static int about_len(const char *about)
{
	int len = 0;

	while (about[len] && len < ABOUT_MAX && !(about[len] == '.' && about[len + 1] == ' ') &&
	       !strchr(";\n", about[len]))
		len++;
	return len;
}

static void put(const char *prefix, const char *name, const char *about)
{
	char text[256];

	printable_into(text, sizeof(text), about ? about : "");
	printf("%s%s%s%.*s\n", prefix, name, *text ? "\t" : "", about_len(text), text);
}

void complete_word(const char *text, const char *name, const char *about)
{
	if (!strncmp(name, text, strlen(text)))
		put("", name, about);
}

/* What an option takes. */
struct value {
	const char *prefix; /* "--pid=12,": what is there already */
	const char *text; /* what is typed of the value itself */
	size_t prefix_len;
};

static void offer(const struct value *v, const char *name, const char *about)
{
	char prefix[256];

	if (strncmp(name, v->text, strlen(v->text)))
		return;
	snprintf(prefix, sizeof(prefix), "%.*s", (int)v->prefix_len, v->prefix);
	put(prefix, name, about);
}

static void order(const char *what, const struct value *v)
{
	printf(":%s\t%.*s\n", what, (int)v->prefix_len, v->prefix);
}

/* Of a list, only the last part is completed. */
static void take_list(struct value *v)
{
	const char *comma = strrchr(v->text, ',');

	if (!comma)
		return;
	/* The prefix lies in the same word, in front of the text. */
	v->prefix_len += (size_t)(comma + 1 - v->text);
	v->text = comma + 1;
	v->prefix = v->text - v->prefix_len;
}

/* ---- processes -------------------------------------------------------------------------------- */

/* A command line without its program's folder. */
static const char *program_name(const char *command)
{
	const char *end = command + strcspn(command, " "), *name = command;

	for (const char *c = command; c < end; c++)
		if (*c == '/')
			name = c + 1;
	return name;
}

static bool is_python(const char *name)
{
	/* [python3]: what the kernel calls one without arguments. */
	return !strncmp(name + (*name == '['), "python", strlen("python"));
}

static int offer_process(pid_t pid, void *ctx)
{
	cleanup_close int dir = -1;
	const struct value *v = ctx;
	struct process_info info;
	char number[16], comm[16];
	const char *program;

	snprintf(number, sizeof(number), "%d", pid);
	if (strncmp(number, v->text, strlen(v->text)) || pid == getpid())
		return 0;
	/* Not process_info_name_user(): the user's name, which nobody sees here, may come from the network. */
	dir = proc_open(pid);
	if (dir == -ESRCH || process_info_read_at(dir, pid, &info))
		return 0;
	program = program_name(info.command);
	if (is_python(program) || (!process_comm(pid, comm) && is_python(comm)))
		offer(v, number, program);
	return 0;
}

void complete_pids(const char *prefix, const char *text)
{
	struct value v = { .prefix = prefix, .text = text, .prefix_len = strlen(prefix) };

	process_each(offer_process, &v);
}

/* ---- functions of the capture ----------------------------------------------------------------- */

/* Opens it, if it is the caller's own; else NULL. */
static FILE *open_mine(const char *path)
{
	cleanup_close int fd = keeper_open_named(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != sudo_user_uid() ||
	    st.st_size > CAPTURE_MAX)
		return NULL;
	return fdopen(take_fd(&fd), "r");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void offer_functions(const struct value *v, const char *path, char **argv)
{
	cleanup_fclose FILE *file = NULL;
	struct input_options options = { .path = path };
	const char **names = NULL;
	size_t cnt = 0, cap = 0;
	struct input in;

	keeper_split(argv);
	file = options.file = open_mine(path);
	if (!file || input__load(&in, &options, NULL, NULL, NULL) != EXIT_CODE_OK)
		return;
	for (__u32 i = 1; i <= dict__frame_cnt(in.profile->dict); i++) {
		const struct profile_frame *f = dict__frame_at(in.profile->dict, i);
		const char *name = dict__text(in.profile->dict, f->name);

		/* Native ones only if somebody asks: there are many. */
		if (f->kind != FRAME_PYTHON && (f->kind != FRAME_NATIVE || !*v->text))
			continue;
		/* What cannot be typed is no help. */
		if (f->unknown || strpbrk(name, "\n\t\r\x1b") || *name == ':')
			continue;
		if (vec_reserve(names, cap, cnt + 1))
			break;
		names[cnt++] = name;
	}
	if (cnt)
		qsort(names, cnt, sizeof(*names), by_text);
	for (size_t i = 0; i < cnt; i++) {
		cleanup_free char *text = printable(names[i]);

		/* One that is shown otherwise is not what would be looked for. */
		if (text && !strcmp(text, names[i]) && (!i || strcmp(names[i], names[i - 1])))
			offer(v, text, NULL);
	}
	free(names);
}

/* ---- what an option takes --------------------------------------------------------------------- */

typedef const char *(*list_fn)(unsigned i);

static const char *state_word(unsigned i)
{
	static const char *const more[] = { "gc", "exception", "on", "off" };

	/* Not the first, which has no name. */
	if (i + 1 < STATE_CNT)
		return state_name((enum state)(i + 1));
	i -= STATE_CNT - 1;
	return i < sizeof(more) / sizeof(more[0]) ? more[i] : NULL;
}

static const struct {
	const char *command; /* NULL: any */
	const char *option;
	list_fn list;
	bool many; /* separated by commas */
} lists[] = {
	{ NULL, "format", format_name, false },
	{ NULL, "state", state_word, true },
	{ NULL, "event", event_listed, true },
	{ NULL, "label", label_part_name, true },
	{ NULL, "by", report_by_name, false },
	{ NULL, "view", top_view_name, false },
	{ "krait top", "sort", top_sort_name, false },
	{ "krait report", "sort", report_sort_name, true },
	{ "krait report", "fields", report_field_name, true },
};

struct line {
	const struct argp *argp;
	char **argv;
	const char *capture;
};

static bool offer_list(const struct line *l, const struct argp_option *o, struct value *v)
{
	const char *name;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (strcmp(lists[i].option, o->name) ||
		    (lists[i].command && strcmp(lists[i].command, l->argv[0])))
			continue;
		if (lists[i].many)
			take_list(v);
		for (unsigned k = 0; (name = lists[i].list(k)); k++)
			offer(v, name, NULL);
		return true;
	}
	return false;
}

/* "self|total": these. */
static bool offer_choice(const char *words, const struct value *v)
{
	cleanup_free char *copy = strchr(words, '|') ? strdup(words) : NULL;
	char *rest = NULL;

	for (char *word = copy ? strtok_r(copy, "|", &rest) : NULL; word;
	     word = strtok_r(NULL, "|", &rest))
		offer(v, word, NULL);
	return copy;
}

/* what: as --help says, "FILE" or "PID[,PID...]"; option: NULL or which one takes it. */
static void offer_value(const struct line *l, const char *what, const struct argp_option *option,
			struct value *v)
{
	const char *name = option && option->name ? option->name : "";

	if (offer_choice(what, v) || (option && offer_list(l, option, v)))
		return;
	if (!strncmp(what, "PID", strlen("PID"))) {
		take_list(v);
		process_each(offer_process, v);
	} else if (!strcmp(what, "DIR") || !strcmp(what, "FOLDER")) {
		order("directory", v);
	} else if (!strcmp(name, "user")) {
		order("user", v);
	} else if (!strcmp(name, "function") || !strcmp(name, "callers") ||
		   !strcmp(name, "callees") || (!option && !strcmp(what, "NAME"))) {
		offer_functions(v, l->capture, l->argv);
		if (!option)
			order("file", v);
	} else if (!strcmp(what, "FILE") || (!option && strcmp(what, "CODE"))) {
		order("file", v);
	}
}

/* ---- the line --------------------------------------------------------------------------------- */

struct options {
	const char *text; /* typed of a long option */
	size_t len;
	const struct argp_option *real;
};

static bool offer_option(const struct argp_option *o, void *ctx)
{
	struct options *s = ctx;
	char name[80];

	if (!(o->flags & OPTION_ALIAS))
		s->real = o;
	if (!o->name || o->flags & OPTION_HIDDEN || strncmp(o->name, s->text, s->len))
		return false;
	snprintf(name, sizeof(name), "--%s%s", o->name,
		 s->real->arg && !(s->real->flags & OPTION_ARG_OPTIONAL) ? "=" : "");
	put("", name, s->real->doc);
	return false;
}

/* Of "-anp12": the option with a value, p; *ret: its value. NULL: none has one. */
static const struct argp_option *short_option(const struct line *l, const char *word,
					      const char **ret)
{
	for (const char *c = word + 1; *c; c++) {
		const struct argp_option *o = arguments_short(l->argp, *c);

		if (!o)
			return NULL;
		*ret = c + 1;
		if (o->arg)
			return o;
	}
	return NULL;
}

/* The option of the word before, if the next one is its value; else NULL. */
static const struct argp_option *wants(const struct line *l, const char *word)
{
	const struct argp_option *o = NULL;
	const char *value = "";

	if (!strncmp(word, "--", 2) && !strchr(word, '='))
		o = arguments_long(l->argp, word + 2, strlen(word + 2));
	else if (word[0] == '-' && word[1] != '-')
		o = short_option(l, word, &value);
	return o && o->arg && !(o->flags & OPTION_ARG_OPTIONAL) && !*value ? o : NULL;
}

/* The nth of "PID SCRIPT", "[FILE]", "PID...": the last may come again. */
static void offer_operand(const struct line *l, int n, struct value *v)
{
	const char *doc = l->argp->args_doc ? l->argp->args_doc : "";
	char first[64], *rest = NULL, *last = NULL;

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(doc, "\n"), doc);
	for (char *word = strtok_r(first, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		word += *word == '[';
		last = word;
		if (!n--)
			break;
		if (!strstr(word, "..."))
			last = NULL;
	}
	if (!last)
		return;
	last[strcspn(last, ".]")] = '\0';
	offer_value(l, last, NULL, v);
}

static void offer_options(const struct line *l, const char *word)
{
	struct options s = { .text = word + strspn(word, "-") };

	s.len = strlen(s.text);
	arguments_each(l->argp, offer_option, &s);
	complete_word(word, "--help", "all options");
}

static void offer_word(struct line *l, const char *word, int operands, bool only_operands)
{
	const char *value = strchr(word, '=');
	const struct argp_option *o = NULL;
	struct value v = { .prefix = word, .text = word };

	if (!only_operands && !strncmp(word, "--", 2) && value++)
		o = arguments_long(l->argp, word + 2, (size_t)(value - word) - 3);
	else if (!only_operands && word[0] == '-' && word[1] != '-')
		o = short_option(l, word, &value);
	if (o && o->arg && value) {
		v.text = value;
		v.prefix_len = (size_t)(value - word);
		offer_value(l, o->arg, o, &v);
	} else if (!only_operands && *word == '-') {
		offer_options(l, word);
	} else {
		offer_operand(l, operands, &v);
		if (!strcmp(l->argv[0], "krait agent") && !operands)
			complete_word(word, "snapshot", "make a capture of what the agent keeps");
	}
}

void complete_line(const struct argp *argp, int argc, char **argv, unsigned flags)
{
	struct line l = { .argp = argp, .argv = argv, .capture = INPUT_DEFAULT };
	const struct argp_option *option = NULL;
	int operands = 0;
	bool only = false;

	for (int i = 1; i < argc - 1; i++) {
		const char *word = argv[i];
		bool dash = !only && word[0] == '-' && word[1];

		if (option) {
			if (option->key == 'i' && !strcmp(option->arg, "FILE"))
				l.capture = word;
			option = NULL;
		} else if (!only && !strcmp(word, "--")) {
			only = true;
			operands = flags & ARGP_IN_ORDER ? i + 1 : operands;
			if (flags & ARGP_IN_ORDER)
				break;
		} else if (!dash && flags & ARGP_IN_ORDER) {
			only = true;
			operands = i;
			break;
		} else if (!dash) {
			operands++;
			if (argp->args_doc && !strcmp(argp->args_doc, "[FILE]"))
				l.capture = word;
		} else {
			if (!strncmp(word, "--input=", strlen("--input=")))
				l.capture = word + strlen("--input=");
			option = wants(&l, word);
		}
	}
	if (option) {
		struct value v = { .prefix = argv[argc - 1], .text = argv[argc - 1] };

		offer_value(&l, option->arg, option, &v);
	} else if (flags & ARGP_IN_ORDER && (only || argv[argc - 1][0] != '-')) {
		/* As the shell counts: behind "krait record". */
		printf(":command\t%d\n", only ? operands : argc - 1);
	} else {
		offer_word(&l, argv[argc - 1], operands, only);
	}
	exit(EXIT_CODE_OK);
}
