/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vec.h - growing arrays: a pointer, a count and a capacity, of any types.
 *
 * 	struct place *list;
 * 	__u32 cnt, cap;
 *
 * 	if (vec_reserve(x->list, x->cap, x->cnt + 1))
 * 		return -ENOMEM;
 * 	x->list[x->cnt++] = *place;
 *
 * Initially all zero: empty; free() frees the list. The capacity doubles, so appending is linear
 * overall.
 *
 * Must hold: if memory runs out, the array is unchanged. New elements are uninitialised and
 * untouched: the unused half of a large array costs nothing.
 */
#ifndef KRAIT_BASE_DATA_VEC_H
#define KRAIT_BASE_DATA_VEC_H

#include <errno.h>
#include <stdlib.h>

#define VEC_MIN_CAP 16

static inline size_t vec_next_cap(size_t cap, size_t need)
{
	size_t next = cap ? cap * 2 : VEC_MIN_CAP;

	return next < need ? need : next;
}

/*
 * Makes room for so many elements. Returns 0 or -ENOMEM, also if the number does not fit the type
 * of cap.
 */
#define vec_reserve(list, cap, need)                                                               \
	((size_t)(need) <= (size_t)(cap) ? 0 : ({                                                  \
		size_t next_ = vec_next_cap((cap), (need));                                        \
		void *grown_ = (size_t)(__typeof__(cap))next_ != next_ ?                           \
				       NULL :                                                      \
				       reallocarray((list), next_, sizeof(*(list)));               \
                                                                                                   \
		if (grown_) {                                                                      \
			(list) = grown_;                                                           \
			(cap) = (__typeof__(cap))next_;                                            \
		}                                                                                  \
		grown_ ? 0 : -ENOMEM;                                                              \
	}))

#endif /* KRAIT_BASE_DATA_VEC_H */
