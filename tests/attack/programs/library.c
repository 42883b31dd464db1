// SPDX-License-Identifier: BSD-2-Clause
/*
 * A library whose code is on the stack when it is sampled. -DSYMBOL=text sets its function's name.
 */
#ifndef SYMBOL
#define SYMBOL "library_spin"
#endif

static volatile long counter;

long spin(long ms) __asm__(SYMBOL);
__attribute__((noinline)) long spin(long ms)
{
	for (long i = 0; i < ms * 200000; i++)
		counter += 3;
	return counter;
}

/* More functions, for new lookups once the file has changed. */
#define OTHER(n)                                                                                   \
	__attribute__((noinline)) long spin_##n(long ms)                                           \
	{                                                                                          \
		for (long i = 0; i < ms * 200000; i++)                                             \
			counter += n;                                                              \
		return counter;                                                                    \
	}
OTHER(1) OTHER(2) OTHER(3) OTHER(4) OTHER(5) OTHER(6) OTHER(7) OTHER(8)
