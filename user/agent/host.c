/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host.h"

#include <stdio.h>
#include <string.h>

#include "base/data/cleanup.h"

void host_read(struct host *ret)
{
	cleanup_fclose FILE *f = fopen("/etc/machine-id", "re");

	memset(ret, 0, sizeof(*ret));
	uname(&ret->uts);
	if (!f || !fgets(ret->id, sizeof(ret->id), f) ||
	    strspn(ret->id, "0123456789abcdef") != sizeof(ret->id) - 1)
		ret->id[0] = '\0';
}
