/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_cost.c - the cost of reading how a file's code is unwound: prints "MS ROWS BYTES FILE_BYTES"
 * for each named file: CPU time, the median of a few runs, and the bytes for the kernel's tables.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "native/rows/elf_rows.h"

#define TIMES 5

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int measure(const char *path)
{
	double ms[TIMES];
	unsigned long long rows = 0, bytes = 0;
	int err = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		return 1;
	}
	for (unsigned i = 0; i < TIMES && !err; i++) {
		struct row_table t = { 0 };
		double begin = cpu_ms();

		err = elf_rows(fd, &t);
		ms[i] = cpu_ms() - begin;
		rows = t.row_cnt;
		bytes = 4ULL * t.row_cnt + 8ULL * t.page_cnt +
			(unsigned long long)t.rule_cnt * sizeof(struct unwind_rule);
		row_table_free(&t);
	}
	close(fd);
	if (err) {
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
		return 1;
	}
	qsort(ms, TIMES, sizeof(ms[0]), compare);
	printf("%.1f %llu %llu %llu\n", ms[TIMES / 2], rows, bytes, (unsigned long long)st.st_size);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= measure(argv[i]);
	return failed;
}
