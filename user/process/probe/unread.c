/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/unread.h"

#include <stdio.h>
#include <string.h>

#include "process/proc/proc.h"
#include "base/text/printable.h"

void unread_note(struct unread *u, pid_t pid, const char *comm, const char *why)
{
	char name[sizeof(u->mentions.most[0].name)], reason[sizeof(u->why)];

	if (proc_is_init(pid))
		return;
	printable_into(name, sizeof(name), comm);
	printable_into(reason, sizeof(reason), why);
	if (!u->mentions.cnt)
		memcpy(u->why, reason, sizeof(u->why));
	u->differ |= !!strcmp(u->why, reason);
	mentions_add(&u->mentions, pid, name, 1);
}

void unread_say(const struct unread *u, char *said, size_t size)
{
	unsigned cnt = u->mentions.cnt;
	char there[320];

	*said = '\0';
	if (!cnt)
		return;
	mentions_say(&u->mentions, there, sizeof(there));
	snprintf(said, size, "%u process%s could not be inspected (%s%s) and may be Python: %s%s",
		 cnt, cnt == 1 ? "" : "es", u->why, u->differ ? "; others for other reasons" : "",
		 there, cnt > MENTIONS_NAMED ? " (krait list -v: all)" : "");
}
