/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump.c - krait dump: every thread of a process, and where it is right now.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/dump_print.h"
#include "look/interrupts.h"
#include "look/look.h"
#include "target/prober.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/log.h"
#include "util/privileges.h"
#include "util/vec.h"

/* How long threads that run are waited for to get a CPU, each time. */
#define SAMPLING_NS (30 * 1000000ULL)
/* Looks at those that neither held still nor had a CPU. */
#define ROUNDS 4

struct dump {
	bool json, all, locals;
	struct look_process **processes;
	size_t cnt, cap;
	struct prober *prober;
	struct error no_interrupts; /* why running threads cannot be had; text "" */
};

static const struct argp_option option_table[] = {
	{ "all", 'a', NULL, 0, "every Python process of this machine", 0 },
	{ "json", 'j', NULL, 0, "one JSON array instead of text", 0 },
	{ "locals", 'l', NULL, 0, "variables of each frame and their values", 0 },
	{ 0 },
};

static int add(struct dump *d, pid_t pid)
{
	struct look_process *p;

	if (vec_reserve(d->processes, d->cap, d->cnt + 1) || !(p = look__new(pid)))
		return -ENOMEM;
	d->processes[d->cnt++] = p;
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct dump *d = state->input;
	char *end;
	long pid;

	switch (key) {
	case 'a':
		d->all = true;
		return 0;
	case 'j':
		d->json = true;
		return 0;
	case 'l':
		d->locals = true;
		return 0;
	case ARGP_KEY_ARG:
		errno = 0;
		pid = strtol(arg, &end, 10);
		if (errno || *end || end == arg || pid <= 0 || pid > 0x7fffffff)
			argp_error(state, "PID is the number of a process, not \"%s\"", arg);
		return -add(d, (pid_t)pid);
	case ARGP_KEY_END:
		if (d->all && d->cnt)
			argp_error(state, "either PIDs, or -a for all");
		if (!d->all && !d->cnt)
			argp_error(state, "which process? PID, or -a for all");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "PID...\n-a",
	.doc = "Print what every thread of Python processes does right now.\v"
	       "Nothing is stopped. The stack of a thread that waits is read from its memory, and\n"
	       "shown only if the thread did not run meanwhile; one that runs is walked by the\n"
	       "kernel, in an interrupt of its own. Where neither could be had, the thread is\n"
	       "shown without a stack, and why. The innermost frame comes first.\n\n"
	       "--locals reads the variables of threads that wait. Nothing is executed in the\n"
	       "target: an instance is <Class attribute=value>, whatever its own __repr__ says.\n"
	       "~ marks a value that another thread has changed while it was read.\n\n"
	       "The exit code is 3 if one of the PIDs cannot be looked at, 4 if that takes more\n"
	       "rights, 1 if a thread's stack could not be had.\n\n"
	       "examples:\n"
	       "  sudo krait dump 4242\n"
	       "  sudo krait dump --locals 4242\n"
	       "  sudo krait dump -a --json | jq '.[].threads[] | {name, state}'\n",
};

static int add_found(pid_t pid, void *ctx)
{
	struct dump *d = ctx;

	return pid == getpid() || prober__is_ours(d->prober, pid) ? 0 : add(d, pid);
}

static size_t missing(const struct dump *d)
{
	size_t cnt = 0;

	for (size_t i = 0; i < d->cnt; i++)
		cnt += d->processes[i]->result ? 0 : look__missing(d->processes[i]);
	return cnt;
}

/* With -a what is no Python, and what cannot be read, is left out. */
static void forget_others(struct dump *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->cnt; i++) {
		struct look_process *p = d->processes[i];

		if (p->result && !p->process.version)
			look__free(p);
		else
			d->processes[kept++] = p;
	}
	d->cnt = kept;
}

static void look_at_all(struct dump *d)
{
	for (size_t i = 0; i < d->cnt; i++) {
		d->processes[i]->locals = d->locals;
		if (look__take(d->processes[i], d->prober))
			log_debug("dump", "pid %d: %s", (int)d->processes[i]->process.pid,
				  d->processes[i]->process.why);
	}
	if (d->all)
		forget_others(d);
	for (int round = 0; round < ROUNDS && missing(d) && !*d->no_interrupts.text; round++) {
		if (look_interrupts(d->processes, d->cnt, SAMPLING_NS, &d->no_interrupts))
			break;
		for (size_t i = 0; i < d->cnt; i++)
			if (!d->processes[i]->result && look__missing(d->processes[i]) &&
			    look__again(d->processes[i], d->prober))
				break;
	}
}

static void print_all(const struct dump *d)
{
	struct json j = { .out = stdout };

	if (d->json)
		json_open_array(&j);
	for (size_t i = 0; i < d->cnt; i++) {
		if (d->json) {
			dump_put_json(&j, d->processes[i]);
			continue;
		}
		if (i)
			putchar('\n');
		dump_print(stdout, d->processes[i]);
	}
	if (d->json) {
		json_close_array(&j);
		putchar('\n');
	} else if (!d->cnt) {
		puts("no Python process");
	}
}

static int judge(const struct dump *d)
{
	int code = EXIT_CODE_OK;

	for (size_t i = 0; i < d->cnt; i++) {
		if (d->processes[i]->result == -EACCES)
			return EXIT_CODE_PERMISSION;
		if (d->processes[i]->result && !d->all)
			code = EXIT_CODE_TARGET;
	}
	if (code == EXIT_CODE_OK && missing(d))
		code = EXIT_CODE_LOSSY;
	return code;
}

static int dump(struct dump *d)
{
	d->prober = prober__new(PROBERS_MAX);
	if (!d->prober || (d->all && process_each(add_found, d))) {
		log_error("dump", "out of memory");
		return EXIT_CODE_KERNEL;
	}
	prober__prepare(d->prober, true);
	if (privileges_drop(&(const struct privileges_need){ .sampling = true })) {
		log_error("dump", "cannot give up the rights that krait does not need");
		return EXIT_CODE_KERNEL;
	}
	look_at_all(d);
	print_all(d);
	if (*d->no_interrupts.text && missing(d))
		log_warn("dump", "threads that run have no stack here: %s", d->no_interrupts.text);
	if (fflush(stdout) || ferror(stdout)) {
		if (errno == EPIPE)
			return EXIT_CODE_OK;
		log_error("dump", "cannot write: %s", strerror(errno));
		return EXIT_CODE_OUTPUT;
	}
	return judge(d);
}

int cmd_dump(int argc, char **argv)
{
	struct dump d = { 0 };
	int code = EXIT_CODE_USAGE;

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (!argp_parse(&parser, argc, argv, 0, NULL, &d))
		code = dump(&d);
	for (size_t i = 0; i < d.cnt; i++)
		look__free(d.processes[i]);
	free(d.processes);
	prober__free(d.prober);
	return code;
}
