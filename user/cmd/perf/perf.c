/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf.c - "krait perf": starts an unmodified perf record and gives its samples their Python frames; "krait attach
 * --perf": the same for one that runs; "krait inject": for frames that were kept, and between two perfs in a pipe.
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/files/sudo_user.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "cmd/common/arguments.h"
#include "cmd/common/commands.h"
#include "cmd/common/input.h"
#include "cmd/common/keeper_serve.h"
#include "cmd/perf/along.h"
#include "cmd/perf/perf_child.h"
#include "cmd/perf/perf_line.h"
#include "kernel/sampler/ride.h"

static int inject_files(int argc, char **argv);

/* How much it says: options that all three have. */
struct loudness {
	bool quiet;
	int verbose;
};

#define LOUDNESS_OPTIONS                                                                           \
	{ "quiet", 'q', NULL, 0, "print only errors", 0 },                                         \
	{                                                                                          \
		"verbose", 'v', NULL, 0, "print more on stderr", 0                                 \
	}

static error_t set_loudness(struct loudness *l, int key)
{
	if (key == 'q')
		l->quiet = true;
	else if (key == 'v')
		l->verbose++;
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static void set_log(const struct loudness *l)
{
	log_set_level(l->quiet ? LOG_LEVEL_ERROR : l->verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
}

static int fail(const struct error *err)
{
	log_error(NULL, "%s%s", err->text, error_doctor(err->code));
	return err->code;
}

/* Puts the stacks where they belong; if that fails, keeps them. */
static int finish(struct along *a, const char *name)
{
	struct error err;
	int code;

	if (along__close(a, &err)) {
		code = fail(&err);
		/* Whoever reads the pipe gets what perf has written. */
		if (!name)
			along__put(a);
		return code;
	}
	if (!along__cnt(a) && name) {
		log_info(NULL, "%s is as perf wrote it: no sample hit a Python process", name);
		return EXIT_CODE_OK;
	}
	code = along__put(a);
	if (code && along__cnt(a) && name) {
		const char *kept = along__keep(a);

		log_info(
			NULL,
			"%s is as perf wrote it; once that is mended: krait inject -i %s --stacks %s -o FILE",
			name, name, kept);
	}
	return code;
}

/* ---- krait perf ------------------------------------------------------------------------------- */

struct perf_command {
	char **args; /* perf's */
	struct loudness loudness;
	char *help;
	struct perf_line line;
	struct perf_child child;
	FILE *spool; /* perf's output, if that is a pipe's */
	FILE *data; /* perf's file otherwise */
	char *name;
	struct along *along;
};

static const struct argp_option perf_options[] = {
	LOUDNESS_OPTIONS,
	{ 0 },
};

static error_t parse_perf(int key, char *arg, struct argp_state *state)
{
	struct perf_command *p = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		p->args = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (!p->args)
			arguments_refuse(state, "what shall perf do? krait perf -- record ...");
		if (strcmp(p->args[0], "record"))
			arguments_refuse(
				state,
				"krait rides along with perf record, not with perf %s (run that without krait)",
				p->args[0]);
		return 0;
	default:
		return set_loudness(&p->loudness, key);
	}
}

static const struct argp perf_argp = {
	.options = perf_options,
	.parser = parse_perf,
	.args_doc = "-- record [PERF'S OPTION...] [-- COMMAND...]",
	.doc = "Start the installed perf record as it is, and give its samples Python frames: names, files and lines, where "
	       "it sees the interpreter. perf counts, writes and ends as it would without krait; when it has ended, krait "
	       "puts the frames into its file, for perf report, perf script and everything else that reads it."
	       "\vkrait adds -g, unless you choose the call chains yourself (-g, --call-graph), and --clockid=monotonic, unless "
	       "you choose a clock. A sample whose stack krait does not know for certain stays as it is, and is counted. "
	       "The exit code is perf's.\n\n"
	       "Examples:\n"
	       "  sudo krait perf -- record -F 997 -p 1234 -- sleep 10\n"
	       "  sudo krait perf -- record --call-graph dwarf -e page-faults -- python3 app.py\n"
	       "  sudo krait perf -- record -a -o - -- sleep 10 | perf report -i -\n",
};

/* perf's standard output is its data. */
static bool writes_to_stdout(const struct perf_line *l)
{
	struct stat st;

	if (l->output)
		return !strcmp(l->output, "-");
	return !fstat(STDOUT_FILENO, &st) && S_ISFIFO(st.st_mode);
}

static bool on_signal_of_perf(void *ctx, int signal, bool from_terminal)
{
	struct perf_command *p = ctx;

	/* The terminal has sent it to perf, too. */
	if (!from_terminal)
		perf_child_stop(&p->child, signal);
	return true;
}

static int start_perf(struct perf_command *p, struct error *err)
{
	p->help = perf_child_help(err);
	if (!p->help)
		return -1;
	perf_line_parse(&p->line, p->args + 1, p->help);
	if (p->line.unfit)
		return error_set(
			err, EINVAL, EXIT_CODE_USAGE,
			"krait cannot put frames into the files of perf record --%s: leave it out",
			p->line.unfit);
	if (writes_to_stdout(&p->line)) {
		p->spool = tmpfile();
		if (!p->spool)
			return error_set(err, errno, EXIT_CODE_OUTPUT, "no temporary file: %s",
					 strerror(errno));
	}
	return perf_child_start(&p->child, &p->line, p->spool, err);
}

/* Returns 0; 1: perf has ended by itself; or a negative result with *err filled. */
static int ride(struct perf_command *p, struct error *err)
{
	struct along_config config = { .on_signal = on_signal_of_perf,
				       .ctx = p,
				       .perf = p->child.pid };

	if (!perf_child_await(&p->child))
		return 1;
	if (!p->spool && !(p->data = along_data(p->child.pid, &p->name, err)))
		return -1;
	config.data = p->spool ? p->spool : p->data;
	config.out = p->name;
	config.quiet = p->loudness.quiet;
	config.inject = inject_files;
	p->along = along__open(&config, err);
	if (!p->along)
		return -1;
	if (!perf_child_go(&p->child))
		log_warn(NULL, "perf does not answer: whether its events count is uncertain");
	along__run(p->along);
	return 0;
}

static int run_perf(struct perf_command *p)
{
	struct error err = { .code = EXIT_CODE_KERNEL };
	int result = start_perf(p, &err), code;

	if (result)
		return fail(&err);
	result = ride(p, &err);
	if (result < 0) {
		fail(&err);
		perf_child_stop(&p->child, SIGTERM);
		perf_child_close(&p->child);
		perf_child_wait(&p->child);
		return err.code;
	}
	/* If it is only late, it records without krait. */
	if (result)
		perf_child_go(&p->child);
	code = perf_child_wait(&p->child);
	if (!result) {
		result = finish(p->along, p->name);
		return code ? code : result;
	}
	return code;
}

int cmd_perf(int argc, char **argv)
{
	struct perf_command p = { .args = NULL };
	int code;

	if (arguments_parse(&perf_argp, argc, argv, ARGP_IN_ORDER, &p))
		return EXIT_CODE_USAGE;
	set_log(&p.loudness);
	code = run_perf(&p);
	along__free(p.along);
	perf_child_close(&p.child);
	if (p.data)
		fclose(p.data);
	if (p.spool)
		fclose(p.spool);
	free(p.name);
	free(p.help);
	return code;
}

/* ---- krait attach ----------------------------------------------------------------------------- */

struct attach_command {
	pid_t perf;
	const char *stacks;
	struct loudness loudness;
};

enum { KEY_PERF = 256, KEY_STACKS };

static const struct argp_option attach_options[] = {
	{ "perf", KEY_PERF, "PID", 0, "the perf record that runs", 0 },
	{ "output", 'o', "FILE", 0,
	  "leave perf's file alone and keep the stacks in FILE, for krait inject --stacks FILE",
	  0 },
	LOUDNESS_OPTIONS,
	{ 0 },
};

static error_t parse_attach(int key, char *arg, struct argp_state *state)
{
	struct attach_command *c = state->input;

	switch (key) {
	case KEY_PERF:
		c->perf = arguments_id(arg, "--perf", state);
		return 0;
	case 'o':
		c->stacks = arg;
		return 0;
	case ARGP_KEY_ARG:
	case ARGP_KEY_NO_ARGS:
		if (arg || !c->perf)
			arguments_refuse(
				state,
				"krait attach rides along with a perf that runs: krait attach --perf PID (a Python process is "
				"recorded with krait record -p PID)");
		return 0;
	default:
		return set_loudness(&c->loudness, key);
	}
}

static const struct argp attach_argp = {
	.options = attach_options,
	.parser = parse_attach,
	.doc = "Ride along with a perf record that runs: when it ends, its samples get Python frames, as with krait perf. "
	       "Those that came before stay as they are; krait says how many. So do those of threads that perf -p found "
	       "before and that have begun later without an event of their own."
	       "\vExamples:\n"
	       "  sudo krait attach --perf $(pgrep -x perf)\n"
	       "  sudo krait attach --perf 1234 -o stacks.data\n",
};

static int keep(struct along *a)
{
	struct error err;
	const char *kept;

	if (along__close(a, &err))
		return fail(&err);
	if (!along__cnt(a)) {
		log_info(NULL, "no sample hit a Python process");
		return EXIT_CODE_OK;
	}
	kept = along__keep(a);
	log_info(NULL, "wrote %s: krait inject -i perf.data --stacks %s -o FILE", kept, kept);
	return EXIT_CODE_OK;
}

static int attach(const struct attach_command *c)
{
	struct along_config config = { .perf = c->perf, .stacks = c->stacks };
	struct error err = { .code = EXIT_CODE_KERNEL };
	cleanup_free char *name = NULL;
	cleanup_fclose FILE *data = c->stacks ? NULL : along_data(c->perf, &name, &err);
	struct along *a;
	bool ended;
	int code;

	config.data = data;
	config.out = name;
	config.quiet = c->loudness.quiet;
	config.inject = inject_files;
	a = c->stacks || data ? along__open(&config, &err) : NULL;
	if (!a)
		return fail(&err);
	log_info(NULL, "riding along with perf %d%s", c->perf,
		 c->stacks ? "" : " until it ends; Ctrl-C lets go of it");
	ended = along__run(a);
	code = c->stacks || !ended ? keep(a) : finish(a, name);
	along__free(a);
	return code;
}

int cmd_attach(int argc, char **argv)
{
	struct attach_command c = { .perf = 0 };

	if (arguments_parse(&attach_argp, argc, argv, 0, &c))
		return EXIT_CODE_USAGE;
	set_log(&c.loudness);
	return attach(&c);
}

/* ---- krait inject ----------------------------------------------------------------------------- */

struct inject_command {
	const char *in, *out, *stacks; /* NULL: standard input, standard output, none */
	int level;
	struct loudness loudness;
	FILE *spool;
	int err; /* in writing that */
};

static const struct argp_option inject_options[] = {
	{ "input", 'i', "FILE", 0, "perf's data (default: the standard input)", 0 },
	{ "stacks", KEY_STACKS, "FILE", 0, "of krait attach --perf PID -o FILE", 0 },
	{ "output", 'o', "FILE", 0, "perf's data with Python frames (default: the standard output)",
	  0 },
	{ "compression-level", 'z', "LEVEL", OPTION_ARG_OPTIONAL,
	  "compress it, as perf record -z does", 0 },
	LOUDNESS_OPTIONS,
	{ 0 },
};

static error_t parse_inject(int key, char *arg, struct argp_state *state)
{
	struct inject_command *c = state->input;

	switch (key) {
	case 'i':
		c->in = strcmp(arg, "-") ? arg : NULL;
		return 0;
	case KEY_STACKS:
		c->stacks = arg;
		return 0;
	case 'o':
		c->out = strcmp(arg, "-") ? arg : NULL;
		keeper_names_output(arg);
		return 0;
	case 'z':
		c->level = arguments_level(arg, state);
		return 0;
	case ARGP_KEY_END:
		if (c->in && !c->stacks)
			arguments_refuse(
				state,
				"Python frames have to be taken while perf records: krait perf -- record ..., or krait attach "
				"--perf PID -o STACKS and then --stacks STACKS");
		return 0;
	default:
		return set_loudness(&c->loudness, key);
	}
}

static const struct argp inject_argp = {
	.options = inject_options,
	.parser = parse_inject,
	.doc = "Put Python frames into the samples of a perf.data, where perf has the interpreter's own functions. "
	       "Everything else is passed on byte for byte; what was compressed is not any more. Between perf record -o - and "
	       "perf report -i -, krait rides along with the perf that writes."
	       "\vExamples:\n"
	       "  krait inject -i perf.data --stacks stacks.data -o out.data\n"
	       "  perf record -g -o - -p 1234 | krait inject | perf report -i -\n",
};

static bool leads_to(int dir, const char *name, const char *what)
{
	char to[PATH_MAX];
	ssize_t n = readlinkat(dir, name, to, sizeof(to) - 1);

	to[n > 0 ? n : 0] = '\0';
	return n > 0 && !strcmp(to, what);
}

/* Of the process: does it have the pipe open for writing? Links are read, files are not touched. */
static bool writes_pipe(const char *pid, const char *pipe)
{
	char path[PATH_MAX], flags[512] = "", *line;
	cleanup_closedir DIR *dir = NULL;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		cleanup_close int fd = -1;

		if (!leads_to(dirfd(dir), entry->d_name, pipe))
			continue;
		snprintf(path, sizeof(path), "/proc/%.16s/fdinfo/%.16s", pid, entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, flags, sizeof(flags) - 1) <= 0)
			continue;
		line = strstr(flags, "flags:");
		if (line && (strtoul(line + 6, NULL, 8) & O_ACCMODE) != O_RDONLY)
			return true;
	}
	return false;
}

/* The perf that writes into our standard input; 0: there is none, or not yet. */
static pid_t find_writer(void)
{
	cleanup_closedir DIR *dir = opendir("/proc");
	struct dirent *entry;
	char pipe[PATH_MAX];
	struct stat st;
	ssize_t n = readlink("/proc/self/fd/0", pipe, sizeof(pipe) - 1);

	if (!dir || n <= 0 || fstat(STDIN_FILENO, &st) || !S_ISFIFO(st.st_mode))
		return 0;
	pipe[n] = '\0';
	while ((entry = readdir(dir))) {
		int pid = atoi(entry->d_name);

		if (pid > 0 && pid != getpid() && writes_pipe(entry->d_name, pipe) &&
		    ride_is_possible(pid))
			return pid;
	}
	return 0;
}

/* perf opens its events when it has written the first bytes; it may wait for a password before. */
#define WRITER_STEP_MS 10
#define WRITER_STEPS 500

static pid_t await_writer(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	pid_t pid = 0;

	for (int i = 0; i < WRITER_STEPS && !pid; i++) {
		/* When it has ended, data may still be there. */
		if (poll(&fd, 1, -1) <= 0 || fd.revents & POLLHUP || !(fd.revents & POLLIN))
			break;
		pid = find_writer();
		poll(NULL, 0, pid ? 0 : WRITER_STEP_MS);
	}
	return pid;
}

/* Takes what perf has written, so that it need not wait. False: that was all, or there is no room (err). */
static bool on_data(void *ctx)
{
	struct inject_command *c = ctx;
	char buf[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) > 0) {
		if (fwrite(buf, 1, (size_t)n, c->spool) == (size_t)n)
			continue;
		c->err = errno;
		return false;
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool outlive(void *ctx, int signal, bool from_terminal)
{
	/* What ends perf ends its data, and so us. */
	return from_terminal;
}

static int inject_stream(struct inject_command *c, int argc, char **argv)
{
	struct along_config config = { .out = c->out,
				       .level = c->level,
				       .quiet = c->loudness.quiet,
				       .inject = inject_files,
				       .watched = STDIN_FILENO,
				       .on_readable = on_data,
				       .on_signal = outlive,
				       .ctx = c };
	struct error err = { .code = EXIT_CODE_USAGE };
	struct along *a;
	int code;

	config.perf = await_writer();
	if (!config.perf && isatty(STDIN_FILENO)) {
		log_error(
			NULL,
			"the standard input is no pipe from a perf that records: name files with -i and --stacks");
		return EXIT_CODE_USAGE;
	}
	if (!config.perf) {
		log_warn(
			NULL,
			"no perf that records writes into the standard input: its data is passed on as it is");
		return inject_files(argc, argv);
	}
	config.data = c->spool = tmpfile();
	if (!c->spool) {
		error_set(&err, errno, EXIT_CODE_OUTPUT, "no temporary file: %s", strerror(errno));
		return fail(&err);
	}
	fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
	a = along__open(&config, &err);
	if (!a)
		return fail(&err);
	along__run(a);
	while (!c->err && on_data(c))
		poll(&(struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN }, 1, -1);
	if (fflush(c->spool) && !c->err)
		c->err = errno;
	code = finish(a, NULL);
	if (c->err) {
		log_error(
			NULL,
			"cannot keep what perf writes until it ends: %s (a temporary file; the rest is lost)",
			strerror(c->err));
		code = EXIT_CODE_OUTPUT;
	}
	along__free(a);
	fclose(c->spool);
	return code;
}

/* With files: parses what others have written. */
static int inject_files(int argc, char **argv)
{
	struct inject_command c = { .level = 0 };
	cleanup_fclose FILE *in = NULL;
	struct error err;

	if (arguments_parse(&inject_argp, argc, argv, 0, &c))
		return EXIT_CODE_USAGE;
	set_log(&c.loudness);
	keeper_split(argv);
	if (c.in && !(in = input_open(c.in))) {
		log_error(NULL, "cannot open %s: %s", c.in, strerror(errno));
		return EXIT_CODE_OUTPUT;
	}
	return along_put(c.stacks, in ? in : stdin, c.in, c.out, c.level, &err) ? fail(&err) :
										  EXIT_CODE_OK;
}

int cmd_inject(int argc, char **argv)
{
	struct inject_command c = { .level = 0 };

	if (arguments_parse(&inject_argp, argc, argv, 0, &c))
		return EXIT_CODE_USAGE;
	set_log(&c.loudness);
	if (!c.stacks)
		return inject_stream(&c, argc, argv);
	if (sudo_user_become()) {
		log_error(NULL, "cannot switch to the user behind sudo");
		return EXIT_CODE_PERMISSION;
	}
	return inject_files(argc, argv);
}
