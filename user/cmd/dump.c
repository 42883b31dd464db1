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
#include "follow/filter.h"
#include "look/look.h"
#include "target/prober.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/log.h"
#include "util/privileges.h"
#include "util/units.h"
#include "util/vec.h"

/* How long threads that run are waited for to get a CPU, each time. */
#define SAMPLING_NS (30 * 1000000ULL)
#define LOOKS_MAX 100000U
#define INTERVAL_NS (200 * 1000000ULL)
/* Looks at those that neither held still nor had a CPU. */
#define ROUNDS 4

struct dump {
	bool json, all, locals;
	struct filter filter;
	unsigned look_cnt;
	__u64 interval_ns;
	pid_t *pids; /* that were named, or found */
	size_t pid_cnt, pid_cap;
	struct look_process **processes, **before; /* of this look and of the one before */
	size_t cnt, before_cnt;
	struct prober *prober;
	struct json writer;
	struct error no_interrupts; /* why running threads cannot be had; text "" */
	int code; /* the worst of all looks */
};

static const struct argp_option option_table[] = {
	{ "all", 'a', NULL, 0, "every Python process of this machine", 0 },
	{ "json", 'j', NULL, 0, "one JSON array instead of text", 0 },
	{ "name", 'N', "PATTERN", 0,
	  "those whose command, script or module matches, as in record --name", 0 },
	{ "count", 'n', "N", 0, "look N times; what is as before is said, not repeated", 0 },
	{ "interval", 'i', "TIME", 0, "between two looks (default 200ms)", 0 },
	{ "locals", 'l', NULL, 0, "variables of each frame and their values", 0 },
	{ 0 },
};

static int add(struct dump *d, pid_t pid)
{
	if (vec_reserve(d->pids, d->pid_cap, d->pid_cnt + 1))
		return -ENOMEM;
	d->pids[d->pid_cnt++] = pid;
	return 0;
}

static void take_name(struct dump *d, const char *name, struct argp_state *state)
{
	if (!*name)
		argp_error(state, "--name takes a pattern, not nothing");
	if (d->filter.name_cnt == FILTER_MAX)
		argp_error(state, "more than %d names", FILTER_MAX);
	d->filter.names[d->filter.name_cnt++] = name;
	d->all = true;
}

static void take_count(struct dump *d, const char *text, struct argp_state *state)
{
	char *end;
	unsigned long cnt = strtoul(text, &end, 10);

	if (*end || end == text || !cnt || cnt > LOOKS_MAX)
		argp_error(state, "-n takes a number of looks: \"%s\"", text);
	d->look_cnt = (unsigned)cnt;
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
	case 'N':
		take_name(d, arg, state);
		return 0;
	case 'n':
		take_count(d, arg, state);
		return 0;
	case 'i':
		if (parse_duration(arg, &d->interval_ns))
			argp_error(state, "-i takes a time, such as 200ms or 1s: \"%s\"", arg);
		return 0;
	case ARGP_KEY_ARG:
		errno = 0;
		pid = strtol(arg, &end, 10);
		if (errno || *end || end == arg || pid <= 0 || pid > 0x7fffffff)
			argp_error(state, "PID is the number of a process, not \"%s\"", arg);
		return -add(d, (pid_t)pid);
	case ARGP_KEY_END:
		if (d->all && d->pid_cnt)
			argp_error(state, "either PIDs, or -a for all and --name");
		if (!d->all && !d->pid_cnt)
			argp_error(state, "which process? PID, or -a for all");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "PID...\n-a\n--name PATTERN",
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
	       "  sudo krait dump -n 5 -i 200ms --name 'worker*'\n"
	       "  sudo krait dump -a --json | jq '.[].threads[] | {name, state}'\n",
};

static size_t missing(const struct dump *d)
{
	size_t cnt = 0;

	for (size_t i = 0; i < d->cnt; i++)
		cnt += d->processes[i]->result ? 0 : look__missing(d->processes[i]);
	return cnt;
}

/* With -a what is no Python, not wanted, or cannot be read, is left out. */
static void forget_others(struct dump *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->cnt; i++) {
		struct look_process *p = d->processes[i];

		if (p->unwanted || (p->result && !p->process.version))
			look__free(p);
		else
			d->processes[kept++] = p;
	}
	d->cnt = kept;
}

static void take_all(struct dump *d)
{
	for (size_t i = 0; i < d->cnt; i++) {
		struct look_process *p = d->processes[i];

		p->locals = d->locals;
		p->filter = d->filter.name_cnt ? &d->filter : NULL;
		if (look__take(p, d->prober))
			log_debug("dump", "pid %d: %s", (int)p->process.pid, p->process.why);
	}
	if (d->all)
		forget_others(d);
}

/* Those that run, and those that neither held still nor had a CPU. */
static void take_missing(struct dump *d)
{
	for (int round = 0; round < ROUNDS && missing(d) && !*d->no_interrupts.text; round++) {
		if (look_interrupts(d->processes, d->cnt, SAMPLING_NS, &d->no_interrupts))
			break;
		for (size_t i = 0; i < d->cnt; i++) {
			struct look_process *p = d->processes[i];

			if (!p->result && look__missing(p) && look__again(p, d->prober))
				log_debug("dump", "pid %d: %s", (int)p->process.pid,
					  p->process.why);
		}
	}
}

static struct look_process *find_before(const struct dump *d, const struct look_process *p)
{
	for (size_t i = 0; i < d->before_cnt; i++)
		if (d->before[i]->process.pid == p->process.pid &&
		    d->before[i]->process.start_ticks == p->process.start_ticks)
			return d->before[i];
	return NULL;
}

static void print_all(struct dump *d, unsigned look)
{
	if (look > 1 && !d->json)
		printf("\n---- look %u of %u\n\n", look, d->look_cnt);
	for (size_t i = 0; i < d->cnt; i++) {
		struct look_process *p = d->processes[i], *before = find_before(d, p);

		if (d->json) {
			dump_put_json(&d->writer, p, before, look);
			continue;
		}
		if (i)
			putchar('\n');
		dump_print(stdout, p, before);
	}
	if (!d->json && !d->cnt)
		puts("no Python process");
	fflush(stdout);
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

static void free_looks(struct look_process **list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		look__free(list[i]);
	free(list);
}

static int look_once(struct dump *d, unsigned look)
{
	free_looks(d->before, d->before_cnt);
	d->before = d->processes;
	d->before_cnt = d->cnt;
	d->cnt = 0;
	d->processes = calloc(d->pid_cnt + 1, sizeof(*d->processes));
	for (size_t i = 0; d->processes && i < d->pid_cnt; i++) {
		d->processes[d->cnt] = look__new(d->pids[i]);
		if (!d->processes[d->cnt])
			return -ENOMEM;
		d->cnt++;
	}
	if (!d->processes)
		return -ENOMEM;
	take_all(d);
	take_missing(d);
	print_all(d, look);
	if (d->code == EXIT_CODE_OK)
		d->code = judge(d);
	return 0;
}

static int add_found(pid_t pid, void *ctx)
{
	struct dump *d = ctx;

	return pid == getpid() || prober__is_ours(d->prober, pid) ? 0 : add(d, pid);
}

/* All looks, with -a at whatever is there by then. */
static int look_again_and_again(struct dump *d)
{
	__u64 due_ns = clock_monotonic_ns();
	int err = 0;

	for (unsigned look = 1; !err && look <= d->look_cnt && !ferror(stdout); look++) {
		__u64 now_ns = clock_monotonic_ns();

		if (now_ns < due_ns)
			usleep((useconds_t)((due_ns - now_ns) / 1000));
		due_ns = clock_monotonic_ns() + d->interval_ns;
		if (d->all) {
			d->pid_cnt = 0;
			err = process_each(add_found, d);
		}
		if (!err)
			err = look_once(d, look);
	}
	return err;
}

static int dump(struct dump *d)
{
	int err;

	d->prober = prober__new(PROBERS_MAX);
	if (!d->prober) {
		log_error("dump", "out of memory");
		return EXIT_CODE_KERNEL;
	}
	prober__prepare(d->prober, true);
	if (privileges_drop(&(const struct privileges_need){ .sampling = true })) {
		log_error("dump", "cannot give up the rights that krait does not need");
		return EXIT_CODE_KERNEL;
	}
	if (d->json)
		json_open_array(&d->writer);
	err = look_again_and_again(d);
	if (d->json) {
		json_close_array(&d->writer);
		putchar('\n');
	}
	if (err) {
		log_error("dump", "%s", strerror(-err));
		return EXIT_CODE_KERNEL;
	}
	if (*d->no_interrupts.text)
		log_warn("dump",
			 "threads that run have no stack here: %s (krait doctor checks all "
			 "that is needed)",
			 d->no_interrupts.text);
	if (fflush(stdout) || ferror(stdout)) {
		if (errno == EPIPE)
			return EXIT_CODE_OK;
		log_error("dump", "cannot write: %s", strerror(errno));
		return EXIT_CODE_OUTPUT;
	}
	return d->code;
}

int cmd_dump(int argc, char **argv)
{
	struct dump d = { .look_cnt = 1, .interval_ns = INTERVAL_NS, .writer = { .out = stdout } };
	int code = EXIT_CODE_USAGE;

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (!argp_parse(&parser, argc, argv, 0, NULL, &d))
		code = dump(&d);
	free_looks(d.processes, d.cnt);
	free_looks(d.before, d.before_cnt);
	free(d.pids);
	prober__free(d.prober);
	return code;
}
