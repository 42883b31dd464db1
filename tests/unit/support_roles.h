/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_roles.h - for test programs that start krait's workers: the worker is the test program
 * itself.
 */
#ifndef KRAIT_SUPPORT_ROLES_H
#define KRAIT_SUPPORT_ROLES_H

#include <unistd.h>

#include "cmd/roles.h"
#include "base/worker/role.h"

/* Call first in main(). Does not return in a worker. */
static inline void become_worker(char **argv)
{
	const struct role *role = roles_find(argv[0]);

	if (role)
		_exit(role_main(role));
}

#endif /* KRAIT_SUPPORT_ROLES_H */
