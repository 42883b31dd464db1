/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare.h - compares numbers, for comparison functions.
 */
#ifndef KRAIT_BASE_DATA_COMPARE_H
#define KRAIT_BASE_DATA_COMPARE_H

/* Returns < 0, 0 or > 0, without overflow. */
static inline int compare_int(int a, int b)
{
	return (a > b) - (a < b);
}

#endif /* KRAIT_BASE_DATA_COMPARE_H */
