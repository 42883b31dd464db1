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
static int in_folder(const char *folder, const char *pattern, int (*fn)(void *ctx, __u64 id),
		     void *ctx, int *cnt)
{
	cleanup_closedir DIR *dir = opendir(folder);
	struct dirent *entry;
	int result = 0;

	while (dir && !result && (entry = readdir(dir))) {
		__u64 id;

		if (fnmatch(pattern, entry->d_name, FNM_PERIOD) ||
		    read_id(folder, entry->d_name, &id))
			continue;
		++*cnt;
		result = fn(ctx, id);
	}
	return result;
}

int event_tracepoints(const char *name, int (*fn)(void *ctx, __u64 id), void *ctx)
{
	const char *root, *colon = strchr(name, ':');
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

static int any(void *ctx, __u64 id)
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
