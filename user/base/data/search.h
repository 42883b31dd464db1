/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * search.h - binary search in anything sorted.
 *
 * 	size_t behind = sorted_below(cnt, i, list[i].start <= addr);
 *
 * 	return behind ? &list[behind - 1] : NULL;
 *
 * Must hold: the condition is true for some elements at the front (perhaps none) and false for all
 * after them.
 */
#ifndef KRAIT_BASE_DATA_SEARCH_H
#define KRAIT_BASE_DATA_SEARCH_H

#include <stddef.h>

/* Returns how many of cnt elements at the front satisfy the condition on element i. */
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

#endif /* KRAIT_BASE_DATA_SEARCH_H */
