/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/whose.h"

#include "profile/identities.h"
#include "target/proc.h"
#include "target/process.h"
#include "util/cleanup.h"

/*
 * Asks again: a process that was root when it was identified, or whose parent was, may have given
 * that up since.
 */
static bool ask_now(const struct py_process *process, struct proc_ids *ret, bool *ret_same_root)
{
	cleanup_close int dir = proc_open_started(process->pid, process->start_ticks);

	if (dir < 0 || proc_ids_at(dir, ret))
		return false;
	*ret_same_root = proc_has_our_root(dir);
	return true;
}

void whose_is(struct identities *set, const struct py_process *process)
{
	struct identity one = { .pid = process->pid };
	bool same_root = false;
	struct proc_ids ids;

	/* A process that has gone can read nothing any more, and its past rights are uncertain. */
	if (!ask_now(process, &ids, &same_root) || !same_root)
		return;
	one.uid = ids.euid;
	one.gid = ids.egid;
	while (one.group_cnt < ids.group_cnt && one.group_cnt < IDENTITY_GROUPS &&
	       one.group_cnt < PROC_GROUPS_MAX) {
		one.groups[one.group_cnt] = ids.groups[one.group_cnt];
		one.group_cnt++;
	}
	identities_add(set, &one);
}
