/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare.h - compares numbers, for comparison functions.
 */
#ifndef KRAIT_BASE_DATA_COMPARE_H
#define KRAIT_BASE_DATA_COMPARE_H

/* Less than, equal to or greater than 0, without overflow; chains with ?: to what decides next. */
#define compare_numbers(a, b) (((a) > (b)) - ((a) < (b)))

#endif /* KRAIT_BASE_DATA_COMPARE_H */
