/* SPDX-License-Identifier: BSD-2-Clause */
#include "perfdata/kernel_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

/* Of one read: each costs a search for where the one before ended. */
#define PIECE 65536

int kernel_text_find(__u64 *ret_start, __u64 *ret_size)
{
	cleanup_free char *piece = malloc(PIECE);
	cleanup_fclose FILE *f = fopen("/proc/kallsyms", "re");
	__u64 start = 0, end = 0;
	char line[512];

	if (!f)
		return -errno;
	if (piece)
		setvbuf(f, piece, _IOFBF, PIECE);
	while (!end && fgets(line, sizeof(line), f)) {
		char *name = strrchr(line, ' ');

		if (!name || name[1] != '_')
			continue;
		if (!start && !strcmp(name, " _text\n"))
			start = strtoull(line, NULL, 16);
		else if (!strcmp(name, " _etext\n"))
			end = strtoull(line, NULL, 16);
	}
	if (!start || end <= start)
		return -EACCES;
	*ret_start = start;
	*ret_size = end - start;
	return 0;
}
