/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc/process_info.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/proc/proc.h"
#include "base/data/cleanup.h"

#define FILE_MAX 8192
static void find_user(const char *status, struct process_info *ret)
{
	const char *p = proc_line_of(status, "Uid:");
	unsigned uid;

	if (!p || sscanf(p, "%*u %u", &uid) != 1)
		return;
	ret->uid = uid;
	ret->has_uid = true;
}

void process_info_name_user(struct process_info *info)
{
	const struct passwd *user = info->has_uid ? getpwuid(info->uid) : NULL;

	if (user)
		snprintf(info->user, sizeof(info->user), "%s", user->pw_name);
	else if (info->has_uid)
		snprintf(info->user, sizeof(info->user), "%u", info->uid);
}

static void use_name(struct process_info *ret)
{
	char comm[16];

	if (!process_comm(ret->pid, comm))
		snprintf(ret->command, sizeof(ret->command), "[%s]", comm);
}

static void find_command(int dir, struct process_info *ret)
{
	ssize_t len = proc_read(dir, "cmdline", ret->command, sizeof(ret->command));

	while (len > 0 && !ret->command[len - 1])
		len--;
	for (ssize_t i = 0; i < len; i++)
		if (!ret->command[i])
			ret->command[i] = ' ';
	if (len <= 0)
		use_name(ret);
}

/* Of the process: the folder may be that of another thread than the first (proc_open()). */
static ssize_t read_status(int dir, pid_t pid, char *text, size_t size)
{
	ssize_t len = proc_read(dir, "status", text, size);
	const char *of = len > 0 ? proc_line_of(text, "Pid:") : NULL;
	cleanup_close int leader = of && atoi(of) != pid ? proc_open_leader(pid) : -1;

	return leader < 0 ? len : proc_read(leader, "status", text, size);
}

/* Finds everything except the command. */
static int find_facts(int dir, pid_t pid, struct process_info *ret)
{
	char text[FILE_MAX], path[PATH_MAX];
	ssize_t len = read_status(dir, pid, text, sizeof(text));
	struct container container;

	*ret = (struct process_info){ .pid = pid };
	if (len == -ESRCH)
		return -ESRCH;
	ret->ns_pid = proc_ns_pid(text);
	find_user(text, ret);
	if (proc_read(dir, "cgroup", text, sizeof(text)) > 0) {
		cgroup_path(text, path, sizeof(path));
		container_of_cgroup(path, &container);
		memcpy(ret->container, container.id, sizeof(ret->container));
	}
	return 0;
}

int process_info_read_at(int dir, pid_t pid, struct process_info *ret)
{
	int r = find_facts(dir, pid, ret);

	if (!r)
		find_command(dir, ret);
	return r;
}

int process_info_glance(pid_t pid, struct process_info *ret)
{
	cleanup_close int dir = proc_open(pid);

	*ret = (struct process_info){ .pid = pid };
	if (dir < 0 || find_facts(dir, pid, ret))
		return -ESRCH;
	use_name(ret);
	return 0;
}
