/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/perf/perf_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/files/sudo_user.h"
#include "base/system/environment.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "kernel/sampler/ride.h"

/* For its answer to an order. It reads all of /proc before it takes the first one. */
#define READY_MS 60000
#define ANSWER_MS 10000
/* What krait adds, at most. */
#define ADDED_MAX 10

/* ---- help ------------------------------------------------------------------------------------- */

static _Noreturn void help_main(int out)
{
	static const char *const argv[] = { "perf", "record", "-h", NULL };

	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	setenv("PERF_PAGER", "cat", true);
	environment_restore();
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

char *perf_child_help(struct error *err)
{
	cleanup_free char *text = NULL;
	size_t size;
	cleanup_fclose FILE *to = open_memstream(&text, &size);
	int ends[2], status = 0;
	char buf[4096];
	ssize_t n;
	pid_t pid;

	if (!to || pipe2(ends, O_CLOEXEC)) {
		error_set(err, errno, EXIT_CODE_KERNEL, "cannot start perf: %s", strerror(errno));
		return NULL;
	}
	pid = fork();
	if (!pid)
		help_main(ends[1]);
	close(ends[1]);
	while ((n = read(ends[0], buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, to);
	close(ends[0]);
	waitpid(pid, &status, 0);
	fflush(to);
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) != 127 && strstr(text, "--event"))
		return strdup(text);
	error_set(err, ENOENT, EXIT_CODE_OUTPUT,
		  "there is no perf to start, or it does not work (apt install linux-perf, or "
		  "linux-tools-$(uname -r); perf record -h)");
	return NULL;
}

/* ---- starting it ------------------------------------------------------------------------------ */

/* perf's ends of the pipes, which it inherits. */
struct ends {
	int control, answers, gate;
};

/* The line that perf gets; texts are on the caller's stack. */
struct words {
	char **list;
	int cnt;
	char control[64], fds[64], krait[PATH_MAX];
};

static void put_word(struct words *w, const char *word)
{
	w->list[w->cnt++] = (char *)word;
}

static bool put_gate(struct words *w, const struct ends *ends)
{
	ssize_t n = readlink("/proc/self/exe", w->krait, sizeof(w->krait) - 1);

	if (n <= 0)
		return false;
	w->krait[n] = '\0';
	snprintf(w->fds, sizeof(w->fds), "%d,%d,%d", ends->gate, ends->control, ends->answers);
	put_word(w, w->krait);
	put_word(w, PERF_GATE);
	put_word(w, w->fds);
	return true;
}

static int make_words(struct words *w, const struct perf_line *l, const struct ends *ends,
		      bool to_stdout)
{
	w->list = calloc((size_t)l->cnt + ADDED_MAX + 4, sizeof(*w->list));
	if (!w->list)
		return -ENOMEM;
	put_word(w, "perf");
	put_word(w, "record");
	if (ends->control >= 0) {
		snprintf(w->control, sizeof(w->control), "--control=fd:%d,%d", ends->control,
			 ends->answers);
		put_word(w, w->control);
	}
	if (!l->has_clock)
		put_word(w, "--clockid=monotonic");
	if (!l->has_chains)
		put_word(w, "-g");
	if (to_stdout && !l->output) {
		put_word(w, "-o");
		put_word(w, "-");
	}
	for (int i = 0; i < l->cnt && i < l->command; i++)
		if (i != l->separator)
			put_word(w, l->args[i]);
	/* The last one counts. */
	if (ends->control >= 0)
		put_word(w, "--delay=-1");
	if (l->command < l->cnt) {
		put_word(w, "--");
		if (ends->gate >= 0 && !put_gate(w, ends))
			return -errno;
		for (int i = l->command; i < l->cnt; i++)
			put_word(w, l->args[i]);
	}
	return 0;
}

static _Noreturn void perf_main(const struct words *w, const struct ends *ends, FILE *data)
{
	const int kept[] = { ends->control, ends->answers, ends->gate };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (kept[i] >= 0)
			fcntl(kept[i], F_SETFD, 0);
	if (data)
		dup2(fileno(data), STDOUT_FILENO);
	environment_restore();
	if (sudo_user_restore_groups())
		_exit(126);
	execvp(w->list[0], w->list);
	_exit(127);
}

static int make_pipe(int *near, int *far, bool reads)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*near = ends[reads ? 0 : 1];
	*far = ends[reads ? 1 : 0];
	return 0;
}

int perf_child_start(struct perf_child *c, const struct perf_line *line, FILE *data,
		     struct error *err)
{
	struct ends ends = { -1, -1, -1 };
	struct words words = { 0 };
	char path[PATH_MAX];
	int result = 0;

	*c = (struct perf_child){ .pid = -1, .pidfd = -1, .control = -1, .answers = -1, .gate = -1 };
	c->delay_ms = line->delay_ms;
	if (!line->controlled) {
		result = make_pipe(&c->control, &ends.control, false);
		if (!result)
			result = make_pipe(&c->answers, &ends.answers, true);
	}
	/* If exec would not find it, perf itself shall say so. */
	if (!result && line->command < line->cnt &&
	    environment_find(path, line->args[line->command]))
		result = make_pipe(&c->gate, &ends.gate, false);
	if (!result)
		result = make_words(&words, line, &ends, data != NULL);
	if (!result) {
		fflush(NULL);
		c->pid = fork();
		if (!c->pid)
			perf_main(&words, &ends, data);
		result = c->pid < 0 ? -errno : 0;
	}
	if (!result) {
		c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
		result = c->pidfd < 0 ? -errno : 0;
	}
	free(words.list);
	cleanup_close_(&ends.control);
	cleanup_close_(&ends.answers);
	cleanup_close_(&ends.gate);
	return result ? error_set(err, -result, EXIT_CODE_KERNEL, "cannot start perf: %s",
				  strerror(-result)) :
			0;
}

/* ---- orders ----------------------------------------------------------------------------------- */

/* Sends an order and waits for "ack". */
static bool order(struct perf_child *c, const char *text, int timeout_ms)
{
	struct pollfd fds[] = { { .fd = c->answers, .events = POLLIN },
				{ .fd = c->pidfd, .events = POLLIN } };
	char answer[64];

	if (write(c->control, text, strlen(text)) != (ssize_t)strlen(text))
		return false;
	return poll(fds, 2, timeout_ms) > 0 && fds[0].revents & POLLIN &&
	       read(c->answers, answer, sizeof(answer)) > 0;
}

bool perf_child_await(struct perf_child *c)
{
	if (c->control >= 0)
		return order(c, "ping\n", READY_MS);
	/* The user's own: perf has its events when it has one. */
	for (int i = 0; i < READY_MS / 10; i++) {
		struct pollfd fd = { .fd = c->pidfd, .events = POLLIN };

		if (ride_is_possible(c->pid))
			return true;
		if (poll(&fd, 1, 10))
			return false;
	}
	return false;
}

static bool enable(struct perf_child *c)
{
	return order(c, "enable\n", ANSWER_MS);
}

static void *enable_later(void *ctx)
{
	struct perf_child *c = ctx;
	struct pollfd fd = { .fd = c->pidfd, .events = POLLIN };

	if (!poll(&fd, 1, c->delay_ms) && !enable(c))
		log_warn(NULL, "perf does not answer: whether its events count is uncertain");
	return NULL;
}

bool perf_child_go(struct perf_child *c)
{
	bool now = c->control >= 0 && !c->delay_ms, enabled;
	int err = 0;

	if (c->control >= 0 && c->delay_ms > 0) {
		err = pthread_create(&c->enabler, NULL, enable_later, c);
		c->enables = !err;
		now = err;
	}
	/* Too many samples are better than none. */
	if (err)
		log_warn(
			NULL,
			"perf's events count at once, not after --delay: no thread waits for that: %s",
			strerror(err));
	enabled = !now || enable(c);
	if (c->gate >= 0 && write(c->gate, "", 1) != 1)
		log_debug("perf", "the command has ended before it began");
	cleanup_close_(&c->gate);
	c->gate = -1;
	return enabled;
}

int perf_child_wait(struct perf_child *c)
{
	while (!c->ended) {
		if (waitpid(c->pid, &c->status, 0) == c->pid)
			c->ended = true;
		else if (errno != EINTR)
			return EXIT_CODE_KERNEL;
	}
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

void perf_child_stop(struct perf_child *c, int signal)
{
	if (!c->ended && c->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, c->pidfd, signal, NULL, 0);
}

void perf_child_close(struct perf_child *c)
{
	if (c->enables)
		pthread_join(c->enabler, NULL);
	c->enables = false;
	cleanup_close_(&c->control);
	cleanup_close_(&c->answers);
	cleanup_close_(&c->gate);
	cleanup_close_(&c->pidfd);
}

int perf_gate(char **argv)
{
	const char *fds = argv[0];
	const int gate = atoi(fds);
	char byte;

	while ((fds = strchr(fds, ',')))
		close(atoi(++fds));
	/* Until krait says so, or has ended. */
	while (read(gate, &byte, 1) < 0 && errno == EINTR)
		;
	close(gate);
	execvp(argv[1], argv + 1);
	log_error(NULL, "cannot run %s: %s", argv[1], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
