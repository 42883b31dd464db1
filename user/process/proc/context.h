/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * context.h - whose a process is and where it runs: user, pid in its own namespace, control group,
 * container, script. Read once per process, from /proc.
 *
 * Must hold: the process or its starter chooses all of it. Strings are truncated to fit and may
 * contain any bytes: pass them through printable() before showing them.
 */
#ifndef KRAIT_PROCESS_PROC_CONTEXT_H
#define KRAIT_PROCESS_PROC_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "process/proc/cgroup.h"

/* Bytes of /proc/PID/cgroup to look at: enough for 13 hierarchies with paths of ordinary length. */
#define CGROUP_TEXT_MAX 8192

#define CONTEXT_COMMAND "-c"

struct context {
	bool known; /* the process still existed */
	uid_t uid; /* effective */
	pid_t ns_pid; /* as the process itself sees it; 0 unknown */
	struct container container;
	char cgroup[192];
	/* path of the script, or module name after -m; CONTEXT_COMMAND: python -c ...; "": none, or not known */
	char script[128];
};

/*
 * Fills *ret from dir, /proc/PID (proc.h); what cannot be read stays empty. cgroup_text, if not NULL,
 * gets the whole file. alone: it is known that its executable is nothing but an interpreter;
 * otherwise the name tells.
 */
void context_read_at(int dir, bool alone, struct context *ret, char cgroup_text[CGROUP_TEXT_MAX])
	__attribute__((nonnull(3)));

/* Reads Uid and NSpid from such a file. */
void context_parse_status(const char *text, struct context *ret) __attribute__((nonnull));

/*
 * What a process with these arguments (each followed by a NUL) runs. An interpreter's command line
 * has a script or a module in a certain place; so has the rest of one that a loader or an emulator
 * runs (exe: its executable). That of a program which embeds Python may name a file of Python.
 */
void context_parse_arguments(const char *args, size_t len, const char *exe, bool alone, char *ret,
			     size_t size) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PROC_CONTEXT_H */
