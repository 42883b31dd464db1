/* SPDX-License-Identifier: BSD-2-Clause */
#include "perfdata/kernel_modules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

/* "ext4 1130496 1 - Live 0xffffffffc0a00000 (E)" */
static bool parse_line(const char *line, struct kernel_module *ret)
{
	unsigned long long size, start;
	char name[sizeof(ret->name) - 2];

	if (sscanf(line, "%61s %llu %*u %*s Live 0x%llx", name, &size, &start) != 3 || !size ||
	    !start || start > ~0ULL - size)
		return false;
	ret->start = start;
	ret->size = size;
	snprintf(ret->name, sizeof(ret->name), "[%s]", name);
	return true;
}

int kernel_modules_read(struct kernel_module **ret, const char *path)
{
	cleanup_fclose FILE *f = fopen(path, "re");
	struct kernel_module *list = NULL, *grown, module;
	int cnt = 0, cap = 0;
	/* The users of a module are all on its line; none is as long. */
	char line[8192];

	if (!f)
		return -errno;
	while (cnt < KERNEL_MODULES_MAX && fgets(line, sizeof(line), f)) {
		if (!parse_line(line, &module))
			continue;
		if (cnt == cap) {
			cap = cap ? cap * 2 : 64;
			grown = reallocarray(list, (size_t)cap, sizeof(*list));
			if (!grown) {
				free(list);
				return -ENOMEM;
			}
			list = grown;
		}
		list[cnt++] = module;
	}
	*ret = list;
	return cnt;
}
