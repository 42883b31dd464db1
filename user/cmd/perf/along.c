/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/perf/along.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/files/output_file.h"
#include "base/files/sudo_user.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "capture/dso/dso_clean.h"
#include "capture/import/capture_copy.h"
#include "capture/import/inject.h"
#include "capture/import/taken_stacks.h"
#include "capture/perfdata/format.h"
#include "cmd/common/input.h"
#include "cmd/common/outputs.h"
#include "cmd/record/live_options.h"
#include "kernel/sampler/ride.h"
#include "process/proc/open_file.h"
#include "profile/profile.h"
#include "record/run/session.h"

#define TURN_NS (NS_PER_SEC / 4)

struct along {
	struct along_config config;
	struct record_options defaults; /* what krait record takes */
	struct event_spec event;
	char folder[PATH_MAX]; /* of the temporary file; "": none */
	char stacks[PATH_MAX];
	bool kept;
	struct utsname host;
	struct emit_options emit;
	struct outputs *outputs;
	struct session_config session_config;
	struct session *session;
	struct dict_holder holder;
	__u64 cnt;
	int pidfd;
	pid_t writer; /* of perf's data; 0: none */
	int order; /* what it waits for */
};

/* ---- taking stacks ---------------------------------------------------------------------------- */

static void on_sample(void *ctx, const struct profile *profile, const struct profile_sample *sample)
{
	struct along *a = ctx;

	a->cnt++;
	if (!outputs__sample(a->outputs, profile, sample))
		session__end(a->session);
}

/* In memory there may be room for little, so where files may be large. */
static int make_folder(struct along *a)
{
	const char *base = secure_getenv("TMPDIR");
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	int err = sudo_user_enter(&scope);

	if (err)
		return err;
	if (snprintf(a->folder, sizeof(a->folder), "%s/krait-perf-XXXXXX",
		     base && *base == '/' ? base : "/var/tmp") >= (int)sizeof(a->folder) - 32) {
		*a->folder = '\0';
		return -ENAMETOOLONG;
	}
	if (!mkdtemp(a->folder)) {
		*a->folder = '\0';
		return -errno;
	}
	snprintf(a->stacks, sizeof(a->stacks), "%.*s/stacks.data", PATH_MAX - 32, a->folder);
	return 0;
}

static int open_stacks(struct along *a, struct error *err)
{
	int result = 0;

	if (a->config.stacks)
		snprintf(a->stacks, sizeof(a->stacks), "%s", a->config.stacks);
	else
		result = make_folder(a);
	if (result)
		return error_set(err, -result, EXIT_CODE_OUTPUT, "no temporary file: %s",
				 strerror(-result));
	uname(&a->host);
	a->emit = (struct emit_options){ .title = "krait",
					 .recording = { .host = a->host.nodename,
							.kernel = a->host.release,
							.events = &a->event,
							.event_cnt = 1 },
					 .compression = 1,
					 .unattended = true };
	a->outputs = outputs__new(true);
	if (!a->outputs)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	return outputs__add(a->outputs, a->stacks, "perf", false, &a->emit, err);
}

/* perf says what it measures; krait takes the same stacks as krait record does. */
static void configure(struct along *a)
{
	struct session_config *c = &a->session_config;

	*c = live_options_session(&a->defaults);
	snprintf(a->event.name, sizeof(a->event.name), "%s", TAKEN_EVENT);
	a->event.type = PERF_TYPE_SOFTWARE;
	a->event.config = PERF_COUNT_SW_DUMMY;
	a->event.period = 1;
	c->all = true;
	c->sampler.events = c->collector.events = &a->event;
	c->sampler.event_cnt = c->collector.event_cnt = 1;
	c->collector.on_sample = on_sample;
	c->collector.on_sample_ctx = a;
	c->collector.natives = (struct native_part_options){ .native = true,
							     .addresses = true,
							     .late_names = true };
	c->tables = true;
	c->on_signal = a->config.on_signal;
	c->on_signal_ctx = a->config.ctx;
}

/* ---- the process that writes perf's data ------------------------------------------------------ */

/*
 * Under sudo perf's file is root's; krait's files are the user's, and this one becomes krait's, in a folder of his. The
 * descriptor is perf's own file, whatever its name leads to by now.
 */
static void give_to_caller(const struct along_config *c)
{
	const uid_t uid = sudo_user_uid();
	char folder[PATH_MAX];
	struct stat st, parent;
	char *slash;

	if (!c->out || geteuid() || !uid || fstat(fileno(c->data), &st) || st.st_uid ||
	    st.st_nlink != 1)
		return;
	snprintf(folder, sizeof(folder), "%s", c->out);
	slash = strrchr(folder, '/');
	if (!slash)
		return;
	*slash = '\0';
	if (!lstat(folder, &parent) && S_ISDIR(parent.st_mode) && parent.st_uid == uid &&
	    fchown(fileno(c->data), uid, (gid_t)-1))
		log_debug("perf", "%s stays root's: %s", c->out, strerror(errno));
}

enum order { ORDER_COPY = 'c', ORDER_PUT = 'p' };

static _Noreturn void writer_main(const struct along *a, int orders)
{
	const struct along_config *c = &a->config;
	char level[16], *argv[10] = { (char *)"krait inject" };
	char order;
	int argc = 1;

	/* Ctrl-C ends perf. */
	signal(SIGINT, SIG_IGN);
	if (read(orders, &order, 1) != 1)
		_exit(EXIT_CODE_OK);
	give_to_caller(c);
	if (sudo_user_become() || lseek(fileno(c->data), 0, SEEK_SET) ||
	    dup2(fileno(c->data), STDIN_FILENO) < 0) {
		log_error(NULL, "cannot switch to the user behind sudo");
		_exit(EXIT_CODE_PERMISSION);
	}
	if (c->quiet)
		argv[argc++] = (char *)"-q";
	if (c->level) {
		snprintf(level, sizeof(level), "-z%d", c->level);
		argv[argc++] = level;
	}
	if (order == ORDER_PUT) {
		argv[argc++] = (char *)"--stacks";
		argv[argc++] = (char *)a->stacks;
	}
	argv[argc++] = (char *)"-o";
	argv[argc++] = (char *)(c->out ? c->out : "-");
	exit(c->inject(argc, argv));
}

static int start_writer(struct along *a, struct error *err)
{
	int ends[2];

	if (!a->config.data)
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return error_set(err, errno, EXIT_CODE_KERNEL, "cannot start a process: %s",
				 strerror(errno));
	a->order = ends[1];
	fflush(NULL);
	a->writer = fork();
	if (!a->writer) {
		close(ends[1]);
		writer_main(a, ends[0]);
	}
	close(ends[0]);
	if (a->writer > 0)
		return 0;
	a->writer = 0;
	return error_set(err, errno, EXIT_CODE_KERNEL, "cannot start a process: %s",
			 strerror(errno));
}

static int end_writer(struct along *a)
{
	int status = 0;

	close(a->order);
	while (waitpid(a->writer, &status, 0) < 0 && errno == EINTR)
		;
	a->writer = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_CODE_OUTPUT;
}

int along__put(struct along *a)
{
	const char order = a->cnt ? ORDER_PUT : ORDER_COPY;

	if (write(a->order, &order, 1) != 1)
		log_debug("perf", "no order: %s", strerror(errno));
	return end_writer(a);
}

/* ---- life ------------------------------------------------------------------------------------- */

static int start(struct along *a, struct error *err)
{
	int result;

	a->pidfd = (int)syscall(SYS_pidfd_open, a->config.perf, 0);
	if (a->pidfd < 0)
		return error_set(err, errno, EXIT_CODE_TARGET, "there is no process %d",
				 a->config.perf);
	result = ride_find(&a->session_config.sampler.ride, a->config.perf, err);
	if (!result)
		result = open_stacks(a, err);
	if (!result)
		result = start_writer(a, err);
	if (result)
		return result;
	a->session = session__new(&a->session_config, err);
	if (!a->session)
		return -1;
	dict__hold(session__profile(a->session)->dict, &a->holder);
	result = session__open(a->session, err);
	if (result)
		return result;
	session__watch(a->session, a->config.on_readable ? a->config.watched : a->pidfd);
	a->emit.recording.began_ns = session__began_ns(a->session);
	a->emit.recording.began_wall_ns =
		(__s64)a->emit.recording.began_ns + clock_wall_offset_ns();
	return 0;
}

struct along *along__open(const struct along_config *config, struct error *err)
{
	struct along *a = calloc(1, sizeof(*a));

	if (!a) {
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	a->config = *config;
	a->pidfd = -1;
	record_options_defaults(&a->defaults);
	configure(a);
	if (start(a, err)) {
		along__free(a);
		return NULL;
	}
	return a;
}

static bool has_ended(const struct along *a)
{
	struct pollfd fd = { .fd = a->pidfd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

bool along__run(struct along *a)
{
	while (!has_ended(a) && session__step(a->session, TURN_NS)) {
		outputs__tick(a->outputs, session__profile(a->session), clock_monotonic_ns());
		if (a->config.on_readable && !a->config.on_readable(a->config.ctx))
			return true;
	}
	return has_ended(a);
}

int along__close(struct along *a, struct error *err)
{
	struct session_stats stats;

	session__close(a->session);
	session__stats(a->session, &stats);
	a->emit.recording.seconds = stats.seconds;
	if (!a->cnt || !outputs__finish(a->outputs, session__profile(a->session), 0, true, err))
		return 0;
	a->cnt = 0; /* perf's data goes on as it is */
	return -1;
}

__u64 along__cnt(const struct along *a)
{
	return a->cnt;
}

const char *along__keep(struct along *a)
{
	a->kept = true;
	return a->stacks;
}

static void remove_folder(const struct along *a)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	struct dso_cleaned cleaned = { 0 };
	int err = sudo_user_enter(&scope);

	if (err)
		return;
	unlink(a->stacks);
	/* Without a sample there are no names. */
	err = dso_clean_capture(&cleaned, a->stacks);
	if ((err && err != -ENOENT) || rmdir(a->folder))
		log_debug("perf", "%s stays: %s", a->folder, strerror(errno));
}

void along__free(struct along *a)
{
	if (!a)
		return;
	if (a->session)
		dict__release(session__profile(a->session)->dict, &a->holder);
	session__free(a->session);
	outputs__free(a->outputs);
	if (a->pidfd >= 0)
		close(a->pidfd);
	if (a->writer)
		end_writer(a);
	if (*a->folder && !a->kept)
		remove_folder(a);
	free(a);
}

/* ---- putting them into perf's data ------------------------------------------------------------ */

/* "; 12 came before krait's first of their processes" */
static void put_rest(FILE *out, const struct inject_stats *s)
{
	const __u64 rest = s->samples - s->matched;

	if (s->before)
		fprintf(out, "; %llu came before krait's first of their processes", s->before);
	if (s->after)
		fprintf(out, "; %llu came after krait's last of their processes", s->after);
	if (s->unclear)
		fprintf(out, "; %llu have several stacks to choose from", s->unclear);
	if (rest > s->before + s->after + s->unclear)
		fprintf(out, "; of %llu krait has no stack",
			rest - s->before - s->after - s->unclear);
	if (s->too_large)
		fprintf(out, "; %llu are too deep for a record", s->too_large);
	if (s->samples > s->matched - s->too_large)
		fputs(" (these stay as they were)", out);
}

static void say(const struct inject_stats *s, const char *name)
{
	cleanup_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	fprintf(out, "%s: %llu of perf's %llu samples of Python processes have their Python frames",
		name, s->python, s->samples);
	if (s->matched > s->python + s->too_large + s->chainless)
		fprintf(out, ", %llu were not in Python",
			s->matched - s->python - s->too_large - s->chainless);
	put_rest(out, s);
	if (!fclose(out) && text)
		log_info(NULL, "%s", text);
	if (s->chainless)
		log_warn(
			NULL,
			"%llu samples have no call chain to put Python frames into: perf records chains with -g",
			s->chainless);
}

/*
 * Without the time of perf's samples, only one clock is common to both. What was compressed becomes so again, if
 * nobody has chosen a level.
 */
static int look_at(FILE *in, const char *name, const struct taken_stacks *stacks, int *level,
		   struct error *err)
{
	struct perf_reader *reader;
	unsigned cnt;
	bool monotonic;
	int result;

	if (fseeko(in, 0, SEEK_SET))
		return 0;
	result = perf_reader__open(&reader, in, name, err);
	if (result)
		return result;
	monotonic = perf_reader__events(reader, &cnt)->monotonic;
	if (!*level && perf_reader__facts(reader)->expands_to)
		*level = 1;
	perf_reader__free(reader);
	rewind(in);
	return monotonic || !stacks || !taken_stacks__are_near(stacks) ?
		       0 :
		       error_set(
			       err, EINVAL, EXIT_CODE_KERNEL,
			       "%s: this kernel does not say in time when perf's samples are, so krait finds them "
			       "only by the monotonic clock: perf record -k mono",
			       name);
}

static int read_stacks(struct taken_stacks **ret, const char *path, struct error *err)
{
	cleanup_fclose FILE *in = path ? input_open(path) : NULL;

	*ret = NULL;
	if (!path)
		return 0;
	if (!in)
		return error_set(err, errno, EXIT_CODE_OUTPUT, "cannot open %s: %s", path,
				 strerror(errno));
	return taken_stacks__read(ret, in, path, err);
}

int along_put(const char *path, FILE *in, const char *in_name, const char *out_name, int level,
	      struct error *err)
{
	const char *name = in_name ? in_name : "standard input";
	const char *shown = out_name ? out_name : "standard output";
	cleanup_output_file struct output_file *file = NULL;
	struct inject_stats injected = { 0 };
	struct capture_copied copied;
	struct taken_stacks *stacks;
	int result = read_stacks(&stacks, path, err);

	if (!result)
		result = look_at(in, name, stacks, &level, err);
	if (!result) {
		result = output_file__open(&file, out_name ? out_name : "-", OUTPUT_FILE_REPLACE);
		if (result)
			error_set(err, -result, EXIT_CODE_OUTPUT, "%s: %s", shown,
				  output_file_strerror(result));
	}
	if (!result)
		result = capture_copy(output_file__stream(file), output_file__name(file),
				      output_file__kept_name(file), in, in_name, level, stacks,
				      &injected, &copied, err);
	taken_stacks__free(stacks);
	if (result)
		return result;
	result = output_file__finish(file);
	if (result)
		return error_set(err, -result, EXIT_CODE_OUTPUT, "%s: %s", shown,
				 output_file_strerror(result));
	if (path)
		say(&injected, shown);
	return 0;
}

/* ---- perf's data ------------------------------------------------------------------------------ */

/* A capture in the layout of files, opened anew: the position of perf's own descriptor is perf's. */
static FILE *open_capture(const char *path)
{
	int fd = open_file_named(path);
	__u64 start[2];

	if (fd < 0)
		return NULL;
	if (pread(fd, start, sizeof(start), 0) == sizeof(start) && start[0] == PERF_MAGIC &&
	    start[1] != PERF_PIPE_HEADER_SIZE)
		return fdopen(fd, "r");
	close(fd);
	return NULL;
}

/* Is the file there under its name, and ours to replace? */
static int check_data(FILE *data, const char *name, struct error *err)
{
	struct stat st, named;

	if (fstat(fileno(data), &st) || stat(name, &named) || st.st_dev != named.st_dev ||
	    st.st_ino != named.st_ino)
		return error_set(
			err, ENOENT, EXIT_CODE_OUTPUT,
			"perf's file is not at %s for krait: keep the stacks with -o FILE, and use krait inject",
			name);
	if (st.st_uid != geteuid() && st.st_uid != sudo_user_uid())
		return error_set(
			err, EPERM, EXIT_CODE_PERMISSION,
			"%s belongs to another user: keep the stacks with -o FILE, and use krait inject",
			name);
	return 0;
}

FILE *along_data(pid_t perf, char **ret_name, struct error *err)
{
	char path[PATH_MAX], name[PATH_MAX];
	struct dirent *entry;
	FILE *data = NULL;
	ssize_t n = -1;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", perf);
	dir = opendir(path);
	while (dir && !data && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", perf, entry->d_name);
		n = readlink(path, name, sizeof(name) - 1);
		if (n > 0 && *name == '/')
			data = open_capture(path);
	}
	if (dir)
		closedir(dir);
	name[n > 0 ? n : 0] = '\0';
	if (!data) {
		error_set(
			err, ENOENT, EXIT_CODE_TARGET,
			"process %d writes no perf.data: it is not perf record, or writes into a pipe",
			perf);
		return NULL;
	}
	*ret_name = strdup(name);
	if (*ret_name && !check_data(data, name, err))
		return data;
	if (!*ret_name)
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	free(*ret_name);
	*ret_name = NULL;
	fclose(data);
	return NULL;
}
