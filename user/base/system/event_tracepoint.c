/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/event_tracepoint.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"

static const char *const roots[] = { "/sys/kernel/tracing/events",
				     "/sys/kernel/debug/tracing/events" };

static DIR *open_root(const char **ret)
{
	DIR *dir = NULL;
	int first = 0;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && !dir; i++) {
		dir = opendir(roots[i]);
		*ret = roots[i];
		first = first ? first : errno;
	}
	if (!dir)
		errno = first;
	return dir;
}

static int read_id(const char *folder, const char *name, __u64 *ret)
{
	char path[PATH_MAX];
	cleanup_fclose FILE *f = NULL;

	if (snprintf(path, sizeof(path), "%s/%s/id", folder, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "re");
	return f && fscanf(f, "%llu", ret) == 1 ? 0 : -ENOENT;
}

/* Of one system, "sched". */
static int in_folder(const char *folder, const char *pattern,
		     int (*fn)(void *ctx, const struct event_tracepoint *t), void *ctx, int *cnt)
{
	cleanup_closedir DIR *dir = opendir(folder);
	struct dirent *entry;
	int result = 0;

	while (dir && !result && (entry = readdir(dir))) {
		struct event_tracepoint t = { .folder = folder, .name = entry->d_name };

		if (fnmatch(pattern, entry->d_name, FNM_PERIOD) ||
		    read_id(folder, entry->d_name, &t.id))
			continue;
		++*cnt;
		result = fn(ctx, &t);
	}
	return result;
}

/*
 * The kernel frees each tracepoint's event under a lock, and waits for all CPUs each time (perf_trace_event_unreg() in
 * kernel/trace/trace_event_perf.c), so hundreds of them take a minute.
 */
static const char *shorter(const char *name)
{
	static const char *const names[][2] = {
		{ "syscalls:*", "raw_syscalls:*" },
		{ "syscalls:sys_*", "raw_syscalls:*" },
		{ "syscalls:sys_enter*", "raw_syscalls:sys_enter" },
		{ "syscalls:sys_enter_*", "raw_syscalls:sys_enter" },
		{ "syscalls:sys_exit*", "raw_syscalls:sys_exit" },
		{ "syscalls:sys_exit_*", "raw_syscalls:sys_exit" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i][0]))
			return names[i][1];
	return name;
}

int event_tracepoints(const char *name, int (*fn)(void *ctx, const struct event_tracepoint *t),
		      void *ctx)
{
	const char *root, *colon = strchr(name = shorter(name), ':');
	cleanup_closedir DIR *dir = open_root(&root);
	char system[EVENT_NAME_MAX], folder[PATH_MAX];
	struct dirent *entry;
	int cnt = 0, result = 0;

	if (!dir)
		return -errno;
	if (!colon)
		return -EINVAL;
	snprintf(system, sizeof(system), "%.*s", (int)(colon - name), name);
	while (!result && (entry = readdir(dir))) {
		if (fnmatch(system, entry->d_name, FNM_PERIOD))
			continue;
		snprintf(folder, sizeof(folder), "%s/%.255s", root, entry->d_name);
		result = in_folder(folder, colon + 1, fn, ctx, &cnt);
	}
	return result ? result : cnt;
}

int event_tracepoint_filter(struct filter_program *ret, const struct event_tracepoint *t,
			    const char *filter, char *why, size_t why_size)
{
	char path[PATH_MAX], format[16384];
	cleanup_fclose FILE *f = NULL;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s/format", t->folder, t->name);
	f = fopen(path, "re");
	len = f ? fread(format, 1, sizeof(format) - 1, f) : 0;
	format[len] = '\0';
	return event_filter_parse(ret, filter, format, why, why_size);
}

void event_tracepoint_name(char *ret, size_t size, const char *event,
			   const struct event_tracepoint *t)
{
	const char *slash = strrchr(t->folder, '/'), *system = slash ? slash + 1 : t->folder;
	const size_t len = strlen(system);

	/* The user has given another name, or a pattern. */
	if (!strncmp(event, system, len) && event[len] == ':' && !strcmp(event + len + 1, t->name))
		snprintf(ret, size, "%s", event);
	else
		snprintf(ret, size, "%s (here %s:%s)", event, system, t->name);
}

struct check {
	const char *event, *filter;
	char *why;
	size_t why_size;
};

static int check_one(void *ctx, const struct event_tracepoint *t)
{
	const struct check *c = ctx;
	struct filter_program program;
	char why[512], name[EVENT_NAME_MAX + 512];
	int err = event_tracepoint_filter(&program, t, c->filter, why, sizeof(why));

	if (err) {
		event_tracepoint_name(name, sizeof(name), c->event, t);
		snprintf(c->why, c->why_size, "%s: %s", name, why);
	}
	return err;
}

int event_tracepoint_check(const struct event_spec *e, const char *filter, char *why,
			   size_t why_size)
{
	struct check c = { e->name, filter, why, why_size };
	int cnt;

	*why = '\0';
	cnt = event_tracepoints(e->name, check_one, &c);
	if (cnt < 0 && !*why)
		snprintf(why, why_size, "%s: %s", e->name, strerror(-cnt));
	return cnt < 0 ? cnt : 0;
}

static int any(void *ctx, const struct event_tracepoint *t)
{
	return 0;
}

int event_tracepoint_parse(struct event_spec *e, char *why, size_t why_size)
{
	int cnt = event_tracepoints(e->name, any, NULL);

	if (cnt > 0) {
		e->type = PERF_TYPE_TRACEPOINT;
		return 0;
	}
	if (!cnt)
		snprintf(
			why, why_size,
			"this kernel has no tracepoint \"%s\"; perf list tracepoint shows those that it has",
			e->name);
	else
		snprintf(
			why, why_size,
			"\"%s\": the kernel's tracepoints cannot be read (%s); they are root's, in %s",
			e->name, strerror(-cnt), roots[0]);
	return cnt ? cnt : -ENOENT;
}
