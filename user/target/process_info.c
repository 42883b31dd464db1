/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/process_info.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/process.h"
#include "util/cleanup.h"

#define FILE_MAX 8192
#define HEX_ID 64

/* At most size - 1 bytes and a NUL; how many, or -errno. */
static ssize_t read_file(pid_t pid, const char *name, char *buf, size_t size)
{
	cleanup_close int fd = -1;
	char path[40];
	ssize_t n, len = 0;

	buf[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((size_t)len < size - 1 && (n = read(fd, buf + len, size - 1 - (size_t)len)) > 0)
		len += n;
	buf[len] = '\0';
	return len;
}

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

/* The rest of the line that begins with key; NULL if there is none. */
static const char *line_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text && strncmp(text, key, len)) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + len : NULL;
}

pid_t ns_pid_find(const char *status)
{
	const char *p = line_of(status, "NSpid:");
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
	const char *p = line_of(status, "Uid:");
	const struct passwd *user;
	unsigned uid;

	if (!p || sscanf(p, "%*u %u", &uid) != 1)
		return;
	ret->uid = uid;
	ret->has_uid = true;
	user = getpwuid(uid);
	if (user)
		snprintf(ret->user, sizeof(ret->user), "%s", user->pw_name);
	else
		snprintf(ret->user, sizeof(ret->user), "%u", uid);
}

static void find_command(pid_t pid, struct process_info *ret)
{
	ssize_t len = read_file(pid, "cmdline", ret->command, sizeof(ret->command));
	char comm[16];

	while (len > 0 && !ret->command[len - 1])
		len--;
	for (ssize_t i = 0; i < len; i++)
		if (!ret->command[i])
			ret->command[i] = ' ';
	if (len <= 0 && !process_comm(pid, comm))
		snprintf(ret->command, sizeof(ret->command), "[%s]", comm);
}

int process_info_read(pid_t pid, struct process_info *ret)
{
	char text[FILE_MAX];
	ssize_t len = read_file(pid, "status", text, sizeof(text));

	*ret = (struct process_info){ .pid = pid };
	if (len == -ENOENT || len == -ESRCH)
		return -ESRCH;
	ret->ns_pid = ns_pid_find(text);
	find_user(text, ret);
	find_command(pid, ret);
	if (read_file(pid, "cgroup", text, sizeof(text)) > 0)
		container_id_find(text, ret->container);
	return 0;
}
