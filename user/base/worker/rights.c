/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker/rights.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rights {
	__u64 effective, permitted, inheritable;
};

static int get(struct rights *ret)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return -errno;
	ret->effective = d[0].effective | (__u64)d[1].effective << 32;
	ret->permitted = d[0].permitted | (__u64)d[1].permitted << 32;
	ret->inheritable = d[0].inheritable | (__u64)d[1].inheritable << 32;
	return 0;
}

static int set(const struct rights *r)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = {
		{ (__u32)r->effective, (__u32)r->permitted, (__u32)r->inheritable },
		{ (__u32)(r->effective >> 32), (__u32)(r->permitted >> 32),
		  (__u32)(r->inheritable >> 32) },
	};

	return syscall(SYS_capset, &h, d) ? -errno : 0;
}

__u64 rights_effective(void)
{
	struct rights r = {};

	return get(&r) ? 0 : r.effective;
}

int rights_keep_and_permit(__u64 set_effective, __u64 for_moments)
{
	__u64 keep = set_effective | for_moments;
	struct rights r;
	int err = get(&r);

	if (err)
		return err;
	/*
	 * exec restores only what is in the bounding set; changing that set needs a capability
	 * itself.
	 */
	for (int cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		if (!(keep & RIGHTS_BIT(cap)))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	r.permitted &= keep;
	r.effective = r.permitted & set_effective;
	r.inheritable = 0;
	return set(&r);
}

int rights_keep(__u64 keep)
{
	return rights_keep_and_permit(keep, 0);
}

static bool has_ids(const struct rights_ids *ids)
{
	uid_t u[3];
	gid_t g[3];

	if (getresuid(&u[0], &u[1], &u[2]) || getresgid(&g[0], &g[1], &g[2]))
		return false;
	for (int i = 0; i < 3; i++)
		if (u[i] != ids->uid || g[i] != ids->gid)
			return false;
	return true;
}

int rights_become(const struct rights_ids *ids)
{
	const struct rights r = { ids->set, ids->set, ids->set };
	int err;

	for (int cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(ids->set & RIGHTS_BIT(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return -errno;
	if (ids->group_cnt > RIGHTS_GROUPS_MAX)
		return -EINVAL;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(ids->group_cnt, ids->groups) ||
	    setresgid(ids->gid, ids->gid, ids->gid) || setresuid(ids->uid, ids->uid, ids->uid))
		return -errno;
	if (!has_ids(ids))
		return -EPERM;
	if (prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	err = set(&r);
	for (int cap = 0; cap < 64 && !err; cap++)
		if (ids->set & RIGHTS_BIT(cap) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0))
			err = -errno;
	return err;
}

static __u64 set_inheritable(__u64 inheritable, bool permitted_too)
{
	struct rights r;
	__u64 before;

	if (get(&r))
		return 0;
	before = r.inheritable;
	r.inheritable = inheritable | (permitted_too ? r.permitted : 0);
	(void)set(&r);
	return before;
}

__u64 rights_hand_down(void)
{
	return set_inheritable(0, true);
}

void rights_take_back(__u64 before)
{
	set_inheritable(before, false);
}

int rights_only_handed_down(void)
{
	struct rights r;
	int err = get(&r);

	if (err || !getauxval(AT_SECURE))
		return err;
	r.permitted &= r.inheritable;
	r.effective = r.permitted;
	return set(&r);
}
