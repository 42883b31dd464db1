/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handover.c - threads that leave the CPU as often as requested, called from Python by switches.py.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include <unistd.h>

/* Turns between two readings of the clock, so that these hardly count in the measurement. */
#define TURNS 64

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Passes a byte on and waits for it. Two such threads make four switches per turn on one CPU. */
static int turn(int in, int out)
{
	char c = 0;

	return write(out, &c, 1) == 1 && read(in, &c, 1) == 1;
}

/* Sleeps so as to make so many turns a second; 0: as many as possible. *count: turns so far. */
int hand_over(int in, int out, double turns_a_second, volatile unsigned long long *count)
{
	double next = now();

	for (;;) {
		for (int i = 0; i < TURNS; i++)
			if (!turn(in, out))
				return 0;
		*count += TURNS;
		next += turns_a_second > 0 ? TURNS / turns_a_second : 0;
		if (turns_a_second <= 0 || now() >= next)
			continue;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
				&(struct timespec){ (time_t)next,
						    (long)((next - (double)(time_t)next) * 1e9) },
				NULL);
	}
}

int give_back(int in, int out)
{
	char c;

	while (read(in, &c, 1) == 1)
		if (write(out, &c, 1) != 1)
			break;
	return 0;
}

/* Two threads on one CPU that keep yielding it to each other, always ready to run. */
int yield_for_ever(volatile unsigned long long *count)
{
	for (;;) {
		for (int i = 0; i < TURNS; i++)
			sched_yield();
		*count += TURNS / 2;
	}
}
