/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record/by_broker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/broker/client.h"
#include "cmd/broker/dial.h"
#include "cmd/common/commands.h"
#include "cmd/common/input.h"
#include "cmd/record/record_options.h"
#include "output/text/summary.h"
#include "record/run/child.h"
#include "record/run/signals.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/system/priority.h"
#include "base/text/log.h"
#include "base/text/stream.h"

/* A launched command gets this long to end, as without the broker (record/run/ending.c). */
#define GRACE_MS 2000
#define LINES_BESIDE 12

struct by_broker {
	const struct record_options *options;
	int fd; /* of the connection */
	int folder; /* -1: none yet */
	struct signals signals;
	struct child *child; /* NULL: no command */
	int signal; /* that ended the recording; 0: none */
	bool from_terminal, began, done;
	bool ended; /* the command did, by itself */
	int code; /* what record or the broker says; valid if done */
};

/* ---- the request ------------------------------------------------------------------------------ */

static int make_request(const struct by_broker *b, struct broker_request *ret, struct error *err)
{
	int result = client_request(ret, BROKER_RECORD, err);
	char pid[16];

	if (result || !b->child || b->options->all || b->options->pid_cnt)
		return result;
	snprintf(pid, sizeof(pid), "%d", child__pid(b->child));
	result = client_add(ret, "pid", pid, err);
	return result ? result : client_add(ret, "becoming", NULL, err);
}

/* ---- the connection --------------------------------------------------------------------------- */

/* Takes one answer. Returns 0, or a negative result with *err filled. */
static int take_answer(struct by_broker *b, struct broker_answer *ret, struct error *err)
{
	cleanup_close int fd = -1;
	int result = dial_take(b->fd, ret, &fd, -1, err);

	if (!result && ret->kind == BROKER_FOLDER && b->folder < 0)
		b->folder = take_fd(&fd);
	return result;
}

static int ask(struct by_broker *b, struct error *err)
{
	struct broker_request request;
	int result = make_request(b, &request, err);

	return result ? result : (b->fd = client_ask(&request, err));
}

/* ---- the recording ---------------------------------------------------------------------------- */

static int on_answer(struct by_broker *b, struct error *err)
{
	struct broker_answer a;
	int result = take_answer(b, &a, err);

	if (result)
		return result;
	if (a.kind == BROKER_DONE) {
		b->done = true;
		b->code = a.code;
		client_say_cut(a.text);
	}
	if (a.kind != BROKER_BEGAN || b->began)
		return 0;
	b->began = true;
	if (!b->options->quiet && !b->child && isatty(STDERR_FILENO))
		fputs("krait: recording; Ctrl-C ends it\n", stderr);
	return b->child ? child__go(b->child, err) : 0;
}

/* The broker sees it, and ends the recording. */
static void end(struct by_broker *b)
{
	shutdown(b->fd, SHUT_WR);
}

static int record(struct by_broker *b, struct error *err)
{
	int result = 0;

	while (!b->done && !result) {
		struct pollfd fds[] = {
			{ .fd = b->fd, .events = POLLIN },
			{ .fd = b->signal ? -1 : b->signals.fd, .events = POLLIN },
			{ .fd = b->child && !b->ended ? child__fd(b->child) : -1,
			  .events = POLLIN },
		};

		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0 && errno != EINTR)
			return error_set(err, errno, EXIT_CODE_KERNEL, "krait's service: %s",
					 strerror(errno));
		if (fds[1].revents) {
			b->signal = signals_take(&b->signals, &b->from_terminal);
			end(b);
		}
		if (fds[2].revents && child__ended(b->child, 0)) {
			b->ended = true;
			end(b);
		}
		if (fds[0].revents)
			result = on_answer(b, err);
	}
	return result;
}

/* As record does at its end. */
static void end_command(struct by_broker *b)
{
	if (!b->child || !b->began || b->ended)
		return;
	b->ended = child__ended(b->child, b->from_terminal ? GRACE_MS : 0);
	if (!b->ended && !child__stop(b->child, b->signal ? b->signal : SIGTERM, GRACE_MS))
		log_warn(NULL, "%s goes on as process %d", b->options->command[0],
			 child__pid(b->child));
}

/* ---- what came of it -------------------------------------------------------------------------- */

static int print_summary(const struct by_broker *b, const char *capture)
{
	const struct record_options *o = b->options;
	const struct input_options input = { .path = capture };
	bool on_stdout = !o->command;
	struct summary_options summary;
	struct input in;
	int code = input__load(&in, &input, NULL, NULL, NULL), err;
	FILE *out;

	for (size_t i = 0; i < o->output_cnt; i++)
		on_stdout = on_stdout && strcmp(o->outputs[i], "-") != 0;
	out = on_stdout ? stdout : stderr;
	if (code == EXIT_CODE_OK) {
		summary_options_init(&summary, out);
		summary_options_fit(&summary, out, 1, LINES_BESIDE);
		summary.lines = o->lines;
		err = summary_table(out, input__shown(&in), &summary);
		if (!err)
			err = stream_finish(out);
		if (err && err != -EPIPE && err != -EBADF)
			code = EXIT_CODE_OUTPUT;
	}
	input__free(&in);
	return code;
}

/* Record has written a capture if it took samples. */
static int write_outputs(const struct by_broker *b, const char *command_line)
{
	const struct record_options *o = b->options;
	char capture[64];
	struct convert_job job = {
		.capture = capture,
		.paths = o->outputs,
		.path_cnt = (unsigned)o->output_cnt,
		.format = o->format,
		.command_line = command_line,
		.editor = o->editor,
		.compression = o->compression,
		.lines = o->lines,
		.threads = o->threads,
		.wait_kernel = o->wait_kernel,
		.no_process = o->no_process,
		.no_source = o->no_source,
		.quiet = o->quiet,
		.open = o->open,
		.keep_old = o->default_output,
	};
	int code, printed;

	snprintf(capture, sizeof(capture), "/proc/self/fd/%d/" BROKER_CAPTURE, b->folder);
	if (b->folder < 0 || access(capture, R_OK))
		return EXIT_CODE_OK;
	printed = o->quiet ? EXIT_CODE_OK : print_summary(b, capture);
	code = convert_capture(&job);
	return code ? code : printed;
}

static int finish(struct by_broker *b, int result, const struct error *err,
		  const char *command_line)
{
	int written;

	if (b->folder >= 0)
		client_say(b->folder);
	/* Before it has a folder, a recorder cannot say anything. */
	if (!result && b->folder < 0) {
		log_error(
			NULL,
			"krait's service could not start a recording: is there room in /var/tmp?");
		return EXIT_CODE_KERNEL;
	}
	if (result)
		log_error(NULL, "%s", err->text);
	/* If the service ended, what it had saved is there. */
	written = result && !b->began ? EXIT_CODE_OK : write_outputs(b, command_line);
	if (result || written)
		return written ? written : (int)err->code;
	if (b->code > 128)
		log_error(NULL,
			  "krait's service could not finish the recording: signal %d ended it",
			  b->code - 128);
	/* As without the service: the command's code, unless the recording failed. */
	return b->ended && (b->code == EXIT_CODE_OK || b->code == EXIT_CODE_EMPTY ||
			    b->code == EXIT_CODE_LOSSY) ?
		       child__exit_code(b->child) :
		       b->code;
}

int by_broker_record(const struct record_options *o, const char *command_line)
{
	struct by_broker b = { .options = o, .fd = -1, .folder = -1 };
	struct error err = { .code = EXIT_CODE_KERNEL };
	const struct priority ordinary = { .raised = false };
	struct rlimit files;
	int result, code;

	getrlimit(RLIMIT_NOFILE, &files);
	result = signals_catch(&b.signals, false);
	if (result)
		error_set(&err, -result, EXIT_CODE_KERNEL, "signalfd: %s", strerror(-result));
	if (!result && o->command) {
		b.child = child__launch(o->command, &b.signals.old_mask, &files, &ordinary, &err);
		result = b.child ? 0 : -1;
	}
	if (!result)
		result = ask(&b, &err);
	if (result >= 0)
		result = record(&b, &err);
	end_command(&b);
	code = finish(&b, result, &err, command_line);
	child__free(b.child);
	signals_release(&b.signals);
	cleanup_close_(&b.folder);
	cleanup_close_(&b.fd);
	return code;
}
