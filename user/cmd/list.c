/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.c - "krait list": every Python process, and how it would be profiled or why not.
 *
 * Needs no BPF. Without root it sees what this user may read, and says what it could not.
 */
#include "cmd/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/elf_cache.h"
#include "target/process.h"
#include "target/process_info.h"
#include "util/error.h"
#include "util/json.h"
#include "util/log.h"
#include "util/printable.h"
#include "util/privileges.h"

/* Of an id of 64 digits: as other tools show it. */
#define CONTAINER_SHOWN 12
#define PIDS_MAX 1024
/* Between two looks at a process whose debug information is being read. */
#define PAUSE_US 20000

struct list {
	bool json;
	pid_t pids[PIDS_MAX]; /* only these, if any */
	unsigned pid_cnt;

	struct elf_cache *cache;
	struct json writer;
	bool header; /* printed */
	unsigned shown, unreadable, refused;
};

static const char *const how_names[] = {
	[PY_SOURCE_NONE] = "no",
	[PY_SOURCE_PUBLISHED] = "published offsets",
	[PY_SOURCE_TABLE] = "table",
	[PY_SOURCE_DWARF] = "DWARF",
};

static const struct argp_option option_table[] = {
	{ "json", 'j', NULL, 0, "one JSON array instead of a table", 0 }, { 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct list *l = state->input;
	char *end;
	long pid;

	switch (key) {
	case 'j':
		l->json = true;
		return 0;
	case ARGP_KEY_ARG:
		errno = 0;
		pid = strtol(arg, &end, 10);
		if (errno || *end || end == arg || pid <= 0 || pid > 0x7fffffff)
			argp_error(state, "PID is the number of a process, not \"%s\"", arg);
		if (l->pid_cnt == PIDS_MAX)
			argp_error(state, "more than %d PIDs", PIDS_MAX);
		l->pids[l->pid_cnt++] = (pid_t)pid;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[PID...]",
	.doc = "List Python processes and how krait would profile them.\v"
	       "Columns: PID here, NSPID in the process's own namespace, USER, VERSION of\n"
	       "CPython, BUILD (exe: the interpreter is in the executable; shared: in a\n"
	       "library; debug; free-threaded), HOW its layout is known, CONTAINER, COMMAND.\n\n"
	       "HOW is one of\n"
	       "  published offsets  the interpreter describes itself (3.13 and later)\n"
	       "  table              krait knows the version (3.8 to 3.12); it is verified in\n"
	       "                     the process\n"
	       "  DWARF              read from the build's debug information, and verified; a\n"
	       "                     debuginfod server is asked where DEBUGINFOD_URLS is set\n"
	       "  no                 it cannot be profiled; the line below says why\n\n"
	       "With PIDs the exit code is 3 if one of them cannot be profiled, 4 if that\n"
	       "takes more rights.\n\n"
	       "examples:\n"
	       "  sudo krait list\n"
	       "  krait list --json | jq '.[] | select(.how == null)'\n",
};

static const char *build_name(const struct py_process *p, char buf[static 40])
{
	snprintf(buf, 40, "%s%s%s", p->build == PY_BUILD_EXE ? "exe" : "shared",
		 p->debug ? ",debug" : "",
		 p->offsets.flags & PYOFF_FREE_THREADED ? ",free-threaded" : "");
	return buf;
}

static void version_name(const struct py_process *p, char buf[static 24])
{
	if (p->version)
		py_version_format(p->version, buf, 24);
	else
		strcpy(buf, "?");
}

static void print_row(struct list *l, const struct py_process *p, const struct process_info *i,
		      bool good)
{
	char build[40], version[24], command[600], why[600], user[64], container[64];

	if (!l->header)
		printf("%7s %7s %-10s %-9s %-12s %-17s %-12s %s\n", "PID", "NSPID", "USER",
		       "VERSION", "BUILD", "HOW", "CONTAINER", "COMMAND");
	l->header = true;
	version_name(p, version);
	printable_into(command, sizeof(command), i->command);
	printable_into(user, sizeof(user), *i->user ? i->user : "?");
	printable_into(container, sizeof(container), *i->container ? i->container : "-");
	printf("%7d %7d %-10s %-9s %-12s %-17s %-12.*s %s\n", (int)p->pid, (int)i->ns_pid, user,
	       version, *p->file ? build_name(p, build) : "-",
	       how_names[good ? p->source : PY_SOURCE_NONE], CONTAINER_SHOWN, container, command);
	if (good)
		return;
	printable_into(why, sizeof(why), p->why);
	printf("%7s %s\n", "", why);
}

static void put_json(struct list *l, const struct py_process *p, const struct process_info *i,
		     bool good)
{
	char version[24];
	struct json *j = &l->writer;

	json_open_object(j);
	json_put_number(j, "pid", p->pid);
	json_put_number(j, "ns_pid", i->ns_pid);
	if (i->has_uid)
		json_put_number(j, "uid", i->uid);
	json_put_string(j, "user", i->user);
	version_name(p, version);
	if (p->version)
		json_put_string(j, "version", version);
	else
		json_put_null(j, "version");
	if (*p->file) {
		json_put_string(j, "build", p->build == PY_BUILD_EXE ? "exe" : "shared");
		json_put_bool(j, "debug", p->debug);
		json_put_bool(j, "free_threaded", p->offsets.flags & PYOFF_FREE_THREADED);
		json_put_string(j, "file", p->file);
	}
	json_put_string(j, "command", i->command);
	if (*i->container)
		json_put_string(j, "container", i->container);
	else
		json_put_null(j, "container");
	if (good)
		json_put_string(j, "how", how_names[p->source]);
	else
		json_put_null(j, "how");
	if (!good)
		json_put_string(j, "why", p->why);
	json_close_object(j);
	json_newline(j);
}

static void show(struct list *l, const struct py_process *p, bool good)
{
	struct process_info info;

	if (process_info_read(p->pid, &info) && !l->pid_cnt)
		return; /* gone meanwhile */
	l->shown++;
	l->refused += !good;
	if (l->json)
		put_json(l, p, &info, good);
	else
		print_row(l, p, &info, good);
}

static int look_at(pid_t pid, void *ctx)
{
	struct list *l = ctx;
	struct py_process p;
	int r;

	if (pid == getpid())
		return 0;
	while ((r = py_process_identify(pid, l->cache, &p)) == -EINPROGRESS)
		usleep(PAUSE_US);
	l->unreadable += r == -EACCES;
	/* Whatever is asked for is shown; else what is Python, be it too young to tell more. */
	if (!r || l->pid_cnt || r == -ENOTSUP || r == -ENODATA || p.version)
		show(l, &p, !r);
	return 0;
}

static void finish(struct list *l)
{
	if (l->json) {
		json_close_array(&l->writer);
		putchar('\n');
	} else if (!l->shown) {
		puts("no Python process");
	}
	if (l->unreadable && !l->pid_cnt)
		log_warn("list", "%u process%s may not be read, Python or not: %s", l->unreadable,
			 l->unreadable == 1 ? "" : "es",
			 geteuid() ? "run as root" : "not even by root, here");
}

int cmd_list(int argc, char **argv)
{
	struct list l = { .writer = { .out = stdout } };

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (argp_parse(&parser, argc, argv, 0, NULL, &l))
		return EXIT_CODE_USAGE;
	l.cache = elf_cache__new();
	if (!l.cache) {
		log_error("list", "out of memory");
		return EXIT_CODE_OUTPUT;
	}
	elf_cache__prepare(l.cache);
	if (privileges_drop(&(const struct privileges_need){ 0 })) {
		log_error("list", "cannot give up the rights that krait does not need");
		return EXIT_CODE_KERNEL;
	}
	if (l.json)
		json_open_array(&l.writer);
	for (unsigned i = 0; i < l.pid_cnt; i++)
		look_at(l.pids[i], &l);
	if (!l.pid_cnt)
		process_each(look_at, &l);
	finish(&l);
	elf_cache__free(l.cache);
	if (fflush(stdout) || ferror(stdout) || l.writer.failed) {
		/* A reader such as head that has seen enough is no error. */
		if (errno == EPIPE)
			return EXIT_CODE_OK;
		log_error("list", "cannot write: %s", strerror(errno));
		return EXIT_CODE_OUTPUT;
	}
	if (!l.pid_cnt || !l.refused)
		return EXIT_CODE_OK;
	return l.unreadable ? EXIT_CODE_PERMISSION : EXIT_CODE_TARGET;
}
