/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/resident.h"

#include <stdio.h>
#include <unistd.h>

#include "base/data/cleanup.h"

__u64 resident_bytes(pid_t pid)
{
	cleanup_fclose FILE *f = NULL;
	unsigned long long pages = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (__u64)sysconf(_SC_PAGESIZE);
}
