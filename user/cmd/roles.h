/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roles.h - what a worker can be (worker/role.h), all of it.
 */
#ifndef KRAIT_CMD_ROLES_H
#define KRAIT_CMD_ROLES_H

struct role;

/* The role that argv[0] names, or NULL: krait as its user starts it. */
const struct role *roles_find(const char *argv0);

#endif /* KRAIT_CMD_ROLES_H */
