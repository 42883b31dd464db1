/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_roles.h - for programs that start workers of krait: they are themselves what is started.
 */
#ifndef KRAIT_SUPPORT_ROLES_H
#define KRAIT_SUPPORT_ROLES_H

#include <unistd.h>

#include "cmd/roles.h"
#include "worker/role.h"

/* The first thing that main() does. Does not come back in a worker. */
static inline void become_worker(char **argv)
{
	const struct role *role = roles_find(argv[0]);

	if (role)
		_exit(role_main(role));
}

#endif /* KRAIT_SUPPORT_ROLES_H */
