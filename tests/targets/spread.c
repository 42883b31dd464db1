/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spread.c - a library that spreads a call over threads of its own, for spread.py.
 */
#include <pthread.h>
#include <time.h>

#define MAX 8

void spread(long ms, int threads);

static volatile long sink;

static void *part(void *arg)
{
	const long ns = *(const long *)arg;
	struct timespec now;

	do {
		for (int i = 0; i < 20000; i++)
			sink += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000000000L + now.tv_nsec < ns);
	return NULL;
}

/* Each thread computes so long; the caller waits for them. */
void spread(long ms, int threads)
{
	pthread_t list[MAX];
	long ns = ms * 1000000;

	for (int i = 0; i < threads && i < MAX; i++)
		pthread_create(&list[i], NULL, part, &ns);
	for (int i = 0; i < threads && i < MAX; i++)
		pthread_join(list[i], NULL);
}
