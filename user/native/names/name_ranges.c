/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/name_ranges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/space/modules.h"
#include "base/data/search.h"
#include "base/text/short_path.h"
#include "base/data/vec.h"

static void function_free(struct native_function *fn)
{
	if (!fn)
		return;
	free(fn->name);
	free(fn);
}

void name_ranges_clear(struct name_ranges *n)
{
	struct native_function *fn, *next;

	HASH_ITER(hh, n->functions, fn, next) {
		HASH_DEL(n->functions, fn);
		function_free(fn);
	}
	function_free(n->rest);
	free(n->ranges);
	*n = (struct name_ranges){ .module = n->module };
}

/* ---- functions -------------------------------------------------------------------------------- */

static struct native_function *new_function(struct name_ranges *n, __u64 start, char *name)
{
	struct native_function *fn = name ? calloc(1, sizeof(*fn)) : NULL;

	if (!fn) {
		free(name);
		return NULL;
	}
	fn->start = start;
	fn->name = name;
	fn->symbol = (struct native_symbol){ .name = name, .module = n->module };
	return fn;
}

char *native_unnamed(const char *path)
{
	const char *base = *path ? base_name(path) : "anonymous";
	char *text;

	if (base[0] == '[')
		return strdup(base);
	return asprintf(&text, "[%s]", base) < 0 ? NULL : text;
}

struct native_symbol *name_ranges_rest(struct name_ranges *n)
{
	if (!n->rest)
		n->rest = new_function(n, 0, native_unnamed(module__name(n->module)));
	return n->rest ? &n->rest->symbol : NULL;
}

/* The function that starts there and has that name. NULL: no more room. */
static struct native_function *function_at(struct name_ranges *n, const struct parser_place *place,
					   const char *name, __u32 *symbol_cnt)
{
	__u64 start = place->symbol_start;
	struct native_function *fn;

	HASH_FIND(hh, n->functions, &start, sizeof(start), fn);
	if (fn || *symbol_cnt == NATIVE_SYMBOLS_MAX)
		return fn;
	fn = new_function(n, start, strdup(name));
	if (!fn)
		return NULL;
	fn->symbol.is_wrapper = place->is_wrapper;
	fn->symbol.is_python = place->is_python;
	HASH_ADD(hh, n->functions, start, sizeof(fn->start), fn);
	(*symbol_cnt)++;
	return fn;
}

/* ---- ranges ----------------------------------------------------------------------------------- */

/* Index of the first range that ends after the offset. */
static size_t range_index(const struct name_ranges *n, __u64 offset)
{
	return sorted_below(n->range_cnt, i, n->ranges[i].end <= offset);
}

const struct name_range *name_ranges_at(const struct name_ranges *n, __u64 offset)
{
	size_t i = range_index(n, offset);

	return i < n->range_cnt && n->ranges[i].start <= offset ? &n->ranges[i] : NULL;
}

/* Inserts it between its neighbours, which it may touch but not overlap. NULL: no room. */
static struct name_range *add_range(struct name_ranges *n, const struct name_range *new,
				    __u64 offset)
{
	size_t i = range_index(n, offset);
	struct name_range *r;

	if (n->range_cnt == NATIVE_RANGES_MAX ||
	    vec_reserve(n->ranges, n->range_cap, n->range_cnt + 1))
		return NULL;
	r = &n->ranges[i];
	memmove(r + 1, r, (n->range_cnt - i) * sizeof(*r));
	*r = *new;
	if (i && r->start < r[-1].end)
		r->start = r[-1].end;
	if (i < n->range_cnt && r->end > r[1].start)
		r->end = r[1].start;
	n->range_cnt++;
	return r;
}

const struct name_range *name_ranges_add(struct name_ranges *n, __u64 offset,
					 const struct parser_place *place, const char *names,
					 __u32 *symbol_cnt)
{
	struct name_range new = { place->start, place->end, NULL };

	if (place->name != PARSER_NO_NAME)
		new.function = function_at(n, place, names + place->name, symbol_cnt);
	return add_range(n, &new, offset);
}

void name_ranges_forget_unnamed(struct name_ranges *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->range_cnt; i++) {
		if (n->ranges[i].function)
			n->ranges[kept++] = n->ranges[i];
	}
	n->range_cnt = kept;
}
