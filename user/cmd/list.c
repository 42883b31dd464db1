/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.c - "krait list": every Python process, and how it would be profiled or why not.
 *
 * Needs no BPF. Without root it sees what this user may read, and says what it could not.
 */
#include "cmd/commands.h"
#include "cmd/input.h"

#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/probed.h"
#include "target/prober.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/json.h"
#include "util/log.h"
#include "util/printable.h"
#include "util/privileges.h"
#include "util/vec.h"

/* Of an id of 64 digits: as other tools show it. */
#define CONTAINER_SHOWN 12
#define PIDS_MAX 1024
/* Between two looks at a process whose debug information is being read. */
#define PAUSE_NS 50000000ULL

struct list {
	bool json;
	pid_t pids[PIDS_MAX]; /* only these, if any */
	unsigned pid_cnt;

	struct prober *prober;
	struct row *rows; /* in the order of pids, or of the arguments */
	size_t row_cnt, row_cap, printed;
	struct json writer;
	bool header; /* printed */
	unsigned shown, unreadable, refused, left_alone;
};

/* A process that is being looked at. */
struct row {
	pid_t pid;
	bool done;
	int result;
	__u64 again_ns; /* when to ask again; 0: it is asked */
	struct py_process process;
	struct process_info info;
	bool has_info;
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

	switch (key) {
	case 'j':
		l->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (l->pid_cnt == PIDS_MAX)
			argp_error(state, "more than %d PIDs", PIDS_MAX);
		l->pids[l->pid_cnt++] = input_parse_id(arg, "PID", state);
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

/* Why its stacks are walked to the end each time, where that need not be; "" else. */
static const char *walked_in_full(const struct py_process *p)
{
	if (p->offsets.thread.last_profiled_frame == PYOFF_ABSENT)
		return "";
	if (*p->anchors_why)
		return p->anchors_why;
	if (!p->dumpable)
		return "its rights do not let others write to it (not dumpable)";
	if (p->uid != p->euid || p->gid != p->egid)
		return "its real and effective user or group differ";
	return "";
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
	if (!good) {
		printable_into(why, sizeof(why), p->why);
		printf("%7s %s\n", "", why);
	} else if (*walked_in_full(p)) {
		printf("%7s walked in full: %s\n", "", walked_in_full(p));
	}
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
	else if (*walked_in_full(p))
		json_put_string(j, "walked_in_full", walked_in_full(p));
	json_close_object(j);
	json_newline(j);
}

static void show(struct list *l, struct row *row)
{
	bool good = !row->result;

	if (!row->has_info && process_info_glance(row->pid, &row->info) && !l->pid_cnt)
		return; /* gone meanwhile */
	process_info_name_user(&row->info);
	l->shown++;
	l->refused += !good;
	if (l->json)
		put_json(l, &row->process, &row->info, good);
	else
		print_row(l, &row->process, &row->info, good);
}

/* Whatever is asked for is shown; else what is Python, be it too young to tell more, or hangs. */
static void print_done(struct list *l, struct row *row)
{
	int r = row->result;

	l->unreadable += r == -EACCES;
	l->left_alone += r == -EUSERS;
	if (!r || l->pid_cnt || r == -ENOTSUP || r == -ENODATA || r == -ETIMEDOUT ||
	    row->process.version)
		show(l, row);
}

static void on_looked(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	const struct probe_found *found = data;
	struct row *row = ctx;

	row->again_ns = result == -EINPROGRESS ? clock_monotonic_ns() + PAUSE_NS : 0;
	row->done = result != -EINPROGRESS;
	row->result = result;
	if (data && len >= sizeof(found->process))
		row->process = found->process;
	else
		snprintf(row->process.why, sizeof(row->process.why), "%s",
			 result == -ETIMEDOUT ? PROBED_HUNG :
			 result == -EUSERS    ? PROBED_OWNER_REFUSED :
						strerror(-result));
	row->has_info = data && len > offsetof(struct probe_found, cgroups) && found->has_info;
	if (row->has_info)
		row->info = found->info;
}

static void ask(struct list *l, struct row *row)
{
	const struct probe_request r = { .op = PROBE_IDENTIFY, .pid = row->pid, .want_info = true };
	int none[PROBE_FDS_MAX] = { -1, -1, -1 };
	int err;

	row->again_ns = 0;
	err = prober__ask(l->prober, PROBER_LATER, &r, NULL, 0, on_looked, row);
	if (err)
		on_looked(row, err, NULL, 0, none);
}

static int add_row(pid_t pid, void *ctx)
{
	struct list *l = ctx;

	if (pid == getpid() || prober__is_ours(l->prober, pid))
		return 0;
	if (vec_reserve(l->rows, l->row_cap, l->row_cnt + 1))
		return -ENOMEM;
	l->rows[l->row_cnt++] = (struct row){ .pid = pid, .process = { .pid = pid } };
	return 0;
}

/* Those whose debug information is being read. */
static void ask_again(struct list *l)
{
	__u64 now_ns = clock_monotonic_ns();

	for (size_t i = l->printed; i < l->row_cnt; i++)
		if (l->rows[i].again_ns && l->rows[i].again_ns <= now_ns)
			ask(l, &l->rows[i]);
}

/* All are looked at at once, and printed in their order. */
static void look_at_all(struct list *l)
{
	for (size_t i = 0; i < l->row_cnt; i++)
		ask(l, &l->rows[i]);
	while (l->printed < l->row_cnt) {
		prober__wait(l->prober, PAUSE_NS / 1000000);
		while (l->printed < l->row_cnt && l->rows[l->printed].done)
			print_done(l, &l->rows[l->printed++]);
		ask_again(l);
		if (!prober__pending(l->prober) && l->printed < l->row_cnt)
			usleep(PAUSE_NS / 1000 / 2);
	}
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
	if (l->left_alone && !l->pid_cnt)
		log_warn(
			"list",
			"%u process%s left alone, Python or not: reading others of the same owners "
			"does not come back",
			l->left_alone, l->left_alone == 1 ? " was" : "es were");
}

int cmd_list(int argc, char **argv)
{
	struct list l = { .writer = { .out = stdout } };
	int err = 0;

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (argp_parse(&parser, argc, argv, 0, NULL, &l))
		return EXIT_CODE_USAGE;
	l.prober = prober__new(PROBERS_MAX);
	for (unsigned i = 0; l.prober && i < l.pid_cnt && !err; i++)
		err = add_row(l.pids[i], &l);
	if (l.prober && !l.pid_cnt)
		err = process_each(add_row, &l);
	if (!l.prober || err) {
		log_error("list", "%s", strerror(err ? -err : ENOMEM));
		prober__free(l.prober);
		free(l.rows);
		return EXIT_CODE_OUTPUT;
	}
	prober__prepare(l.prober, true);
	if (privileges_drop(&(const struct privileges_need){ 0 })) {
		log_error("list", "cannot give up the rights that krait does not need");
		return EXIT_CODE_KERNEL;
	}
	if (l.json)
		json_open_array(&l.writer);
	look_at_all(&l);
	finish(&l);
	prober__free(l.prober);
	free(l.rows);
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
