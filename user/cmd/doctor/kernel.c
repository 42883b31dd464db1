/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/doctor/checks.h"
#include "cmd/doctor/findings.h"
#include "process/proc/proc.h"
#include "base/data/cleanup.h"
#include "base/system/privileges.h"

/* The default rate of "krait record". */
#define USUAL_HZ 997

static void check_version(struct findings *f)
{
	struct utsname host;

	if (!uname(&host))
		findings_add(f, FINDING_OK, "kernel", NULL, NULL, "%s, %s", host.release,
			     host.machine);
}

static void check_types(struct findings *f)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		findings_add(f, FINDING_OK, "type information", NULL, NULL,
			     "/sys/kernel/btf/vmlinux");
	else
		findings_add(
			f, FINDING_BROKEN, "type information",
			"krait cannot fit its programs to this kernel",
			"boot a kernel with CONFIG_DEBUG_INFO_BTF=y (distributions' from 5.10)",
			"/sys/kernel/btf/vmlinux: %s", strerror(errno));
}

static void check_lockdown(struct findings *f)
{
	char text[128];
	ssize_t len = proc_read(AT_FDCWD, "/sys/kernel/security/lockdown", text, sizeof(text));

	if (len > 0 && strstr(text, "[confidentiality]"))
		findings_add(f, FINDING_BROKEN, "lockdown", "no BPF program can read memory",
			     "boot with lockdown=integrity", "confidentiality");
	else
		findings_add(f, FINDING_OK, "lockdown", NULL, NULL, "%s",
			     len > 0 && strstr(text, "[integrity]") ? "integrity, which is fine" :
								      "none");
}

static void check_paranoia(struct findings *f)
{
	long level = sysctl_kernel("perf_event_paranoid", 2);

	/* Level 3 of Debian and Android requires CAP_SYS_ADMIN, which root has. */
	if (level > 2 && geteuid())
		findings_add(f, FINDING_LIMITED, "perf_event_paranoid",
			     "CAP_PERFMON alone is not enough at this level",
			     "sysctl kernel.perf_event_paranoid=2", "%ld", level);
	else
		findings_add(f, FINDING_OK, "perf_event_paranoid", NULL, NULL, "%ld", level);
}

static void check_rate(struct findings *f)
{
	long rate = sysctl_kernel("perf_event_max_sample_rate", 100000);

	if (rate < USUAL_HZ)
		findings_add(f, FINDING_LIMITED, "sampling rate",
			     "record refuses its usual 997 samples a second",
			     "sysctl kernel.perf_event_max_sample_rate=100000",
			     "the kernel allows %ld samples a second", rate);
	else
		findings_add(f, FINDING_OK, "sampling rate", NULL, NULL, "up to %ld a second",
			     rate);
}

static void check_ptrace(struct findings *f)
{
	long scope = sysctl_kernel("yama/ptrace_scope", 0);

	if (scope > 2)
		findings_add(f, FINDING_BROKEN, "ptrace_scope",
			     "nobody can read a process's memory, not even root",
			     "boot without kernel.yama.ptrace_scope=3 (it cannot be lowered)",
			     "%ld", scope);
	else if (scope && geteuid())
		findings_add(f, FINDING_LIMITED, "ptrace_scope",
			     "without CAP_SYS_PTRACE krait can read only its own children",
			     "run krait with sudo", "%ld", scope);
	else
		findings_add(f, FINDING_OK, "ptrace_scope", NULL, NULL, "%ld", scope);
}

/* The first symbol has a nonzero address if addresses are shown. */
static void check_symbols(struct findings *f)
{
	cleanup_fclose FILE *symbols = fopen("/proc/kallsyms", "re");
	unsigned long long addr = 0, highest = 0;
	char line[256];

	for (int i = 0; symbols && i < 64 && fgets(line, sizeof(line), symbols); i++)
		if (sscanf(line, "%llx", &addr) == 1 && addr > highest)
			highest = addr;
	if (highest)
		findings_add(f, FINDING_OK, "kernel symbols", NULL, NULL, "/proc/kallsyms");
	else
		findings_add(f, FINDING_LIMITED, "kernel symbols",
			     "the kernel's functions have no names",
			     "sysctl kernel.kptr_restrict=1, and run krait with sudo",
			     "/proc/kallsyms shows no addresses (kptr_restrict is %ld)",
			     sysctl_kernel("kptr_restrict", 0));
}

static void check_counters(struct findings *f)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		findings_add(f, FINDING_OK, "hardware counters", NULL, NULL, "cycles");
		return;
	}
	findings_add(f, FINDING_LIMITED, "hardware counters",
		     "-e cycles and the like do not work; cpu-clock, the usual event, does",
		     errno == EACCES || errno == EPERM ? "run krait with sudo" : NULL, "%s",
		     errno == ENOENT || errno == EOPNOTSUPP ? "none, as on most virtual machines" :
							      strerror(errno));
}

static void check_debuginfod(struct findings *f)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && *urls)
		findings_add(f, FINDING_OK, "debuginfod", NULL, NULL, "%s", urls);
	else
		findings_add(f, FINDING_OK, "debuginfod", NULL, NULL,
			     "not asked: DEBUGINFOD_URLS is not set");
}

void checks_kernel(struct findings *f)
{
	check_version(f);
	check_types(f);
	check_lockdown(f);
	check_paranoia(f);
	check_rate(f);
	check_ptrace(f);
	check_symbols(f);
	check_counters(f);
	check_debuginfod(f);
}
