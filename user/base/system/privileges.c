/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/privileges.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/data/cleanup.h"

#define CNT(list) (sizeof(list) / sizeof((list)[0]))

/* For loading and attaching, and for the kernel's code addresses. */
static const cap_value_t for_sampling[] = { CAP_BPF, CAP_PERFMON, CAP_SYSLOG };
/* For facts, memory and mapped files of any process. */
static const cap_value_t for_processes[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH,
					     CAP_CHECKPOINT_RESTORE };
/*
 * Permitted only: other users' /proc/PID/mem is writable only with it, and root's outputs may lie
 * in any folder.
 */
static const cap_value_t for_moments[] = { CAP_DAC_OVERRIDE };
/*
 * Likewise, if the kernel requires it to open perf events: level 3 of kernel.perf_event_paranoid,
 * the default on Debian and Android; and for uprobes (perf_uprobe_event_init(), kernel/events/core.c).
 */
static const cap_value_t for_events[] = { CAP_SYS_ADMIN };

/* Likewise, if the recording ends before the command: it may have changed its user. */
static const cap_value_t for_command[] = { CAP_KILL };

bool privileges_has(cap_value_t cap, cap_flag_t set)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t own = cap_get_proc();

	if (own) {
		cap_get_flag(own, cap, set, &value);
		cap_free(own);
	}
	return value == CAP_SET;
}

long sysctl_kernel(const char *name, long fallback)
{
	cleanup_fclose FILE *f = NULL;
	char path[128];
	long number;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	f = fopen(path, "re");
	return f && fscanf(f, "%ld", &number) == 1 ? number : fallback;
}

bool privileges_events_need_admin(void)
{
	return sysctl_kernel("perf_event_paranoid", 2) > 2;
}

int privileges_scope(void)
{
	long scope;

	errno = 0;
	scope = sysctl_kernel("yama/ptrace_scope", -1);
	/* Only where there is no such file is there no limit: what cannot be told is the strictest. */
	return scope < 0 && errno != ENOENT ? 3 : (int)scope;
}

/* Keeps those that the process has. Returns 0 or -errno. */
static int keep(cap_t new, cap_t old, const cap_value_t *list, size_t cnt, bool effective)
{
	for (size_t i = 0; i < cnt; i++) {
		cap_flag_value_t has;

		/* An older kernel does not know all of them. */
		if (cap_get_flag(old, list[i], CAP_PERMITTED, &has) || has != CAP_SET)
			continue;
		if (cap_set_flag(new, CAP_PERMITTED, 1, &list[i], CAP_SET) ||
		    (effective && cap_set_flag(new, CAP_EFFECTIVE, 1, &list[i], CAP_SET)))
			return -errno;
	}
	return 0;
}

/* Removes from the bounding set, if allowed, what an exec could give back. */
static void drop_bounds(cap_t kept)
{
	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++) {
		cap_flag_value_t has;

		if (!cap_get_flag(kept, cap, CAP_PERMITTED, &has) && has == CAP_CLEAR)
			(void)cap_drop_bound(cap);
	}
}

static int drop_capabilities(const struct privileges_need *need)
{
	cap_t old = cap_get_proc(), new = cap_init();
	int err = old && new ? 0 : -ENOMEM;

	if (!err)
		err = keep(new, old, for_moments, CNT(for_moments), false);
	if (!err)
		err = keep(new, old, for_processes, CNT(for_processes), true);
	if (!err && need->sampling)
		err = keep(new, old, for_sampling, CNT(for_sampling), true);
	if (!err && need->sampling && (need->probes || privileges_events_need_admin()))
		err = keep(new, old, for_events, CNT(for_events), false);
	if (!err && need->command)
		err = keep(new, old, for_command, CNT(for_command), false);
	if (!err) {
		drop_bounds(new);
		(void)cap_reset_ambient();
		err = cap_set_proc(new) ? -errno : 0;
	}
	cap_free(old);
	cap_free(new);
	return err;
}

/*
 * Kernels before 5.11 charge BPF maps against this limit. libbpf would raise it but no longer can
 * once we drop rights.
 */
static void raise_memory_lock(void)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	(void)setrlimit(RLIMIT_MEMLOCK, &all);
}

int privileges_drop(const struct privileges_need *need)
{
	const struct rlimit none = { 0, 0 };
	int err;

	if (need->sampling)
		raise_memory_lock();
	err = drop_capabilities(need);
	if (!err && (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
		err = -errno;
#ifndef __SANITIZE_ADDRESS__ /* it finds leaks by tracing itself */
	if (!err && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		err = -errno;
#endif
	return err;
}

/* ---- for a moment ----------------------------------------------------------------------------- */

static bool set_effective(cap_value_t cap, cap_flag_value_t value)
{
	cap_t now = cap_get_proc();
	cap_flag_value_t has = CAP_CLEAR, may = CAP_CLEAR;
	bool changed = false;

	if (now && !cap_get_flag(now, cap, CAP_EFFECTIVE, &has) &&
	    !cap_get_flag(now, cap, CAP_PERMITTED, &may) && has != value && may == CAP_SET)
		changed = !cap_set_flag(now, CAP_EFFECTIVE, 1, &cap, value) && !cap_set_proc(now);
	cap_free(now);
	return changed;
}

struct privileges_loan privileges_borrow(int cap)
{
	return (struct privileges_loan){ cap, set_effective(cap, CAP_SET) };
}

void privileges_give_back(struct privileges_loan *loan)
{
	int saved = errno;

	if (loan->taken)
		set_effective(loan->cap, CAP_CLEAR);
	loan->taken = false;
	errno = saved;
}
