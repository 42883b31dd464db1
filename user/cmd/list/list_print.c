/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/list/list_print.h"
#include "cmd/common/printed.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "output/escape.h"
#include "process/proc/proc.h"
#include "base/text/charset.h"
#include "base/text/printable.h"

/* Digits shown of a 64-digit id, as in other tools. */
#define CONTAINER_SHOWN 12
/* "    PID USER       PYTHON    CPU%   AGE " */
#define NUMBERS_WIDTH 41

static const char *const how_names[] = {
	[PY_SOURCE_NONE] = "no",
	[PY_SOURCE_PUBLISHED] = "published offsets",
	[PY_SOURCE_TABLE] = "table",
	[PY_SOURCE_DWARF] = "DWARF",
};

static const char *build_name(const struct py_process *p, char buf[static 40])
{
	snprintf(buf, 40, "%s%s%s", p->build == PY_BUILD_EXE ? "exe" : "shared",
		 p->debug ? ",debug" : "",
		 p->offsets.flags & PYOFF_FREE_THREADED ? ",free-threaded" : "");
	return buf;
}

static void version_name(const struct py_process *p, char buf[static 24])
{
	if (p->version)
		py_version_format(p->version, buf, 24);
	else
		strcpy(buf, "?");
}

/* Returns why stacks are walked to the end each time although krait could avoid that; "" otherwise. */
static const char *walked_in_full(const struct py_process *p)
{
	if (p->offsets.thread.last_profiled_frame == PYOFF_ABSENT)
		return "";
	if (*p->anchors_why)
		return p->anchors_why;
	if (!p->dumpable)
		return "its rights do not let others write to it (not dumpable)";
	if (p->uid != p->euid || p->gid != p->egid)
		return "its real and effective user or group differ";
	return "";
}

static void print_all(struct list_print *l, const struct py_process *p,
		      const struct process_info *i, bool good)
{
	char build[40], version[24], command[600], why[600], user[64], container[64];

	if (!l->header)
		printf("%7s %7s %-10s %-9s %-12s %-17s %-12s %s\n", "PID", "NSPID", "USER",
		       "VERSION", "BUILD", "HOW", "CONTAINER", "COMMAND");
	l->header = true;
	version_name(p, version);
	printable_into(command, sizeof(command), i->command);
	printable_into(user, sizeof(user), *i->user ? i->user : "?");
	printable_into(container, sizeof(container), *i->container ? i->container : "-");
	printf("%7d %7d %-10s %-9s %-12s %-17s %-12.*s %s\n", (int)p->pid, (int)i->ns_pid, user,
	       version, *p->file ? build_name(p, build) : "-",
	       how_names[good ? p->source : PY_SOURCE_NONE], CONTAINER_SHOWN, container, command);
	if (!good) {
		printable_into(why, sizeof(why), p->why);
		printf("%7s %s\n", "", why);
	} else if (*walked_in_full(p)) {
		printf("%7s walked in full: %s\n", "", walked_in_full(p));
	}
}

void list_put_json(struct list_print *l, const struct py_process *p, const struct process_info *i,
		   bool good)
{
	char version[24];
	struct json *j = &l->writer;

	json_open_object(j);
	printed_json_row(j, "list");
	json_put_number(j, "pid", p->pid);
	json_put_number(j, "ns_pid", i->ns_pid);
	if (i->has_uid)
		json_put_number(j, "uid", i->uid);
	json_put_string(j, "user", i->user);
	version_name(p, version);
	if (p->version)
		json_put_string(j, "version", version);
	else
		json_put_null(j, "version");
	if (*p->file) {
		json_put_string(j, "build", p->build == PY_BUILD_EXE ? "exe" : "shared");
		json_put_bool(j, "debug", p->debug);
		json_put_bool(j, "free_threaded", p->offsets.flags & PYOFF_FREE_THREADED);
		json_put_string(j, "file", p->file);
	}
	json_put_string(j, "command", i->command);
	if (*i->container)
		json_put_string(j, "container", i->container);
	else
		json_put_null(j, "container");
	if (good)
		json_put_string(j, "how", how_names[p->source]);
	else
		json_put_null(j, "how");
	if (!good)
		json_put_string(j, "why", p->why);
	else if (*walked_in_full(p))
		json_put_string(j, "walked_in_full", walked_in_full(p));
	if (*p->second)
		json_put_string(j, "second", p->second);
	json_close_object(j);
	json_newline(j);
}

/* ---- the short table -------------------------------------------------------------------------- */

void list_print_begin(struct list_print *l, bool verbose)
{
	struct winsize size;

	l->verbose = verbose;
	if (isatty(STDOUT_FILENO))
		l->width = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col :
										     80;
}

/* "45s", "12m", "3h", "9d". */
static void format_age(char buf[static 16], double seconds)
{
	if (seconds < 100)
		snprintf(buf, 16, "%.0fs", seconds);
	else if (seconds < 100 * 60)
		snprintf(buf, 16, "%.0fm", seconds / 60);
	else if (seconds < 100 * 3600)
		snprintf(buf, 16, "%.0fh", seconds / 3600);
	else
		snprintf(buf, 16, "%.0fd", seconds / 86400);
}

/*
 * Formats as ps(1) does: over its whole life, by the kernel's clock that counts suspend. "-":
 * ended.
 */
static void format_times(char cpu[static 16], char age[static 16], pid_t pid)
{
	double ticks = (double)sysconf(_SC_CLK_TCK), seconds;
	struct proc_times times;
	struct timespec now;

	strcpy(cpu, "-");
	strcpy(age, "-");
	if (proc_times_read(pid, &times) || clock_gettime(CLOCK_BOOTTIME, &now))
		return;
	seconds =
		(double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)times.start_ticks / ticks;
	if (seconds <= 0)
		return;
	snprintf(cpu, 16, "%.1f", 100 * (double)times.cpu_ticks / ticks / seconds);
	format_age(age, seconds);
}

/* Prints as much of a text as fits; "…" marks a cut. */
static void print_start(const char *text, unsigned width)
{
	unsigned taken = 0;
	size_t bytes;

	if (!width || text_width(text) <= width) {
		fputs(text, stdout);
		return;
	}
	for (; *text; text += bytes) {
		unsigned w = char_width(text, &bytes);

		if (taken + w > width - 1)
			break;
		fwrite(text, 1, bytes, stdout);
		taken += w;
	}
	fputs(charset_ellipsis(!charset_is_utf8()), stdout);
}

/* The script identifies a process; its interpreter's folder does not. */
static const char *without_folder(const char *command)
{
	const char *end = command + strcspn(command, " "), *base = command;

	for (const char *at = command; at < end; at++) {
		if (*at == '/' && at + 1 < end)
			base = at + 1;
	}
	return base;
}

static void print_short(struct list_print *l, const struct py_process *p,
			const struct process_info *i, bool good)
{
	unsigned room = l->width > NUMBERS_WIDTH + 16 ? l->width - NUMBERS_WIDTH :
			l->width		      ? 16 :
							0;
	char version[24], python[32], user[64], command[600], why[600], cpu[16], age[16];

	if (!l->header)
		printf("%7s %-10s %-9s %5s %5s %s\n", "PID", "USER", "PYTHON", "CPU%", "AGE",
		       "COMMAND");
	l->header = true;
	version_name(p, version);
	snprintf(python, sizeof(python), "%s%s%s", version,
		 p->offsets.flags & PYOFF_FREE_THREADED ? "t" : "", p->debug ? "d" : "");
	printable_into(user, sizeof(user), *i->user ? i->user : "?");
	printable_into(command, sizeof(command), i->command);
	format_times(cpu, age, p->pid);
	printf("%7d %-10.10s %-9s %5s %5s ", (int)p->pid, user, python, cpu, age);
	print_start(room && text_width(command) > room ? without_folder(command) : command, room);
	putchar('\n');
	if (!good) {
		printable_into(why, sizeof(why), p->why);
		printf("%7s cannot be profiled: %s\n", "", why);
	}
}

/* An interpreter that is missing in whatever krait says about the process. */
static void print_second(const struct py_process *p)
{
	char second[4 * sizeof(p->second)];

	if (!*p->second)
		return;
	printable_into(second, sizeof(second), p->second);
	printf("%7s a second interpreter runs in it, which krait does not read: %s\n", "", second);
}

void list_print_row(struct list_print *l, const struct py_process *p, const struct process_info *i,
		    bool good)
{
	if (l->verbose)
		print_all(l, p, i, good);
	else
		print_short(l, p, i, good);
	print_second(p);
}
