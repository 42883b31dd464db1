/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own.h - a krait that krait broker has started for an ordinary user (cmd/broker/recorder.h): it has that
 * user's ids, and of rights only those for BPF programs and perf events. It samples only threads that the
 * user could trace (task_is_own() in bpf/kernel_task.h).
 *
 * "krait --own COMMAND ..." makes it one. Anybody may start it so: it gets no right by that.
 */
#ifndef KRAIT_BASE_WORKER_OWN_H
#define KRAIT_BASE_WORKER_OWN_H

#include <stdbool.h>
#include <sys/types.h>

#define OWN_WORD "--own"
/* The same for a user whom the administrator lets see the whole machine: with the rights for that. */
#define OWN_ALL_WORD "--own-all"
/* The same, of the broker's: it becomes that when there is somebody to record for (cmd/broker/spare.h). */
#define OWN_SPARE_WORD "--spare"
/* Gets a byte when samples are taken. */
#define OWN_BEGAN_FD 3
/* The opener (process/memory/opener.h), if there is one: then its probers get it, too. */
#define OWN_OPENER_FD 4

/* False: this process has several ids, or is root's. */
bool own_begin(bool all) __attribute__((warn_unused_result));
/* This process has no user's ids yet, but will. */
void own_expect(void);
bool own_is(void);
/* It is one, and sees only its user's processes. */
bool own_only(void);
/* If it is one: is that uid another user's, of whom nothing is told? */
bool own_is_foreign(uid_t uid);
/* Tells the broker. */
void own_began(void);

#endif /* KRAIT_BASE_WORKER_OWN_H */
