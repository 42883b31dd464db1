/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * become_user.h - takes on the ids of a process, in a child that creates files as that process's
 * user. The user could have created them himself, so nothing that he puts in the way gives him more
 * than he has.
 */
#ifndef KRAIT_PROCESS_PROC_BECOME_USER_H
#define KRAIT_PROCESS_PROC_BECOME_USER_H

#include "process/proc/proc.h"

/* Irreversible; capabilities stay what setuid() leaves. Returns 0 or -errno. */
int become_user(const struct proc_ids *ids) __attribute__((warn_unused_result, nonnull));
/* The host id of uid 0 in the user namespace of the process with that /proc folder; 0 unknown. */
uid_t become_user_root_of(int dir);

#endif /* KRAIT_PROCESS_PROC_BECOME_USER_H */
