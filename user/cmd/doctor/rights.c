/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/doctor/checks.h"
#include "cmd/doctor/findings.h"
#include "process/proc/cgroup.h"
#include "process/proc/proc.h"
#include "base/data/cleanup.h"
#include "base/system/privileges.h"
#include "base/worker/own.h"

/* include/linux/proc_ns.h, PROC_PID_INIT_INO and PROC_USER_INIT_INO */
#define PID_NAMESPACE_INIT_INO 0xEFFFFFFCU
#define USER_NAMESPACE_INIT_INO 0xEFFFFFFDU
/* With less, the container's limit may kill a recording of a busy machine. */
#define MEMORY_WANTED (256ULL << 20)

#define REMEDY "run krait with sudo, or in a container with --privileged"

static bool has_right(cap_value_t cap)
{
	return privileges_has(cap, CAP_EFFECTIVE);
}

static void check_capabilities(struct findings *f)
{
	static const struct {
		cap_value_t cap;
		const char *name, *cost; /* cost NULL: nothing works without it */
	} wanted[] = {
		{ CAP_BPF, "CAP_BPF", NULL },
		{ CAP_PERFMON, "CAP_PERFMON", NULL },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", NULL },
		{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
		  "native functions in other users' files have no names" },
		{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE",
		  "native functions in deleted files, and in containers, have no names" },
		{ CAP_SYSLOG, "CAP_SYSLOG", "the kernel's functions have no names" },
	};
	char missing[128] = "";
	bool all = true;

	/* CAP_SYS_ADMIN implied BPF and PERFMON before they existed. */
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		bool admin = (wanted[i].cap == CAP_BPF || wanted[i].cap == CAP_PERFMON) &&
			     has_right(CAP_SYS_ADMIN);

		if (admin || has_right(wanted[i].cap))
			continue;
		all = false;
		if (wanted[i].cost)
			findings_add(f, FINDING_LIMITED, "capabilities", wanted[i].cost, REMEDY,
				     "%s is missing", wanted[i].name);
		else
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing),
				 "%s%s", *missing ? ", " : "", wanted[i].name);
	}
	if (*missing)
		findings_add(f, FINDING_BROKEN, "capabilities", "nothing can be recorded", REMEDY,
			     "missing: %s", missing);
	if (all)
		findings_add(f, FINDING_OK, "capabilities", NULL, NULL, "%s",
			     geteuid() ? "every right that krait needs" :
					 "root, with every right that krait needs");
}

static bool is_namespace(const char *path, unsigned inode)
{
	struct stat st;

	return !stat(path, &st) && st.st_ino == inode;
}

static void check_namespaces(struct findings *f)
{
	if (!is_namespace("/proc/self/ns/pid", PID_NAMESPACE_INIT_INO))
		findings_add(f, FINDING_BROKEN, "namespaces",
			     "the kernel's process ids differ from those that /proc shows here",
			     "docker run --pid=host --privileged ...",
			     "krait runs in a pid namespace of its own");
	else if (!is_namespace("/proc/self/ns/user", USER_NAMESPACE_INIT_INO))
		findings_add(f, FINDING_BROKEN, "namespaces",
			     "BPF is for the first user namespace only",
			     "run krait outside the user namespace",
			     "krait runs in a user namespace: its rights do not hold for the "
			     "machine");
	else
		findings_add(f, FINDING_OK, "namespaces", NULL, NULL, "the machine's own");
}

static void check_seccomp(struct findings *f)
{
	char status[8192];
	const char *mode;

	if (proc_read(AT_FDCWD, "/proc/self/status", status, sizeof(status)) <= 0)
		return;
	mode = proc_line_of(status, "Seccomp:");
	if (mode && strtol(mode, NULL, 10))
		findings_add(f, FINDING_LIMITED, "seccomp",
			     "system calls may be refused although krait has the rights",
			     "docker run --security-opt seccomp=unconfined ...",
			     "a filter of system calls is on");
	else
		findings_add(f, FINDING_OK, "seccomp", NULL, NULL, "no filter");
}

static void check_locked_memory(struct findings *f)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_max == RLIM_INFINITY ||
	    has_right(CAP_SYS_RESOURCE) || has_right(CAP_IPC_LOCK))
		findings_add(f, FINDING_OK, "locked memory", NULL, NULL, "no limit for krait");
	else
		findings_add(f, FINDING_LIMITED, "locked memory",
			     "kernels before 5.11 refuse BPF maps beyond it", "ulimit -l unlimited",
			     "at most %llu KiB", (unsigned long long)limit.rlim_max / 1024);
}

/* Of krait's control group, or one above it. */
static void check_memory(struct findings *f)
{
	char text[16384], group[256];
	unsigned long long max;

	if (proc_read(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) <= 0)
		return;
	max = cgroup_memory_limit(text, "/sys/fs/cgroup", group, sizeof(group));
	if (!max || max >= MEMORY_WANTED)
		findings_add(f, FINDING_OK, "memory", NULL, NULL, "no limit that matters");
	else
		findings_add(f, FINDING_LIMITED, "memory",
			     "the kernel may kill krait while it records many processes",
			     "give krait's control group 256 MiB or more",
			     "its control group %s is limited to %llu MiB", group, max >> 20);
}

void checks_rights(struct findings *f)
{
	if (own_is()) {
		findings_add(
			f, FINDING_OK, "service", NULL, NULL,
			"it lets you record your own processes; others, and what else it does not serve, "
			"need sudo");
		return;
	}
	check_capabilities(f);
	check_namespaces(f);
	check_seccomp(f);
	check_locked_memory(f);
	check_memory(f);
}
