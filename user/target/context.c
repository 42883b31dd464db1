/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/context.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"

/* Bytes of the command line that are looked at. */
#define ARGUMENTS_MAX 4096

/* A string, empty where there is nothing to read. Its length. */
static size_t read_file(pid_t pid, const char *name, char *buf, size_t size)
{
	cleanup_close int fd = -1;
	char path[40];
	size_t len = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	return len;
}

/* The value of a line that begins with key, or NULL. */
static const char *status_value(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text && strncmp(text, key, len)) {
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return text ? text + len : NULL;
}

void context_parse_status(const char *text, struct context *ret)
{
	const char *uids = status_value(text, "Uid:"), *pids = status_value(text, "NSpid:");
	char *end;

	if (uids) {
		strtoul(uids, &end, 10); /* real */
		ret->uid = (uid_t)strtoul(end, NULL, 10);
	}
	/* From our namespace to its own: the last one. */
	while (pids && *pids && *pids != '\n') {
		long pid = strtol(pids, &end, 10);

		if (end == pids)
			break;
		ret->ns_pid = (pid_t)pid;
		pids = end + strspn(end, " \t");
	}
}

/* Options of the interpreter that take the next argument, too, when they end theirs. */
static bool takes_argument(const char *option)
{
	return !strcmp(option, "-W") || !strcmp(option, "-X") ||
	       !strcmp(option, "--check-hash-based-pycs");
}

/* The argument behind that one; end where there is none, also where the last one was cut. */
static const char *next_argument(const char *arg, const char *end)
{
	arg += strnlen(arg, (size_t)(end - arg));
	return arg < end ? arg + 1 : end;
}

void context_parse_arguments(const char *args, size_t len, char *ret, size_t size)
{
	const char *end = args + len, *arg;

	*ret = '\0';
	for (arg = next_argument(args, end); arg < end; arg = next_argument(arg, end)) {
		bool module = !strcmp(arg, "-m");

		if (!strcmp(arg, "-c") || !strcmp(arg, "-"))
			return;
		if (*arg != '-') {
			snprintf(ret, size, "%s", arg);
			return;
		}
		if (module || takes_argument(arg))
			arg = next_argument(arg, end);
		if (module && arg < end) {
			snprintf(ret, size, "%s", arg);
			return;
		}
	}
}

void context_read(pid_t pid, struct context *ret, char cgroup_text[CGROUP_TEXT_MAX])
{
	char buf[ARGUMENTS_MAX], groups[CGROUP_TEXT_MAX];
	size_t len;

	*ret = (struct context){ .uid = (uid_t)-1, .container = { .runtime = "" } };
	if (!cgroup_text)
		cgroup_text = groups;
	ret->known = read_file(pid, "status", buf, sizeof(buf)) > 0;
	context_parse_status(buf, ret);
	len = read_file(pid, "cmdline", buf, sizeof(buf));
	context_parse_arguments(buf, len, ret->script, sizeof(ret->script));
	read_file(pid, "cgroup", cgroup_text, CGROUP_TEXT_MAX);
	cgroup_path(cgroup_text, ret->cgroup, sizeof(ret->cgroup));
	container_of_cgroup(ret->cgroup, &ret->container);
}
