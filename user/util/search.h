/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * search.h - binary search in what is sorted, whatever it is a list of.
 *
 *	size_t behind = sorted_below(cnt, i, list[i].start <= addr);
 *
 *	return behind ? &list[behind - 1] : NULL;
 *
 * Must hold: the condition is true of some at the front, perhaps none, and false of all behind them.
 */
#ifndef KRAIT_UTIL_SEARCH_H
#define KRAIT_UTIL_SEARCH_H

#include <stddef.h>

/* How many of cnt elements, from the first on, the condition on element i is true of. */
#define sorted_below(cnt, i, condition)                                                            \
	({                                                                                         \
		size_t low_ = 0, high_ = (cnt);                                                    \
                                                                                                   \
		while (low_ < high_) {                                                             \
			const size_t i = low_ + (high_ - low_) / 2;                                \
                                                                                                   \
			if (condition)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

#endif /* KRAIT_UTIL_SEARCH_H */
