/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/starting.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOMENT_NS 500000000L
#define TEXT "krait: starting..."
#define ERASE_LINE "\r\033[K"

struct starting {
	int fd;
	bool over, said; /* protected by the lock */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t end;
};

static void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		return; /* the terminal has gone */
}

static void *starting_main(void *arg)
{
	struct starting *s = arg;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += MOMENT_NS;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	pthread_mutex_lock(&s->lock);
	while (!s->over && pthread_cond_timedwait(&s->end, &s->lock, &until) != ETIMEDOUT)
		;
	if (!s->over) {
		say(s->fd, TEXT);
		s->said = true;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct starting *starting__new(int fd)
{
	struct starting *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return NULL;
	s->fd = fd;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->end, &attr);
	pthread_condattr_destroy(&attr);
	if (!pthread_create(&s->thread, NULL, starting_main, s))
		return s;
	pthread_cond_destroy(&s->end);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

void starting__free(struct starting *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->over = true;
	pthread_cond_signal(&s->end);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	if (s->said)
		say(s->fd, ERASE_LINE);
	pthread_cond_destroy(&s->end);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
