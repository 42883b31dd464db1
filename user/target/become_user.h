/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * become_user.h - takes on the ids of a process, for a child that makes files as that process's user: who
 * could have made them himself, so nothing that he has put in the way leads to more than he has.
 */
#ifndef KRAIT_TARGET_BECOME_USER_H
#define KRAIT_TARGET_BECOME_USER_H

#include "target/proc.h"

/* For good; capabilities stay what setuid() leaves. 0 or -errno. */
int become_user(const struct proc_ids *ids) __attribute__((warn_unused_result, nonnull));
/* The host id of uid 0 in the user namespace of the process of that folder; 0 where that cannot be told. */
uid_t become_user_root_of(int dir);

#endif /* KRAIT_TARGET_BECOME_USER_H */
