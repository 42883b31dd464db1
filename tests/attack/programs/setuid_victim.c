// SPDX-License-Identifier: BSD-2-Clause
/*
 * A setuid program with a page where late_page.c has its thread state; reports whether somebody has
 * written there.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define AT 0x10000000UL

int main(void)
{
	uint64_t *page = mmap((void *)AT, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	int changed = 0;

	memset(page, 0x55, PAGE);
	for (int ms = 0; ms < 600 && !changed; ms++) {
		for (unsigned i = 0; i < PAGE / 8; i++)
			changed |= ((volatile uint64_t *)page)[i] != 0x5555555555555555;
		usleep(1000);
	}
	printf("VICTIM euid %d %s\n", (int)geteuid(), changed ? "WRITTEN" : "untouched");
	return 0;
}
