/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stubs.c - a library that is nearly always on its way into or out of a small function of the C
 * library, for stubs.py. Without -fno-plt each call goes through a stub.
 */
#include <stdlib.h>

long calls(long n);

long calls(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += labs(i) + abs((int)i) + llabs(i);
	return sum;
}
