/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * context.h - whose a process is and where it runs: user, pid in its own namespace, control group,
 * container, script. Read once per process, from /proc.
 *
 * Must hold: all of it is chosen by the process or its starter. Strings are cut to fit and may hold
 * any bytes: they pass through printable() before they are shown.
 */
#ifndef KRAIT_TARGET_CONTEXT_H
#define KRAIT_TARGET_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "target/cgroup.h"

/* Bytes of /proc/PID/cgroup that are looked at: 13 hierarchies with paths of ordinary length. */
#define CGROUP_TEXT_MAX 8192

struct context {
	bool known; /* the process was still there */
	uid_t uid; /* effective */
	pid_t ns_pid; /* as the process sees it itself; 0 unknown */
	struct container container;
	char cgroup[192];
	char script[128]; /* path of the script, or name of the module after -m; "" none */
};

/* Fills *ret; what cannot be read stays empty. cgroup_text, if not NULL, gets the whole file. */
void context_read(pid_t pid, struct context *ret, char cgroup_text[CGROUP_TEXT_MAX])
	__attribute__((nonnull(2)));

/* The same relative to /proc/PID (proc.h). */
void context_read_at(int dir, struct context *ret, char cgroup_text[CGROUP_TEXT_MAX])
	__attribute__((nonnull(2)));

/* Uid and NSpid of such a file. */
void context_parse_status(const char *text, struct context *ret) __attribute__((nonnull));

/* What an interpreter with these arguments (each with a NUL behind it) runs. */
void context_parse_arguments(const char *args, size_t len, char *ret, size_t size)
	__attribute__((nonnull));

#endif /* KRAIT_TARGET_CONTEXT_H */
