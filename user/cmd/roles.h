/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roles.h - the list of all roles of workers (base/worker/role.h).
 */
#ifndef KRAIT_CMD_ROLES_H
#define KRAIT_CMD_ROLES_H

struct role;

/* Returns the role that argv[0] names; NULL: krait was started by its user. */
const struct role *roles_find(const char *argv0);

#endif /* KRAIT_CMD_ROLES_H */
