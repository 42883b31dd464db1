/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nested.c - a library whose functions call each other and of which only the first has a symbol:
 * stripped, with frame pointers.
 */
static volatile unsigned long sink;

static __attribute__((noinline)) void innermost(unsigned long n)
{
	while (n--)
		sink += n;
}

static __attribute__((noinline)) void middle(unsigned long n)
{
	innermost(n);
	sink++;
}

static __attribute__((noinline)) void outer(unsigned long n)
{
	middle(n);
	sink++;
}

void nested(unsigned long n)
{
	outer(n);
	sink++;
}
