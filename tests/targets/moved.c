// SPDX-License-Identifier: BSD-2-Clause
/*
 * Moves the code of the file whose path contains MOVED_CODE into anonymous memory at the same
 * addresses, as programs do that want huge pages for it. Preloaded: when the program begins, or in a
 * thread MOVED_AFTER_MS later.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void move(unsigned long start, unsigned long end)
{
	size_t size = end - start;
	char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		abort();
	memcpy(copy, (void *)start, size);
	if (mprotect(copy, size, PROT_READ | PROT_EXEC) ||
	    mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) == MAP_FAILED)
		abort();
}

static void move_named(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, from = 0, to = 0;
	char line[4096], prot[5];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %4s", &start, &end, prot) == 3 && prot[2] == 'x' &&
		    strstr(line, name)) {
			from = start;
			to = end;
		}
	}
	if (maps)
		fclose(maps);
	if (to > from)
		move(from, to);
}

static void *move_later(void *milliseconds)
{
	usleep(1000 * (unsigned)atoi(milliseconds));
	move_named(getenv("MOVED_CODE"));
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	char *name = getenv("MOVED_CODE"), *after = getenv("MOVED_AFTER_MS");
	pthread_t thread;

	if (name && after)
		pthread_create(&thread, NULL, move_later, after);
	else if (name)
		move_named(name);
}
