/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/maps/procs.h"

#include <bpf/bpf.h>
#include <errno.h>

/* This fraction of the processes is reserved for root; as in bpf/map/room.h. */
#define ROOT_RESERVE 8

static void note(const struct procs *p, unsigned owner, __s64 cnt)
{
	__atomic_fetch_add(&p->books->use[owner % OWNER_CNT].procs, cnt, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->books->procs, cnt, __ATOMIC_RELAXED);
}

static __u64 held(const __s64 *procs)
{
	__s64 cnt = __atomic_load_n(procs, __ATOMIC_RELAXED);

	return cnt > 0 ? cnt : 0;
}

static bool may_add(const struct procs *p, unsigned owner)
{
	struct owner_use *use = p->books->use;
	__u64 free = share_free(owner, KRAIT_MAX_PROCS, held(&p->books->procs),
				KRAIT_MAX_PROCS / ROOT_RESERVE, held(&use[OWNER_ROOT].procs));

	return share_allows(owner, held(&use[owner % OWNER_CNT].procs), 1, KRAIT_MAX_PROCS, free);
}

bool procs_find(const struct procs *p, pid_t pid, struct proc_info *ret)
{
	return !bpf_map_lookup_elem(p->fd, &pid, ret);
}

/* Inserts a new entry. Returns 0 or -errno. */
static int insert(const struct procs *p, pid_t pid, const struct proc_info *info)
{
	if (!may_add(p, info->owner)) {
		__atomic_fetch_add(&p->books->use[info->owner % OWNER_CNT].procs_refused, 1,
				   __ATOMIC_RELAXED);
		return -EDQUOT;
	}
	if (bpf_map_update_elem(p->fd, &pid, info, BPF_NOEXIST))
		return errno == E2BIG ? -EDQUOT : -errno;
	note(p, info->owner, 1);
	return 0;
}

static int replace(const struct procs *p, pid_t pid, const struct proc_info *info,
		   const struct proc_info *old)
{
	if (start_order(info->start_ns, old->start_ns) < 0)
		return -ESRCH;
	if (bpf_map_update_elem(p->fd, &pid, info, BPF_EXIST))
		return errno == ENOENT ? -ESRCH : -errno;
	note(p, old->owner, -1);
	note(p, info->owner, 1);
	return 0;
}

int procs_enter(const struct procs *p, pid_t pid, const struct proc_info *info)
{
	struct proc_info old;
	int err;

	__atomic_store_n(&p->books->pids[pids_place((__u32)pid)], 1, __ATOMIC_RELEASE);
	do {
		err = procs_find(p, pid, &old) ? replace(p, pid, info, &old) : insert(p, pid, info);
	} while (err == -EEXIST); /* an exec or fork of this very process was faster */
	return err;
}

void procs_delete(const struct procs *p, pid_t pid, __u64 start_ns)
{
	struct proc_info info;

	if (procs_find(p, pid, &info) && same_start(info.start_ns, start_ns) &&
	    !bpf_map_delete_elem(p->fd, &pid))
		note(p, info.owner, -1);
}
