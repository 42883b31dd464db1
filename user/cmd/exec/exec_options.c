/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/exec/exec_options.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "base/system/clock.h"
#include "base/system/error.h"

#define TIMEOUT_NS (10 * NS_PER_SEC)

static const struct argp_option option_table[] = {
	{ "pid", 'p', "PID", 0, "this process; -p may be left out", 0 },
	{ NULL, 'c', "CODE", 0, "run this instead of a file", 0 },
	{ "thread", 't', "TID", 0,
	  "the thread that runs the code, in any interpreter (default: "
	  "the main interpreter's main thread)",
	  0 },
	{ "timeout", 'T', "TIME", 0, "wait so long for the code to end (default 10s)", 0 },
	{ "capture", 'C', NULL, 0, "print the code's output here instead of in the process", 0 },
	{ 0 },
};

static void take_argument(struct exec_options *o, const char *arg, struct argp_state *state)
{
	if (!o->pid)
		o->pid = arguments_id(arg, "PID", state);
	else if (!o->script)
		o->script = arg;
	else
		arguments_refuse(state, "only one PID and one SCRIPT");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct exec_options *o = state->input;

	switch (key) {
	case 'p':
		if (o->pid)
			arguments_refuse(state, "only one PID and one SCRIPT");
		o->pid = arguments_id(arg, "PID", state);
		return 0;
	case 'c':
		o->code = arg;
		return 0;
	case 't':
		o->tid = arguments_id(arg, "--thread", state);
		return 0;
	case 'T':
		arguments_time(&o->timeout_ns, arg, state);
		return 0;
	case 'C':
		o->capture = true;
		return 0;
	case ARGP_KEY_ARG:
		take_argument(o, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!o->pid)
			arguments_refuse(state, "no process: name its PID");
		if (!o->script == !o->code)
			arguments_refuse(state, "nothing to run: name a SCRIPT, or use -c CODE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "PID SCRIPT\nPID -c CODE",
	.doc = "Run Python code inside a process with CPython 3.14 or later, "
	       "at the next point where its thread can be interrupted (PEP "
	       "768, as sys.remote_exec() does).\v"
	       "The code runs in the process, as its user, in a namespace of its own (__name__ is "
	       "\"__main__\"; import what you need). krait says whether it ran, and what it raised; "
	       "the process goes on either way. SCRIPT may be - for the standard input.\n\n"
	       "A waiting thread runs nothing until it comes back to Python. "
	       "If that takes longer than --timeout, or on Ctrl-C, krait "
	       "withdraws the request; code that has already started goes on, "
	       "and krait says so. krait briefly stops all threads to write "
	       "the request; a waiting system call may return EINTR, as under "
	       "any debugger. If krait cannot ask a process it leaves it as it "
	       "is and says why.\n\n"
	       "The exit code is 0 if the code ran, 1 if it raised, 8 if it "
	       "did not start or end in time, 3 if krait cannot ask the "
	       "process, 4 if that takes more rights.\n\n"
	       "Examples:\n"
	       "  sudo krait exec 4242 inspect.py\n"
	       "  sudo krait exec 4242 --capture -c 'import gc; print(len(gc.get_objects()))'\n"
	       "  sudo krait exec 4242 --thread 4250 -c 'import gc; gc.collect()'\n",
};

void exec_options_parse(struct exec_options *o, int argc, char **argv)
{
	o->timeout_ns = TIMEOUT_NS;
	if (arguments_parse(&parser, argc, argv, 0, o))
		exit(EXIT_CODE_USAGE);
}
