/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc/context.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/proc/proc.h"
#include "base/data/cleanup.h"
#include "base/text/short_path.h"

/* Bytes of the command line to look at. */
#define ARGUMENTS_MAX 4096

/* Reads a string, empty if there is nothing to read. Returns its length. */
static size_t read_file(int dir, const char *name, char *buf, size_t size)
{
	ssize_t n = proc_read(dir, name, buf, size);

	return n > 0 ? (size_t)n : 0;
}

void context_parse_status(const char *text, struct context *ret)
{
	const char *uids = proc_line_of(text, "Uid:");
	pid_t pid = proc_ns_pid(text);
	char *end;

	if (uids) {
		strtoul(uids, &end, 10); /* real */
		ret->uid = (uid_t)strtoul(end, NULL, 10);
	}
	if (pid)
		ret->ns_pid = pid;
}

/* Options of the interpreter that take the next argument, unless more text follows in the same one. */
static bool takes_argument(const char *option)
{
	return !strcmp(option, "-W") || !strcmp(option, "-X") ||
	       !strcmp(option, "--check-hash-based-pycs");
}

/* The argument after that one; end if there is none, or if the last one was truncated. */
static const char *next_argument(const char *arg, const char *end)
{
	arg += strnlen(arg, (size_t)(end - arg));
	return arg < end ? arg + 1 : end;
}

/* Parses what follows the interpreter's own name. */
static void parse_python(const char *arg, const char *end, char *ret, size_t size)
{
	for (arg = next_argument(arg, end); arg < end; arg = next_argument(arg, end)) {
		bool module = !strcmp(arg, "-m");

		if (!strcmp(arg, "-"))
			return;
		if (!strcmp(arg, CONTEXT_COMMAND)) {
			snprintf(ret, size, "%s", arg);
			return;
		}
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

/* "python", "/usr/bin/python3.12", "python3.13-dbg", not "pythonista". */
static bool is_python(const char *path)
{
	const char *name = base_name(path);

	return !strncmp(name, "python", 6) && !isalpha((unsigned char)name[6]);
}

/* Programs that run another one within themselves, which their arguments name. */
static bool runs_another(const char *exe)
{
	static const char *const prefixes[] = { "ld-", "ld.so", "qemu-" };
	const char *name = base_name(exe);

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return strstr(exe, "/valgrind/");
}

/* A file of Python among them, also in "--wsgi-file=/srv/app.py". */
static void parse_files(const char *arg, const char *end, char *ret, size_t size)
{
	for (arg = next_argument(arg, end); arg < end; arg = next_argument(arg, end)) {
		const char *value = *arg == '-' ? strchr(arg, '=') : NULL;
		size_t len = strlen(arg);

		if (len <= 3 || strcmp(arg + len - 3, ".py"))
			continue;
		snprintf(ret, size, "%s", value ? value + 1 : arg);
		return;
	}
}

void context_parse_arguments(const char *args, size_t len, const char *exe, bool alone, char *ret,
			     size_t size)
{
	const char *end = args + len, *arg = args;

	*ret = '\0';
	if (runs_another(exe)) {
		while (arg < end && !is_python(arg))
			arg = next_argument(arg, end);
		parse_python(arg, end, ret, size);
	} else if (alone || is_python(exe)) {
		parse_python(args, end, ret, size);
	} else {
		parse_files(args, end, ret, size);
	}
}

void context_read_at(int dir, bool alone, struct context *ret, char cgroup_text[CGROUP_TEXT_MAX])
{
	char buf[ARGUMENTS_MAX], groups[CGROUP_TEXT_MAX], path[CGROUP_TEXT_MAX], exe[PATH_MAX];
	ssize_t exe_len = readlinkat(dir, "exe", exe, sizeof(exe) - 1);
	size_t len;

	*ret = (struct context){ .uid = (uid_t)-1, .container = { .runtime = "" } };
	if (!cgroup_text)
		cgroup_text = groups;
	ret->known = read_file(dir, "status", buf, sizeof(buf)) > 0;
	context_parse_status(buf, ret);
	len = read_file(dir, "cmdline", buf, sizeof(buf));
	exe[exe_len > 0 ? exe_len : 0] = '\0';
	context_parse_arguments(buf, len, exe, alone, ret->script, sizeof(ret->script));
	read_file(dir, "cgroup", cgroup_text, CGROUP_TEXT_MAX);
	cgroup_path(cgroup_text, ret->cgroup, sizeof(ret->cgroup));
	/* The id is at the end of names that may be longer than what is kept. */
	cgroup_path(cgroup_text, path, sizeof(path));
	container_of_cgroup(path, &ret->container);
}
