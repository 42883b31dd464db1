/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * function_sums.h - Self and Total of each function in several counts over one dictionary.
 *
 * Functions match by name and the end of their file's path: checkouts and CPython versions differ,
 * and line numbers move. Recursion counts once.
 */
#ifndef KRAIT_OUTPUT_TEXT_FUNCTION_SUMS_H
#define KRAIT_OUTPUT_TEXT_FUNCTION_SUMS_H

#include "output/places.h"
#include "profile/counts.h"
#include "profile/idtable.h"
#include "profile/strtab.h"

struct function_sums {
	const struct counts *const *counts; /* borrowed */
	unsigned cnt;
	const struct dict *dict; /* of all */
	struct strtab files; /* short paths of files */
	struct places places; /* the functions; file is an index of files */
	__u64 *self, *total; /* by place, cnt numbers each, in the unit of shares */
	__u64 *all; /* sum of each counts */
	struct idtable nodes; /* while it is made */
};

/* Returns 0, -EINVAL if the dictionaries differ, or -ENOMEM; must be freed in either case. */
int function_sums_init(struct function_sums *s, const struct counts *const *counts, unsigned cnt)
	__attribute__((warn_unused_result));
void function_sums_free(struct function_sums *s);

static inline const __u64 *sums_self(const struct function_sums *s, __u32 place)
{
	return &s->self[(size_t)place * s->cnt];
}

static inline const __u64 *sums_total(const struct function_sums *s, __u32 place)
{
	return &s->total[(size_t)place * s->cnt];
}

/*
 * Returns the file to show beside a function; "" for code without a symbol, which is named after
 * its file anyway.
 */
const char *function_sums_file(const struct function_sums *s, const struct profile_frame *at);

#endif /* KRAIT_OUTPUT_TEXT_FUNCTION_SUMS_H */
