/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exec.c - krait exec: makes a process run Python code (PEP 768) and reports the outcome.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/types.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "base/data/cleanup.h"
#include "base/files/sudo_user.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/system/privileges.h"
#include "base/text/log.h"
#include "base/text/printable.h"
#include "base/text/stream.h"
#include "base/worker/worker.h"
#include "cmd/common/arguments.h"
#include "cmd/common/commands.h"
#include "cmd/common/printed.h"
#include "look/exec/injector.h"
#include "look/exec/report.h"
#include "process/probe/identified.h"
#include "process/probe/prober.h"
#include "record/run/signals.h"

/* ---- exec print ------------------------------------------------------------------------------- */

/*
 * Prints what a script in another process writes, as it comes. The bytes are
 * untrusted and are made printable for a terminal.
 */

/* A line is buffered until it ends or reaches this length. */
#define EXEC_LINE_MAX 8192

struct exec_print {
	FILE *out;
	bool terminal;
	size_t len;
	char line[EXEC_LINE_MAX + 1];
};

static void exec_print_init(struct exec_print *p, FILE *out)
{
	p->out = out;
	p->terminal = isatty(fileno(out));
	p->len = 0;
}

/* Tabs stay: people print tables with them. */
static void put_line(struct exec_print *p)
{
	char *at = p->line, *end = p->line + p->len;

	*end = '\0';
	while (at <= end) {
		size_t len = strcspn(at, "\t");
		char *shown;

		at[len] = '\0';
		shown = printable(at);
		fputs(shown ? shown : "?", p->out);
		free(shown);
		at += len + 1;
		if (at <= end)
			fputc('\t', p->out);
	}
	p->len = 0;
}

static void exec_print_text(struct exec_print *p, const char *text, size_t len)
{
	if (!p->terminal) {
		fwrite(text, 1, len, p->out);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n' || p->len == EXEC_LINE_MAX) {
			put_line(p);
			fputc('\n', p->out);
		}
		if (text[i] != '\n')
			p->line[p->len++] = text[i] ? text[i] : '?';
	}
	fflush(p->out);
}

/* Prints an unfinished last line. */
static void exec_print_flush(struct exec_print *p)
{
	if (p->len)
		put_line(p);
}

/* ---- exec options ----------------------------------------------------------------------------- */

/* The command line of krait exec as a struct. */

struct exec_options {
	pid_t pid, tid; /* tid 0: the main thread */
	const char *script; /* file name; "-": standard input; NULL: code is given */
	const char *code;
	bool capture;
	__u64 timeout_ns;
};

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

/* Invalid options end krait with the usage message. *o must be all zero. */
static void exec_options_parse(struct exec_options *o, int argc, char **argv)
{
	o->timeout_ns = TIMEOUT_NS;
	if (arguments_parse(&parser, argc, argv, 0, o))
		exit(EXIT_CODE_USAGE);
}

/* ---- exec ------------------------------------------------------------------------------------- */

/* From the moment a request is taken to the first word of the script's wrapper. */
#define TAKEN_UP_NS NS_PER_SEC

struct exec {
	struct exec_options options;
	int script, report, pidfd;
	struct signals signals;
	struct prober *prober;
	struct probed *probed;
	struct worker *injector;
	struct identified found;
	struct inject_answer asked;
	struct report said;
	struct exec_print out, err;
	bool interrupted, gone;
};

/* ---- what is to be run ------------------------------------------------------------------------ */

static int copy_to_memory(int from, const char *text)
{
	cleanup_close int fd = memfd_create("krait-script", MFD_CLOEXEC);
	char buf[65536];
	size_t total = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (text)
		return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? take_fd(&fd) : -EIO;
	while ((n = read(from, buf, sizeof(buf))) > 0) {
		total += (size_t)n;
		if (total > INJECT_SCRIPT_MAX)
			return -EFBIG;
		if (write(fd, buf, (size_t)n) != n)
			return -EIO;
	}
	return n < 0 ? -errno : take_fd(&fd);
}

/* Opens with the caller's rights: krait may read files that he may not. */
static int open_script(const struct exec_options *o)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	cleanup_close int fd = -1;

	if (o->code)
		return copy_to_memory(-1, o->code);
	if (!strcmp(o->script, "-"))
		return copy_to_memory(STDIN_FILENO, NULL);
	if (sudo_user_enter(&scope))
		return -EPERM;
	fd = open(o->script, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : copy_to_memory(fd, NULL);
}

/* ---- its output -------------------------------------------------------------------------------- */

static void on_text(void *ctx, bool is_stderr, const char *text, size_t len)
{
	struct exec *e = ctx;

	exec_print_text(is_stderr ? &e->err : &e->out, text, len);
}

/* Waits until the script has ended or waiting is pointless. */
static void await_end(struct exec *e)
{
	const __u64 end_ns = clock_monotonic_ns() + e->options.timeout_ns;
	bool from_terminal;

	while (!e->said.over && !e->interrupted && !e->gone) {
		struct pollfd fds[] = { { .fd = e->report, .events = POLLIN },
					{ .fd = e->pidfd, .events = POLLIN },
					{ .fd = e->signals.fd, .events = POLLIN } };
		__u64 now_ns = clock_monotonic_ns();

		if (now_ns >= end_ns)
			break;
		if (poll(fds, 3, (int)((end_ns - now_ns) / 1000000 % 3600000) + 1) < 0 &&
		    errno != EINTR)
			break;
		if (fds[0].revents & POLLIN)
			report_read(&e->said, e->report);
		else if (fds[0].revents & POLLHUP)
			report_end(&e->said);
		e->gone = fds[1].revents;
		e->interrupted = signals_take(&e->signals, &from_terminal);
	}
	report_read(&e->said, e->report);
}

/* ---- what became of it -------------------------------------------------------------------------- */

static int say_raised(struct exec *e)
{
	exec_print_text(&e->err, e->said.error, e->said.error_len);
	exec_print_flush(&e->err);
	return EXIT_CODE_LOSSY;
}

static int judge(struct exec *e);

static int say_not_begun(struct exec *e)
{
	struct inject_answer a;
	int err = injector__withdraw(e->injector, &a);

	/* It may be about to open the script. */
	if (err == -EALREADY) {
		e->interrupted = false;
		e->options.timeout_ns = TAKEN_UP_NS;
		await_end(e);
		if (e->said.state != REPORT_NOTHING || e->gone)
			return judge(e);
	}
	if (err == -EALREADY)
		log_error(
			"exec",
			"thread %d has accepted the request but reports nothing: an audit hook may forbid "
			"the code, or it is about to begin; the standard error of the process may say more",
			(int)e->asked.tid);
	else if (err)
		log_error("exec", "krait could not withdraw the request, which still waits: %s",
			  a.why);
	else
		log_error(
			"exec",
			"thread %d of %d did not reach a point where it can run the code: the request is "
			"withdrawn (krait dump %d shows where it waits; --timeout waits longer, "
			"--thread chooses another)",
			(int)e->asked.tid, (int)e->options.pid, (int)e->options.pid);
	return EXIT_CODE_TIMEOUT;
}

static int judge(struct exec *e)
{
	switch (e->said.state) {
	case REPORT_DONE:
		return EXIT_CODE_OK;
	case REPORT_RAISED:
		return say_raised(e);
	case REPORT_BROKEN:
		if (e->gone)
			break;
		log_error("exec", "the process's report makes no sense, or ends too soon");
		return EXIT_CODE_TARGET;
	case REPORT_BEGUN:
		if (e->gone)
			break;
		log_error("exec", "the code has begun and goes on; krait no longer waits for it");
		return EXIT_CODE_TIMEOUT;
	default:
		if (!e->gone)
			return say_not_begun(e);
	}
	log_error("exec", "the process has ended meanwhile");
	return EXIT_CODE_TARGET;
}

/* ---- the request ---------------------------------------------------------------------------------- */

static int refused(pid_t pid, int err, const char *why)
{
	const int code = err == -EACCES || err == -EPERM ? EXIT_CODE_PERMISSION : EXIT_CODE_TARGET;

	/* Only its user can judge what a debugger that traces it costs. */
	log_error("exec", "cannot ask process %d to run code: %s%s", (int)pid,
		  *why ? why : strerror(-err), err == -EACCES ? error_doctor(code) : "");
	return code;
}

static int check(const struct exec *e, const char **ret_why)
{
	const struct py_process *p = &e->found.process;

	*ret_why = "";
	if (!p->of_file)
		*ret_why = "none of its files says how its interpreter is laid out, so krait "
			   "writes nothing there";
	else if (!p->initialised)
		*ret_why = "its interpreter has not begun to run";
	else if (p->offsets.version >> 16 < 0x030e)
		*ret_why = "it is older than CPython 3.14, the first version that takes "
			   "requests (PEP 768)";
	else if (probed__dir(e->probed) < 0 || probed__mem(e->probed) < 0 || !p->creds_digest)
		*ret_why = "krait cannot read its memory";
	return **ret_why ? -ENOTSUP : 0;
}

static int ask(struct exec *e)
{
	const struct py_process *p = &e->found.process;
	struct inject_request r = { .op = INJECT_ASK,
				    .pid = p->pid,
				    .start_ticks = p->start_ticks,
				    .creds_digest = p->creds_digest,
				    .runtime_addr = p->runtime_addr,
				    .offsets = p->offsets,
				    .tid = e->options.tid,
				    .capture = e->options.capture };

	strncpy(r.name, e->options.code ? "<krait exec>" : e->options.script, sizeof(r.name) - 1);
	return injector__ask(e->injector, &r, probed__dir(e->probed), probed__mem(e->probed),
			     e->script, &e->asked, &e->report);
}

static int run(struct exec *e)
{
	const char *why;
	int err = identified_wait(e->prober, &e->found, &e->probed);

	if (err)
		return refused(e->options.pid, err, e->found.process.why);
	err = check(e, &why);
	if (err)
		return refused(e->options.pid, err, why);
	e->pidfd = (int)syscall(SYS_pidfd_open, e->options.pid, 0);
	if (signals_catch(&e->signals, false)) {
		log_error("exec", "krait cannot catch signals");
		return EXIT_CODE_KERNEL;
	}
	err = ask(e);
	if (err)
		return refused(e->options.pid, err, e->asked.why);
	await_end(e);
	err = judge(e);
	injector__remove(e->injector);
	return err;
}

/* ---- the command ---------------------------------------------------------------------------------- */

/*
 * A caller may run code in another process only if he could do so without krait: rights that only
 * krait's file has do not count.
 */
static int start(struct exec *e)
{
	struct error err;

	if (getauxval(AT_SECURE) && sudo_user_become()) {
		log_error("exec", "cannot give up the rights that krait's file has");
		return EXIT_CODE_PERMISSION;
	}
	e->script = open_script(&e->options);
	if (e->script < 0) {
		log_error("exec", "%s: %s", e->options.code ? "-c" : e->options.script,
			  strerror(-e->script));
		return EXIT_CODE_OUTPUT;
	}
	e->injector = worker__start("injector", &err);
	if (!e->injector) {
		log_error("exec", "%s", err.text);
		return err.code;
	}
	e->prober = prober__new(PROBERS_MAX);
	if (!e->prober) {
		log_error("exec", "out of memory");
		return EXIT_CODE_KERNEL;
	}
	prober__prepare(e->prober, true);
	if (privileges_drop(&(const struct privileges_need){ 0 })) {
		log_error("exec", "cannot give up the rights that krait does not need");
		return EXIT_CODE_KERNEL;
	}
	return EXIT_CODE_OK;
}

static void end(struct exec *e)
{
	cleanup_close_(&e->script);
	cleanup_close_(&e->report);
	cleanup_close_(&e->pidfd);
	signals_release(&e->signals);
	probed__free(e->probed);
	prober__free(e->prober);
	worker__abandon(e->injector);
	free(e);
}

int cmd_exec(int argc, char **argv)
{
	struct exec *e = calloc(1, sizeof(*e));
	int code;

	if (!e)
		return EXIT_CODE_KERNEL;
	e->script = e->report = e->pidfd = e->signals.fd = -1;
	exec_print_init(&e->out, stdout);
	exec_print_init(&e->err, stderr);
	exec_options_parse(&e->options, argc, argv);
	e->said.text = e->options.capture ? on_text : NULL;
	e->said.ctx = e;
	e->found.process.pid = e->options.pid;
	code = start(e);
	if (!code)
		code = run(e);
	exec_print_flush(&e->err);
	exec_print_flush(&e->out);
	if (code == EXIT_CODE_OK)
		code = printed("exec", stream_finish(stdout));
	end(e);
	return code;
}
