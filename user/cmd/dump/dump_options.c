/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/dump/dump_options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#include "cmd/common/arguments.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/data/vec.h"

#define LOOKS_MAX 100000U
#define INTERVAL_NS (NS_PER_SEC / 5)

enum {
	KEY_NATIVE = 256,
	KEY_THREAD,
	KEY_GREENLETS,
};

static const struct argp_option option_table[] = {
	{ "pid", 'p', "PID[,PID...]", 0, "these processes; -p may be left out", 0 },
	{ "all", 'a', NULL, 0, "every Python process on this machine", 0 },
	{ "json", 'j', NULL, 0, "one JSON array instead of text", 0 },
	{ "name", 'N', "PATTERN", 0,
	  "processes whose command, script or module matches, as in "
	  "record --name",
	  0 },
	{ "count", 'n', "N", 0,
	  "look N times; threads that did not move are marked, not "
	  "repeated",
	  0 },
	{ "interval", 'i', "TIME", 0, "between two looks (default 200ms)", 0 },
	{ "tasks", 'T', NULL, 0,
	  "asyncio tasks instead of threads, as a tree of what each awaits (CPython 3.14 and later)",
	  0 },
	{ "greenlets", KEY_GREENLETS, NULL, 0,
	  "greenlets instead of threads, each below its parent (greenlet 1.1 and later, gevent)",
	  0 },
	{ "locals", 'l', NULL, 0, "also the variables of each frame and their values", 0 },
	{ "thread", KEY_THREAD, "THREAD", 0, THREAD_FILTER_ABOUT, 0 },
	{ "native", KEY_NATIVE, NULL, 0,
	  "also native frames, of waiting and of running threads, and of "
	  "a core. Their names are from files on this machine: only record "
	  "and readers of captures ask debuginfod servers",
	  0 },
	{ "core", 'c', "FILE", 0, "a core file instead of a process", 0 },
	{ "root", 'R', "FOLDER", 0, "with --core: the root folder of the process", 0 },
	{ "pause", 'P', NULL, 0, "stop all threads of a process while krait reads it", 0 },
	{ 0 },
};

int dump_options_add(struct dump_options *o, pid_t pid)
{
	if (vec_reserve(o->pids, o->pid_cap, o->pid_cnt + 1))
		return -ENOMEM;
	o->pids[o->pid_cnt++] = pid;
	return 0;
}

static error_t take_pids(struct dump_options *o, const char *text, struct argp_state *state)
{
	size_t before = o->pid_cnt;
	pid_t pid;

	while ((pid = arguments_next_pid(&text, state))) {
		int err = dump_options_add(o, pid);

		if (err)
			return -err;
	}
	if (o->pid_cnt == before)
		arguments_refuse(state,
				 "-p takes process ids, such as 1234 or 12,34, and got none");
	return 0;
}

static void take_name(struct dump_options *o, const char *name, struct argp_state *state)
{
	if (!*name)
		arguments_refuse(state, "--name takes a pattern and got none");
	if (o->filter.name_cnt == FILTER_MAX)
		arguments_refuse(state, "too many names: at most %d", FILTER_MAX);
	o->filter.names[o->filter.name_cnt++] = name;
	o->all = true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct dump_options *o = state->input;

	switch (key) {
	case 'p':
		return take_pids(o, arg, state);
	case 'a':
		o->all = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'T':
		o->tasks = true;
		return 0;
	case KEY_GREENLETS:
		o->greenlets = true;
		return 0;
	case 'l':
		o->locals = true;
		return 0;
	case 'c':
		o->core = arg;
		return 0;
	case 'R':
		o->root = arg;
		return 0;
	case KEY_THREAD:
		arguments_thread(&o->thread, arg, state);
		return 0;
	case KEY_NATIVE:
		o->native = true;
		return 0;
	case 'P':
		o->pause = true;
		return 0;
	case 'N':
		take_name(o, arg, state);
		return 0;
	case 'n':
		o->look_cnt = arguments_count(arg, "-n", LOOKS_MAX, state);
		if (!o->look_cnt)
			arguments_refuse(state, "-n takes a number of looks, not \"%s\"", arg);
		return 0;
	case 'i':
		arguments_time(&o->interval_ns, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		return take_pids(o, arg, state);
	case ARGP_KEY_END:
		if (o->all && o->pid_cnt)
			arguments_refuse(state, "choose PIDs, or -a and --name, but not both");
		if (o->core && (o->all || o->pid_cnt || o->pause || o->look_cnt > 1))
			arguments_refuse(
				state,
				"--core cannot be combined with PIDs, -a, --pause or -n: a core file is a single moment");
		if (o->tasks && o->greenlets)
			arguments_refuse(state, "choose --tasks or --greenlets, but not both");
		if ((o->tasks || o->greenlets) && (o->core || o->locals || o->pause || o->native))
			arguments_refuse(
				state,
				"--tasks and --greenlets cannot be combined with --core, --locals, --native or --pause");
		if (!o->core && !o->all && !o->pid_cnt)
			arguments_refuse(state, "no process: name its PID, or use -a for all");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "PID...\n-a\n--name PATTERN\n--core FILE",
	.doc = "Print what every thread of Python processes does right now.\v"
	       "krait stops nothing. It reads the stack of a waiting thread "
	       "from its memory, and shows it only if the thread did not run "
	       "meanwhile; the kernel walks the stack of a running thread in "
	       "an interrupt. If neither works, krait shows the thread without "
	       "a stack and says why. The innermost frame comes first.\n\n"
	       "--pause is the exception: it stops all threads (ptrace) for "
	       "some milliseconds, so that all stacks show the same moment, "
	       "and running threads have variables too. The kernel resumes "
	       "them whatever happens to krait. It cannot stop a thread in "
	       "uninterruptible sleep, but such a thread does not move.\n\n"
	       "--locals reads variables; for running threads it reads them a "
	       "moment later than the stacks. krait executes nothing in the "
	       "target: it shows an instance as <Class attribute=value>, "
	       "whatever its own __repr__ says. ~ marks a value that changed "
	       "while krait read it.\n\n"
	       "--core reads a core file. The kernel leaves constants of "
	       "mapped files out of it; krait reads them from those files, if "
	       "they exist here and start with the same bytes. Before 3.13 it "
	       "needs the interpreter's own file.\n\n"
	       "The exit code is 3 if krait cannot read one of the PIDs, 4 if "
	       "that takes more rights, 1 if it could not get the stack of a "
	       "thread.\n\n"
	       "Examples:\n"
	       "  sudo krait dump 4242\n"
	       "  sudo krait dump --locals 4242\n"
	       "  sudo krait dump -n 5 -i 200ms --name 'worker*'\n"
	       "  sudo krait dump -a --json | jq '.[].threads[] | {name, state}'\n",
};

void dump_options_parse(struct dump_options *o, int argc, char **argv)
{
	o->look_cnt = 1;
	o->interval_ns = INTERVAL_NS;
	if (arguments_parse(&parser, argc, argv, 0, o))
		exit(EXIT_CODE_USAGE);
}
