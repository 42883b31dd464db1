/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/whose.h"

#include "record/follow/processes.h"
#include "profile/identities.h"
#include "record/samples/own.h"
#include "process/proc/proc.h"
#include "base/data/cleanup.h"

/* Do paths and root mean the same to it as to us? Neither can be had back once it is given up. */
static bool is_at_home(int dir, const struct proc_ids *now, uid_t uid)
{
	if (!proc_has_our_root(dir))
		return false;
	return uid || proc_reads_all(dir, now);
}

static void grant_groups(struct identity *one, const struct proc_ids *now)
{
	while (one->group_cnt < now->group_cnt && one->group_cnt < IDENTITY_GROUPS &&
	       one->group_cnt < PROC_GROUPS_MAX) {
		one->groups[one->group_cnt] = now->groups[one->group_cnt];
		one->group_cnt++;
	}
}

void whose_note(struct identities *set, const struct process *p, const struct task_ids *ids)
{
	struct identity one = { .pid = p->pid, .doubt = true, .said = ids->groups };
	struct proc_ids now;

	if (ids->groups) {
		one.uid = ids->uid;
		one.gid = ids->gid;
	}
	if (identities_has(set, p->pid, one.uid, one.gid, one.said))
		return;
	/* Only what is still alive can be asked where its paths lead. */
	if (ids->groups) {
		cleanup_close int dir = proc_open_started(p->info.pid, p->info.start_ticks);

		one.doubt = dir < 0 || proc_ids_at(dir, &now) || !is_at_home(dir, &now, one.uid);
		if (!one.doubt && ids->groups != TASK_GROUPS_MANY &&
		    proc_groups(&now) == ids->groups)
			grant_groups(&one, &now);
	}
	identities_add(set, &one);
}

void whose_now(const struct process *p, struct task_ids *ret)
{
	cleanup_close int dir = proc_open_started(p->info.pid, p->info.start_ticks);
	struct proc_ids now;

	*ret = (struct task_ids){ 0 };
	if (p->own->ids.groups && dir >= 0 && !proc_ids_at(dir, &now) &&
	    now.fsuid == p->own->ids.uid && now.fsgid == p->own->ids.gid &&
	    proc_groups(&now) == p->own->ids.groups)
		*ret = p->own->ids;
}
