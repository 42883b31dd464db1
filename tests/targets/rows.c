/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.c - a library without frame pointers, for rows.py: it is loaded during a recording.
 */
#define SINK(x) __asm__ volatile("" : : "r"(x))

__attribute__((noinline)) static unsigned long turn(unsigned long n)
{
	unsigned long x = n;

	for (int i = 0; i < 100000; i++)
		x = x * 6364136223846793005UL + 1;
	SINK(x);
	return x;
}

__attribute__((noinline)) static unsigned long level(unsigned long n)
{
	volatile char room[200];

	room[n % sizeof(room)] = 1;
	return turn(n) + (unsigned long)room[n % sizeof(room)];
}

unsigned long work(unsigned long turns)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < turns; i++)
		sum += level(i);
	return sum;
}
