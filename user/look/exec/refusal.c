/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/exec/refusal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc/proc.h"
#include "base/data/cleanup.h"

/* Limit on arguments and environment; what follows is ignored. */
#define TEXT_MAX (256U << 10)
#define VARIABLE "PYTHON_DISABLE_REMOTE_DEBUG"
#define OPTION "disable-remote-debug"
#define OPTION_TOO "disable_remote_debug"

int refuse(struct refusal *r, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
	return -errnum;
}

/* Reads a list of NUL-terminated strings. Returns NULL if there is none. */
static char *read_strings(int dir, const char *name, size_t *ret_len)
{
	char *text = malloc(TEXT_MAX);
	ssize_t len = text ? proc_read(dir, name, text, TEXT_MAX) : -ENOMEM;

	*ret_len = len > 0 ? (size_t)len : 0;
	return text;
}

static bool has_variable(int dir)
{
	size_t len;
	cleanup_free char *text = read_strings(dir, "environ", &len);

	for (size_t at = 0; text && at < len; at += strnlen(text + at, len - at) + 1)
		/*
		 * An empty value counts as well (Python/initconfig.c, config_init_remote_debug():
		 * getenv()).
		 */
		if (!strncmp(text + at, VARIABLE "=", strlen(VARIABLE "=")))
			return true;
	return false;
}

static bool is_option(const char *text)
{
	return !strcmp(text, OPTION) || !strcmp(text, OPTION_TOO);
}

/* Python's own options end at a script, -c or -m; the rest belongs to the program. */
static bool has_option(int dir)
{
	size_t len;
	cleanup_free char *text = read_strings(dir, "cmdline", &len);
	bool is_x = false;

	for (size_t at = text ? strnlen(text, len) + 1 : len; at < len;
	     at += strnlen(text + at, len - at) + 1) {
		const char *arg = text + at;

		if (is_x ? is_option(arg) : !strncmp(arg, "-X", 2) && is_option(arg + 2))
			return true;
		if (!is_x && (*arg != '-' || !strncmp(arg, "-c", 2) || !strncmp(arg, "-m", 2)))
			return false;
		is_x = !is_x && !strcmp(arg, "-X");
	}
	return false;
}

int refuse_disabled(struct refusal *r, int dir)
{
	if (has_variable(dir))
		return refuse(r, ENOTSUP,
			      "it was started with " VARIABLE ", which turns remote debugging off");
	if (has_option(dir))
		return refuse(r, ENOTSUP,
			      "it was started with -X " OPTION
			      ", which turns remote debugging off");
	return refuse(r, ENOTSUP,
		      "remote debugging is off there: its Python was built --without-remote-debug, "
		      "or its program has turned it off");
}

int refuse_stop(struct refusal *r, int dir, int err)
{
	char status[4096], comm[16];
	const char *line = NULL;
	pid_t tracer;

	if (proc_read(dir, "status", status, sizeof(status)) > 0)
		line = proc_line_of(status, "TracerPid:");
	tracer = line ? (pid_t)strtol(line, NULL, 10) : 0;
	if (err == -EPERM && tracer > 0) {
		cleanup_close int other = proc_open(tracer);

		if (other < 0 || proc_comm_at(other, comm))
			snprintf(comm, sizeof(comm), "?");
		return refuse(r, EPERM,
			      "process %d (%s) traces it already, and only one can: krait must "
			      "stop its threads for a moment to write to it",
			      (int)tracer, comm);
	}
	if (err == -EPERM || err == -EACCES)
		return refuse(r, EPERM,
			      "krait cannot stop it (ptrace): run krait with sudo; "
			      "kernel.yama.ptrace_scope and seccomp can forbid it, too");
	if (err == -ESRCH)
		return refuse(r, ESRCH, "it has exited");
	return refuse(r, -err, "its threads could not all be stopped: %s", strerror(-err));
}
