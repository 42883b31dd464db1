/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * privileges.h - what a recording gives up once it has begun, however it was started.
 *
 * Three sets: what krait uses all the time stays effective; what it needs briefly only stays
 * permitted and is borrowed; everything else is gone for good, even for programs that krait
 * executes. Workers that need other rights at their start (process/parser/parser.h) are started before.
 *
 * Must hold: nothing here adds a right. A launched command is forked before and keeps all that it
 * would have without krait.
 */
#ifndef KRAIT_BASE_SYSTEM_PRIVILEGES_H
#define KRAIT_BASE_SYSTEM_PRIVILEGES_H

#include <stdbool.h>
#include <sys/capability.h>

struct privileges_need {
	bool sampling; /* BPF programs and perf events will be loaded */
	bool probes; /* in programs' code, which are root's */
	bool command; /* a command was launched, and krait may have to kill it */
};

/*
 * Affects the calling thread and those it starts, so call it before starting any. Keeps only the
 * needed rights; sets no_new_privs, no core file, not dumpable. Returns 0 or -errno.
 */
int privileges_drop(const struct privileges_need *need) __attribute__((warn_unused_result));

/* Has this process that right, in that set? */
bool privileges_has(cap_value_t cap, cap_flag_t set);

/* The number in /proc/sys/kernel/NAME; fallback if it cannot be read. */
long sysctl_kernel(const char *name, long fallback) __attribute__((nonnull));

/* Does this kernel let only CAP_SYS_ADMIN open perf events (kernel.perf_event_paranoid is 3, as on Debian)? */
bool privileges_events_need_admin(void);

/* kernel.yama.ptrace_scope; -1: this kernel has none; 3 also if it cannot be read. */
int privileges_scope(void);

/*
 * Makes a permitted right effective for this thread until it is given back. Does nothing if it is
 * already effective or not permitted.
 */
struct privileges_loan {
	int cap; /* CAP_* */
	bool taken;
};

struct privileges_loan privileges_borrow(int cap);
/* Keeps errno. */
void privileges_give_back(struct privileges_loan *loan);
#define cleanup_loan __attribute__((cleanup(privileges_give_back)))

#endif /* KRAIT_BASE_SYSTEM_PRIVILEGES_H */
