/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/broker/client.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "cmd/broker/dial.h"
#include "cmd/broker/served.h"
#include "cmd/common/arguments.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/worker/channel.h"
#include "base/worker/own.h"
#include "base/worker/rights.h"

#define MESSAGES_MAX 65536

/* ---- is there one? ---------------------------------------------------------------------------- */

static bool lacks_rights(void)
{
	__u64 sampling = RIGHTS_BIT(CAP_BPF) | RIGHTS_BIT(CAP_PERFMON);
	__u64 has = rights_effective();

	return geteuid() && (has & sampling) != sampling && !(has & RIGHTS_BIT(CAP_SYS_ADMIN));
}

bool client_is_possible(void)
{
	return !own_is() && lacks_rights() && dial_is_possible();
}

bool client_would_help(void)
{
	return !own_is() && lacks_rights() && !dial_is_possible();
}

/* ---- the request ------------------------------------------------------------------------------ */

struct making {
	struct broker_request *request;
	struct error *err;
	int result;
};

int client_add(struct broker_request *r, const char *option, const char *arg, struct error *err)
{
	const char *why = served_add(r, option, arg);

	return why ? error_set(err, EPERM, EXIT_CODE_PERMISSION, "krait's service %s%s", why,
			       error_sudo()) :
		     0;
}

static void on_said(const struct argp_option *option, const char *arg, void *ctx)
{
	struct making *m = ctx;

	/* As perf's letter for what krait does anyway. */
	if (m->result || (option && !option->name))
		return;
	m->result = client_add(m->request, option ? option->name : "pid", arg, m->err);
}

int client_request(struct broker_request *ret, enum broker_command command, struct error *err)
{
	struct making m = { ret, err, 0 };

	*ret = (struct broker_request){ .version = BROKER_VERSION, .command = command };
	arguments_repeat(on_said, &m);
	return m.result;
}

int client_ask(struct broker_request *r, struct error *err)
{
	struct broker_answer hello;
	cleanup_close int fd = dial(&hello, err);
	int result;

	if (fd < 0)
		return -1;
	r->nonce = hello.nonce;
	result = channel_send(fd, r, sizeof(*r), NULL, 0);
	return result ? error_set(err, -result, EXIT_CODE_KERNEL, "krait's service: %s",
				  strerror(-result)) :
			take_fd(&fd);
}

void client_say(int folder)
{
	cleanup_close int fd = openat(folder, BROKER_MESSAGES, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_free char *text = calloc(1, MESSAGES_MAX);
	char *line, *rest = text;

	if (fd < 0 || !text || read(fd, text, MESSAGES_MAX - 1) <= 0)
		return;
	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, "krait: ", strlen("krait: ")))
			continue;
		line += strlen("krait: ");
		if (!strncmp(line, "warning: ", strlen("warning: ")))
			log_warn(NULL, "%s", line + strlen("warning: "));
		else
			log_error(NULL, "%s", line);
	}
}

void client_say_cut(const char *why)
{
	if (*why)
		log_warn(NULL, "krait's service: %s", why);
}

/* ---- a command that prints -------------------------------------------------------------------- */

struct look {
	int fd, folder, stream, signals; /* -1: none (yet, or any more) */
	bool keys; /* the terminal's keys go to the command */
	bool done, silent; /* nobody reads what it prints */
	int code; /* valid if done */
	char why[sizeof(
		((struct broker_answer *)0)->text)]; /* likewise: it was ended; "": by itself */
	bool taken; /* the terminal */
	struct termios before; /* if it is */
};

static void fit_window(const struct look *l)
{
	struct winsize size;

	if (l->stream >= 0 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		(void)ioctl(l->stream, TIOCSWINSZ, &size);
}

static void take_terminal(struct look *l)
{
	struct termios raw;

	l->taken = l->keys && !tcgetattr(STDIN_FILENO, &l->before);
	l->keys = l->taken;
	if (!l->taken)
		return;
	raw = l->before;
	cfmakeraw(&raw);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static int catch_signals(struct look *l)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGWINCH);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	l->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signals < 0 ? -errno : 0;
}

/* The broker sees it, and ends the command. */
static void end(const struct look *l)
{
	shutdown(l->fd, SHUT_WR);
}

static void on_signal(struct look *l)
{
	struct signalfd_siginfo info;

	if (read(l->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH)
		fit_window(l);
	else
		end(l);
}

static void on_keys(struct look *l)
{
	char keys[256];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	if (n > 0 && l->stream >= 0 && write(l->stream, keys, (size_t)n) == n)
		return;
	/* No more: what has ended is ready for ever. */
	l->keys = false;
	end(l);
}

static int write_all(const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, text, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static void on_stream(struct look *l)
{
	char text[16384];
	ssize_t n = read(l->stream, text, sizeof(text));

	/* A terminal whose other side is closed: EIO. */
	if (n <= 0) {
		close(l->stream);
		l->stream = -1;
		return;
	}
	if (l->silent || !write_all(text, (size_t)n))
		return;
	l->silent = true;
	end(l);
}

static int on_answer(struct look *l, struct error *err)
{
	cleanup_close int fd = -1;
	struct broker_answer a;
	int result = dial_take(l->fd, &a, &fd, -1, err);

	if (result)
		return result;
	if (a.kind == BROKER_FOLDER && l->folder < 0)
		l->folder = take_fd(&fd);
	if (a.kind == BROKER_STREAM && l->stream < 0) {
		l->stream = take_fd(&fd);
		fit_window(l);
		take_terminal(l);
	}
	if (a.kind == BROKER_DONE) {
		l->done = true;
		l->code = a.code;
		snprintf(l->why, sizeof(l->why), "%s", a.text);
	}
	return 0;
}

/* Until it has ended, and all that it has printed is read. */
static int follow(struct look *l, struct error *err)
{
	int result = 0;

	while (!result && (!l->done || l->stream >= 0)) {
		struct pollfd fds[] = {
			{ .fd = l->done ? -1 : l->fd, .events = POLLIN },
			{ .fd = l->stream, .events = POLLIN },
			{ .fd = l->signals, .events = POLLIN },
			{ .fd = l->keys && l->stream >= 0 ? STDIN_FILENO : -1, .events = POLLIN },
		};

		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0 && errno != EINTR)
			return error_set(err, errno, EXIT_CODE_KERNEL, "krait's service: %s",
					 strerror(errno));
		if (fds[0].revents)
			result = on_answer(l, err);
		if (fds[1].revents)
			on_stream(l);
		if (fds[2].revents)
			on_signal(l);
		if (fds[3].revents)
			on_keys(l);
	}
	return result;
}

int client_run(enum broker_command command)
{
	struct look l = { .fd = -1, .folder = -1, .stream = -1, .signals = -1 };
	struct error err = { .code = EXIT_CODE_KERNEL };
	bool keys = command == BROKER_TOP && isatty(STDIN_FILENO);
	struct broker_request request;
	int result = client_request(&request, command, &err);

	if (isatty(STDOUT_FILENO) && (keys || command != BROKER_TOP)) {
		request.flags |= BROKER_TERMINAL;
		l.keys = keys;
	}
	if (!result)
		result = l.fd = client_ask(&request, &err);
	/* Only now, since Ctrl-C shall end it while nobody answers. */
	if (result >= 0 && (result = catch_signals(&l)))
		error_set(&err, -result, EXIT_CODE_KERNEL, "signalfd: %s", strerror(-result));
	if (result >= 0)
		result = follow(&l, &err);
	if (l.taken)
		tcsetattr(STDIN_FILENO, TCSANOW, &l.before);
	if (l.folder >= 0)
		client_say(l.folder);
	client_say_cut(l.why);
	if (result < 0)
		log_error(NULL, "%s", err.text);
	else if (l.code > 128)
		log_error(NULL, "krait's service could not finish: signal %d ended it",
			  l.code - 128);
	cleanup_close_(&l.stream);
	cleanup_close_(&l.folder);
	cleanup_close_(&l.fd);
	cleanup_close_(&l.signals);
	return result < 0 ? (int)err.code : l.code;
}
