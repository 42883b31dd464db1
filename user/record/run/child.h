/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * child.h - a command that krait launches and records.
 *
 * The child exists, and can be followed, before it executes anything: child__launch() leaves it
 * waiting, child__go() lets it exec. krait never signals it, except in child__stop().
 */
#ifndef KRAIT_RECORD_RUN_CHILD_H
#define KRAIT_RECORD_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child;
struct error;
struct priority;
struct rlimit;

/*
 * mask, files, priority: signal mask, limit and priority that the command gets. NULL with *err
 * filled. The code that the child runs before exec is safe even while other threads run.
 */
struct child *child__launch(char *const argv[], const sigset_t *mask, const struct rlimit *files,
			    const struct priority *priority, struct error *err);
/* Fails, with *err filled and the shell's code 126 or 127, if the command cannot be executed. */
int child__go(struct child *c, struct error *err) __attribute__((warn_unused_result));
void child__free(struct child *c);

pid_t child__pid(const struct child *c);
/* Readable when the child has ended. */
int child__fd(const struct child *c);
/* Reaps the child if it has ended, waiting at most timeout_ms. True when it has ended. */
bool child__ended(struct child *c, int timeout_ms);
/*
 * Sends it that signal and waits up to timeout_ms for its end; the command may ignore the signal.
 * True when it has ended.
 */
bool child__stop(struct child *c, int signal, int timeout_ms);
/* Its exit code, 128 + n for signal n; valid once ended. */
int child__exit_code(const struct child *c);

#endif /* KRAIT_RECORD_RUN_CHILD_H */
