// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that claims to be CPython 3.15 (tests/targets/fake_runtime.c) and has very many
 * mappings.
 *
 *   maps many FILE COUNT PROCESSES   of one file, executable; then sleeps, as so many processes: a
 *                                    fork copies mappings in a tenth of the time that making them takes
 *   maps change FILE COUNT           likewise, alone, and changes one of them all the time while it works
 */
#define main fake_main
#include "../../targets/fake_runtime.c"
#undef main

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096UL

static char *map_one(int fd, char *at, int index)
{
	/* Neighbours never merge: each maps a different place of the file than the one before. */
	return mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd,
		    index % 2 ? 0 : (off_t)(2 * PAGE));
}

static void ready(void)
{
	puts("READY");
	fflush(stdout);
}

/* Does not return. */
static void sleep_as(int processes)
{
	pid_t child = 1;

	for (int i = 1; i < processes && child > 0; i++)
		child = fork();
	if (child < 0) {
		perror("fork");
		_exit(2);
	}
	if (child)
		ready();
	else
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int fd = argc > 3 ? open(argv[2], O_RDONLY) : -1, cnt = argc > 3 ? atoi(argv[3]) : 0;
	char *area;

	make_sound();
	_PyRuntime[HEAD / 8] = addr(interp);
	area = mmap(NULL, PAGE * (unsigned long)(cnt + 1), PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (int i = 0; i < cnt; i++) {
		if (map_one(fd, area + PAGE * (unsigned long)i, i) == MAP_FAILED) {
			perror("mmap");
			return 2;
		}
	}
	if (!strcmp(argv[1], "many"))
		sleep_as(argc > 4 ? atoi(argv[4]) : 1);
	ready();
	for (int i = 0;; i++) {
		char *at = area + PAGE * (unsigned long)cnt;

		map_one(fd, at, i & 1);
		for (volatile int n = 0; n < 1000000; n++)
			;
		munmap(at, PAGE);
		mmap(at, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
}
