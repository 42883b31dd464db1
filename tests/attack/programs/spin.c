// SPDX-License-Identifier: BSD-2-Clause
/*
 * spin COUNT: so many threads, each of which wants a CPU.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *spin(void *arg)
{
	for (volatile unsigned long i = 0;; i++)
		;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 1; i < atoi(argv[1]); i++)
		if (pthread_create(&thread, &small, spin, NULL))
			return 2;
	puts("READY");
	fflush(stdout);
	spin(NULL);
}
