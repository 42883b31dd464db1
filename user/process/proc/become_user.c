/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc/become_user.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An id that the process already has needs no privilege. */
int become_user(const struct proc_ids *ids)
{
	size_t cnt = ids->group_cnt < PROC_GROUPS_MAX ? ids->group_cnt : PROC_GROUPS_MAX;
	bool same = ids->euid == geteuid() && ids->egid == getegid();

	if (setgroups(cnt, ids->groups) && !same)
		return -errno;
	if (setresgid(ids->egid, ids->egid, ids->egid) ||
	    setresuid(ids->euid, ids->euid, ids->euid))
		return -errno;
	return 0;
}

uid_t become_user_root_of(int dir)
{
	char text[4096], *line;
	unsigned inside, outside;

	if (proc_read(dir, "uid_map", text, sizeof(text)) < 0)
		return 0;
	for (line = text; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
		if (sscanf(line, "%u %u", &inside, &outside) == 2 && !inside)
			return outside;
	}
	return 0;
}
