/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/process_info.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/proc.h"
#include "util/cleanup.h"

#define FILE_MAX 8192
#define HEX_ID 64

static size_t hex_run(const char *text)
{
	size_t len = 0;

	while (isdigit((unsigned char)text[len]) || (text[len] >= 'a' && text[len] <= 'f'))
		len++;
	return len;
}

static bool name_behind(const char *text, const char *mark, char ret[static CONTAINER_ID_MAX])
{
	const char *p = strstr(text, mark);
	size_t len = p ? strcspn(p + strlen(mark), "/\n") : 0;

	if (!len)
		return false;
	snprintf(ret, CONTAINER_ID_MAX, "%.*s", len < HEX_ID ? (int)len : HEX_ID, p + strlen(mark));
	return true;
}

bool container_id_find(const char *text, char ret[static CONTAINER_ID_MAX])
{
	const char *found = NULL;

	ret[0] = '\0';
	for (const char *p = text; *p;) {
		size_t len = hex_run(p);

		if (len == HEX_ID && !isalnum((unsigned char)p[len]))
			found = p;
		/* Digits within a word are no number of their own. */
		p += len;
		while (*p && isalnum((unsigned char)*p))
			p++;
		while (*p && !isalnum((unsigned char)*p))
			p++;
	}
	if (found) {
		memcpy(ret, found, HEX_ID);
		ret[HEX_ID] = '\0';
		return true;
	}
	return name_behind(text, "lxc.payload.", ret) || name_behind(text, "/lxc/", ret);
}

pid_t ns_pid_find(const char *status)
{
	const char *p = proc_line_of(status, "NSpid:");
	pid_t pid = 0;

	while (p && *p && *p != '\n') {
		char *end;
		long value = strtol(p, &end, 10);

		if (end == p)
			break;
		pid = (pid_t)value;
		p = end;
	}
	return pid;
}

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

static void use_name(int dir, struct process_info *ret)
{
	char comm[16];

	if (!proc_comm_at(dir, comm))
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
		use_name(dir, ret);
}

/* All but the command. */
static int find_facts(int dir, pid_t pid, struct process_info *ret)
{
	char text[FILE_MAX];
	ssize_t len = proc_read(dir, "status", text, sizeof(text));

	*ret = (struct process_info){ .pid = pid };
	if (len == -ESRCH)
		return -ESRCH;
	ret->ns_pid = ns_pid_find(text);
	find_user(text, ret);
	if (proc_read(dir, "cgroup", text, sizeof(text)) > 0)
		container_id_find(text, ret->container);
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
	use_name(dir, ret);
	return 0;
}

int process_info_read(pid_t pid, struct process_info *ret)
{
	cleanup_close int dir = proc_open(pid);

	*ret = (struct process_info){ .pid = pid };
	if (dir == -ESRCH || process_info_read_at(dir, pid, ret))
		return -ESRCH;
	process_info_name_user(ret);
	return 0;
}
