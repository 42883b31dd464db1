/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.c - "krait list": shows every Python process, and how krait would profile it or why it
 * cannot.
 *
 * Needs no BPF. Without root it sees what this user may read, and mentions the rest.
 */
#include "cmd/common/commands.h"
#include "cmd/list/list_print.h"

#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/broker/client.h"
#include "cmd/common/arguments.h"
#include "cmd/common/printed.h"
#include "process/proc/proc.h"
#include "process/probe/probed.h"
#include "process/probe/prober.h"
#include "process/probe/unread.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/worker/own.h"
#include "base/text/log.h"
#include "base/system/privileges.h"
#include "base/text/stream.h"
#include "base/data/vec.h"

#define PIDS_MAX 1024
/* Pause between two looks at a process whose debug information is being read. */
#define PAUSE_NS 50000000ULL

struct list {
	bool json, verbose;
	pid_t pids[PIDS_MAX]; /* only these, if any are given */
	unsigned pid_cnt;

	struct prober *prober;
	struct row *rows; /* in the order of pids or of the arguments */
	size_t row_cnt, row_cap, printed;
	struct list_print print;
	unsigned shown, refused, left_alone;
	unsigned unreadable; /* of the PIDs given */
	struct unread unread;
};

/* A process under inspection. */
struct row {
	pid_t pid;
	bool done;
	int result;
	__u64 again_ns; /* when to ask again; 0: being asked */
	struct py_process process;
	struct process_info info;
	bool has_info;
};

static const struct argp_option option_table[] = {
	{ "json", 'j', NULL, 0, "one JSON array instead of a table", 0 },
	{ "verbose", 'v', NULL, 0, "also how krait reads each process, and where it runs", 0 },
	/* Who is used to other commands may say it so. */
	{ "pid", 'p', "PID", OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct list *l = state->input;

	switch (key) {
	case 'j':
		l->json = true;
		return 0;
	case 'v':
		l->verbose = true;
		return 0;
	case 'p':
	case ARGP_KEY_ARG:
		if (l->pid_cnt == PIDS_MAX)
			arguments_refuse(state, "too many PIDs: at most %d", PIDS_MAX);
		l->pids[l->pid_cnt++] = arguments_id(arg, "PID", state);
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
	       "Columns: PID, USER, PYTHON (its version; t: free-threaded, d: a debug build), CPU% "
	       "since it began, AGE, COMMAND. With -v: PID here, NSPID in the process's own "
	       "namespace, USER, VERSION, BUILD (exe: the interpreter is in the executable; shared: "
	       "in a library), HOW its layout is known, CONTAINER, COMMAND; also a row for each "
	       "process that may be Python but could not be inspected.\n\n"
	       "HOW is one of\n"
	       "  published offsets  the interpreter describes itself (3.13 and later)\n"
	       "  table              krait knows the version (3.8 to 3.12); it is verified in\n"
	       "                     the process\n"
	       "  DWARF              read from the build's debug information, and verified; a\n"
	       "                     debuginfod server is asked where DEBUGINFOD_URLS is set\n"
	       "  no                 krait cannot profile it; the line below says why\n\n"
	       "With PIDs the exit code is 3 if krait cannot profile one of "
	       "them, 4 if that takes more rights.\n\n"
	       "Examples:\n"
	       "  sudo krait list\n"
	       "  krait list --json | jq '.[] | select(.how == null)'\n",
};

static void show(struct list *l, struct row *row)
{
	bool good = !row->result;

	if (!row->has_info && process_info_glance(row->pid, &row->info)) {
		if (l->pid_cnt) {
			log_error("list", "no process %d", row->pid);
			l->refused++;
		}
		return; /* ended meanwhile */
	}
	process_info_name_user(&row->info);
	l->shown++;
	l->refused += !good;
	if (l->json)
		list_put_json(&l->print, &row->process, &row->info, good);
	else
		list_print_row(&l->print, &row->process, &row->info, good);
}

/* Rows also for those that may be Python. */
static bool shows_unread(const struct list *l)
{
	return l->verbose && !l->json;
}

/*
 * Shows every requested process; otherwise those that run Python, even if they are too young to say
 * more or hang.
 */
static void print_done(struct list *l, struct row *row)
{
	int r = row->result;

	if (r == -EACCES && l->pid_cnt)
		l->unreadable++;
	else if (r == -EACCES)
		unread_note(&l->unread, row->pid, row->process.comm, row->process.why);
	l->left_alone += r == -EUSERS;
	if (!r || l->pid_cnt || r == -ENOTSUP || r == -ENODATA || r == -ETIMEDOUT ||
	    row->process.version || (r == -EACCES && shows_unread(l) && !proc_is_init(row->pid)))
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

	if (pid == getpid() || prober__is_ours(l->prober, pid) ||
	    (!l->pid_cnt && own_is_foreign(proc_owner(pid))))
		return 0;
	if (vec_reserve(l->rows, l->row_cap, l->row_cnt + 1))
		return -ENOMEM;
	l->rows[l->row_cnt++] = (struct row){ .pid = pid, .process = { .pid = pid } };
	return 0;
}

/*
 * Asks again about a process whose debug information is being read; about one at a time: where others wait for a slow
 * look, its prober is dismissed after it, and with that what it has read so far.
 */
static void ask_again(struct list *l)
{
	__u64 now_ns = clock_monotonic_ns();

	for (size_t i = l->printed; i < l->row_cnt && !prober__pending(l->prober); i++)
		if (l->rows[i].again_ns && l->rows[i].again_ns <= now_ns)
			ask(l, &l->rows[i]);
}

/* Inspects all at the same time and prints them in order. */
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
	char unread[768];

	if (l->json) {
		json_close_array(&l->print.writer);
		putchar('\n');
	} else if (!l->shown && !l->pid_cnt) {
		puts("no Python process");
	}
	unread_say(&l->unread, unread, sizeof(unread));
	if (*unread && !shows_unread(l))
		log_warn("list", "%s", unread);
	if (l->left_alone && !l->pid_cnt)
		log_warn("list",
			 "%u process%s left alone, Python or not: reading others of the "
			 "same owners hangs",
			 l->left_alone, l->left_alone == 1 ? " was" : "es were");
}

int cmd_list(int argc, char **argv)
{
	struct list l = { .print = { .writer = { .out = stdout } } };
	int err = 0;

	if (arguments_parse(&parser, argc, argv, 0, &l))
		return EXIT_CODE_USAGE;
	/* Else it sees by itself what the service could show. */
	if (privileges_scope() > 0 && client_is_possible())
		return client_run(BROKER_LIST);
	list_print_begin(&l.print, l.verbose);
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
		json_open_array(&l.print.writer);
	look_at_all(&l);
	finish(&l);
	prober__free(l.prober);
	free(l.rows);
	err = stream_finish(stdout);
	if (!err && l.print.writer.failed)
		err = -ENOMEM;
	if (err)
		return printed("list", err);
	if (!l.pid_cnt || !l.refused)
		return EXIT_CODE_OK;
	if (!l.unreadable)
		return EXIT_CODE_TARGET;
	log_error("list", "krait needs more rights%s%s", error_sudo(),
		  error_doctor(EXIT_CODE_PERMISSION));
	return EXIT_CODE_PERMISSION;
}
