/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * privileges.h - what a recording gives up once it has begun, however it was started.
 *
 * Three sets: what krait uses all the time is effective; what it needs for moments only stays permitted
 * and is borrowed; all else is gone for good, also for what krait may execute. Workers that need other
 * rights to start with (target/parser.h) are started before.
 *
 * Must hold: nothing here adds a right. A command that krait launches is forked before, and so has all
 * that it would have without krait.
 */
#ifndef KRAIT_UTIL_PRIVILEGES_H
#define KRAIT_UTIL_PRIVILEGES_H

#include <stdbool.h>

struct privileges_need {
	bool sampling; /* BPF programs and perf events are going to be loaded */
	bool command; /* one has been launched, and krait may have to end it */
};

/*
 * For the calling thread and those that it starts, so before any other: keeps what is needed of the
 * rights that it has; no_new_privs, no core file, not dumpable. 0 or -errno.
 */
int privileges_drop(const struct privileges_need *need) __attribute__((warn_unused_result));

/*
 * Of those that stay permitted: makes one effective for this thread until it is given back, where it is
 * not effective already and the thread may have it.
 */
struct privileges_loan {
	int cap; /* CAP_* */
	bool taken;
};

struct privileges_loan privileges_borrow(int cap);
/* Keeps errno. */
void privileges_give_back(struct privileges_loan *loan);
#define cleanup_loan __attribute__((cleanup(privileges_give_back)))

#endif /* KRAIT_UTIL_PRIVILEGES_H */
