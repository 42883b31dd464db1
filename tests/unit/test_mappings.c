/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mappings.c - the mappings of a capture's processes: same answers as a plain list, children
 * do not see each other's changes, and memory stays within the budget.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "capture/import/mappings.h"

#define SPACE 4096 /* pages of the model */

/*
 * Each page of the model has the number of the mapping that contains it; a mapping is removed as a
 * whole.
 */
struct model {
	__u32 pages[SPACE];
};

static void model_add(struct model *m, __u32 start, __u32 size, __u32 object)
{
	for (__u32 i = start; i < start + size; i++) {
		__u32 old = m->pages[i];

		for (__u32 k = 0; old && k < SPACE; k++)
			m->pages[k] = m->pages[k] == old ? 0 : m->pages[k];
	}
	for (__u32 i = start; i < start + size; i++)
		m->pages[i] = object;
}

static void assert_same(const struct mappings *m, const struct model *model)
{
	for (__u32 i = 0; i < SPACE; i++) {
		const struct mapping *found = mappings_find(m, (__u64)i << 12 | 0x123);

		if ((found ? found->object : 0) != model->pages[i])
			fail_msg("page %u is of %llu, not of %u", i, found ? found->object : 0ULL,
				 model->pages[i]);
	}
}

static __u32 random_below(__u32 limit)
{
	static __u64 state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (__u32)(state >> 33) % limit;
}

static void add(struct mappings *m, struct model *model, struct mappings_budget *b, __u32 object)
{
	__u32 size = random_below(20) ? 1 + random_below(3) : 1 + random_below(SPACE / 2);
	__u32 start = random_below(SPACE - size);
	const struct mapping new = { .start = (__u64)start << 12,
				     .end = ((__u64)start + size) << 12,
				     .object = object };

	assert_int_equal(mappings_add(m, &new, b), 0);
	model_add(model, start, size, object);
}

static void families_agree_with_plain_lists(void **state)
{
	static struct model models[8];
	struct mappings lists[8] = { 0 };
	struct mappings_budget budget = { 0 };

	memset(models, 0, sizeof(models));
	for (__u32 i = 1; i <= 6000; i++) {
		unsigned at = random_below(8), parent = random_below(8);

		add(&lists[at], &models[at], &budget, i);
		if (i % 100 == 0 && at != parent) {
			mappings_share(&lists[at], &lists[parent], &budget);
			models[at] = models[parent];
		}
		if (i % 250 == 0) {
			for (unsigned k = 0; k < 8; k++)
				assert_same(&lists[k], &models[k]);
		}
	}
	for (unsigned k = 0; k < 8; k++)
		mappings_free(&lists[k], &budget);
	assert_int_equal(budget.used, 0);
}

/* The order that moves the most elements. */
static void fill(struct mappings *m, struct mappings_budget *b)
{
	for (__u32 i = 65536; i > 0; i--) {
		const struct mapping new = { (__u64)i << 12, (i + 1ULL) << 12, 0, { .object = i } };

		assert_int_equal(mappings_add(m, &new, b), 0);
	}
}

static void many_mappings_and_forks_stay_small(void **state)
{
	static struct mappings children[3000];
	struct mappings_budget budget = { 0 };
	struct mappings parent = { 0 };
	clock_t start = clock();
	size_t alone;

	fill(&parent, &budget);
	alone = budget.used;
	for (__u32 i = 0; i < 3000; i++) {
		const __u64 page = 1 + i * 7 % 65536;
		const struct mapping new = {
			page << 12, (page + 1) << 12, 0, { .object = 70000 + i }
		};

		mappings_share(&children[i], &parent, &budget);
		assert_int_equal(mappings_add(&children[i], &new, &budget), 0);
		assert_int_equal(mappings_find(&children[i], new.start)->object, new.object);
		assert_int_equal(mappings_find(&parent, new.start)->object, new.start >> 12);
	}
	assert_true(budget.used - alone < 3000 * 16384);
	/* The parent used to take 10 s and 6 GB. This is CPU time: others may use the machine. */
	assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
	for (__u32 i = 0; i < 3000; i++)
		mappings_free(&children[i], &budget);
	mappings_free(&parent, &budget);
	assert_int_equal(budget.used, 0);
}

static void nothing_goes_beyond_the_limits(void **state)
{
	struct mappings_budget budget = { 0 };
	const struct mapping more = { 1ULL << 40, (1ULL << 40) + 4096, 0, { .object = 1 } },
			     in_place = { 4096, 8192, 0, { .object = 2 } };
	struct mappings m = { 0 }, child = { 0 };

	fill(&m, &budget);
	assert_int_equal(mappings_add(&m, &more, &budget), -E2BIG);
	assert_int_equal(mappings_add(&m, &in_place, &budget), 0);
	assert_int_equal(mappings_find(&m, 4096)->object, 2);
	mappings_share(&child, &m, &budget);
	budget.used += MAPPINGS_BYTES_MAX;
	assert_int_equal(mappings_add(&child, &in_place, &budget), -E2BIG);
	budget.used -= MAPPINGS_BYTES_MAX;
	mappings_free(&child, &budget);
	mappings_free(&m, &budget);
	assert_int_equal(budget.used, 0);
}

static void nonsense_is_refused(void **state)
{
	struct mappings_budget budget = { 0 };
	const struct mapping empty = { 4096, 4096, 0, { .object = 1 } },
			     wrapped = { ~0ULL - 10, 4085, 0, { .object = 1 } };
	struct mappings m = { 0 };

	assert_int_equal(mappings_add(&m, &empty, &budget), -EINVAL);
	assert_int_equal(mappings_add(&m, &wrapped, &budget), -EINVAL);
	assert_null(mappings_find(&m, 4096));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_agree_with_plain_lists),
		cmocka_unit_test(many_mappings_and_forks_stay_small),
		cmocka_unit_test(nothing_goes_beyond_the_limits),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests_name("mappings", tests, NULL, NULL);
}
