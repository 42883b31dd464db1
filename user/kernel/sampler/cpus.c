/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cpu_list_parse(const char *text, int *ret_cpus, int max)
{
	int cnt = 0;

	while (*text && *text != '\n') {
		char *end;
		long first = strtol(text, &end, 10), last = first;

		if (end == text || first < 0)
			return -EINVAL;
		if (*end == '-') {
			text = end + 1;
			last = strtol(text, &end, 10);
			if (end == text || last < first)
				return -EINVAL;
		}
		if (last > INT_MAX)
			return -EINVAL;
		for (long cpu = first; cpu <= last; cpu++) {
			if (cnt == max)
				return -EINVAL;
			ret_cpus[cnt++] = cpu;
		}
		if (*end == ',')
			end++;
		else if (*end && *end != '\n')
			return -EINVAL;
		text = end;
	}
	return cnt;
}

int cpus_read_online(char ret[CPU_LIST_MAX])
{
	/* It is read several times a second, so it stays open: from its beginning on it is made anew. */
	static int fd = -1;
	ssize_t n;

	if (fd < 0)
		fd = open(CPUS_ONLINE, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, ret, CPU_LIST_MAX - 1, 0);
	if (n <= 0)
		return -ENOENT;
	ret[n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

int cpus_online(char text[CPU_LIST_MAX], int *ret_cpus, int max)
{
	int err = cpus_read_online(text);

	return err ? err : cpu_list_parse(text, ret_cpus, max);
}

bool cpus_have(const int *cpus, int cnt, int cpu)
{
	for (int i = 0; i < cnt; i++) {
		if (cpus[i] == cpu)
			return true;
	}
	return false;
}
