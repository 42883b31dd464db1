/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_unwind_tables.c - what the kernel side finds in the tables, whatever was added and dropped
 * before.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <linux/types.h>

#include "support_unwind_memory.h"
#include "record/unwinding/unwind_again.h"
#include "bpf/share.h"
#include "base/system/clock.h"

static bool no_more_slabs;

static struct unwind_slab *new_slab(void *ctx, __u32 number)
{
	if (no_more_slabs)
		return NULL;
	return unwind_new_slab(ctx, number);
}

static struct unwind_tables *make_tables(__u64 bytes)
{
	const struct unwind_memory memory = { files, spaces, &control, new_slab, NULL };
	struct unwind_tables *t;

	memset(files, 0, sizeof(files));
	memset(spaces, 0, sizeof(spaces));
	memset(cache, 0, sizeof(cache));
	no_more_slabs = false;
	t = unwind_tables__new(&memory, bytes);
	assert_non_null(t);
	return t;
}

static void free_tables(struct unwind_tables *t)
{
	unwind_tables__free(t);
	for (unsigned i = 0; i < UNWIND_SLABS_MAX; i++) {
		free(slabs[i]);
		slabs[i] = NULL;
	}
}

/* ---- files ------------------------------------------------------------------------------------ */

#define FIRST_PAGE 3

/*
 * Every page has so many rows, 16 bytes apart, alternating between two rules whose offset
 * identifies the file.
 */
static int put_file(struct unwind_tables *t, __u32 file, __u32 page_cnt, __u32 rows_of_page,
		    __u32 now)
{
	struct unwind_rule rules[3] = { 0 };
	__u32 *page_rows = calloc(page_cnt, sizeof(*page_rows));
	__u32 *rows = calloc((size_t)page_cnt * rows_of_page, sizeof(*rows));
	struct unwind_rows r = { .first_page = FIRST_PAGE,
				 .page_cnt = page_cnt,
				 .rule_cnt = 3,
				 .row_cnt = page_cnt * rows_of_page,
				 .rules = rules,
				 .page_rows = page_rows,
				 .rows = rows };
	int err;

	for (__u16 i = 1; i < 3; i++)
		rules[i] = (struct unwind_rule){ .cfa = UNWIND_CFA_REG,
						 .reg = UNWIND_REG_SP,
						 .off = (__s32)(8 * (2 * file + i)),
						 .ra_off = -8 };
	for (__u32 p = 0; p < page_cnt; p++) {
		page_rows[p] = rows_of_page;
		for (__u32 i = 0; i < rows_of_page; i++)
			rows[p * rows_of_page + i] = UNWIND_ROW(16 * i, 1 + (p + i) % 2);
	}
	err = unwind_tables__set_rows(t, file, &r, now);
	free(page_rows);
	free(rows);
	return err;
}

/*
 * Returns the offset of the rule that a walk finds for an offset of a file, mapped at its number;
 * -1: none.
 */
static int find(__u32 space, __u32 file, __u64 offset)
{
	static struct native_walk w;
	const struct native_regs regs = { 0 };

	unwind_begin(&w, &regs);
	unwind_enter(&w, space);
	w.epoch = control.epoch;
	return unwind_find_rule(&w, ((__u64)file << 32) + offset) ? -1 : w.rule.off;
}

static __u32 map_files(struct unwind_tables *t, __u32 cnt)
{
	struct unwind_mapping *list = calloc(cnt, sizeof(*list));
	__u32 space;

	for (__u32 i = 0; i < cnt; i++) {
		__u64 start = (__u64)(i + 1) << 32;

		list[i] = (struct unwind_mapping){ start, start + (1U << 30), start, i + 1, 0 };
	}
	space = unwind_tables__set_space(t, 0, list, cnt, OWNER_ROOT);
	free(list);
	return space;
}

static void check_file(__u32 space, __u32 file, __u32 page_cnt, __u32 rows_of_page)
{
	for (__u32 p = 0; p < page_cnt; p++) {
		for (__u32 i = 0; i < rows_of_page; i += 1 + i / 7) {
			__u64 offset = ((__u64)(FIRST_PAGE + p) << UNWIND_PAGE_SHIFT) + 16 * i;
			int want = (int)(8 * (2 * file + 1 + (p + i) % 2));

			assert_int_equal(find(space, file, offset), want);
			assert_int_equal(find(space, file, offset + 15), want);
		}
	}
	assert_int_equal(find(space, file, ((__u64)FIRST_PAGE << UNWIND_PAGE_SHIFT) - 1), -1);
	assert_int_equal(find(space, file, (__u64)(FIRST_PAGE + page_cnt) << UNWIND_PAGE_SHIFT),
			 -1);
}

static void every_row_is_found(void **state)
{
	struct unwind_tables *t = make_tables(64 << 20);
	__u32 space;

	assert_int_equal(put_file(t, 1, 1, 1, 0), 0);
	assert_int_equal(put_file(t, 2, 40, 4096, 0), 0);
	assert_int_equal(put_file(t, 3, 7, 300, 0), 0);
	space = map_files(t, 3);
	check_file(space, 1, 1, 1);
	check_file(space, 2, 40, 4096);
	check_file(space, 3, 7, 300);
	assert_int_equal(find(space, 4, 1 << 20), -1);
	assert_int_equal(find(0, 1, FIRST_PAGE << UNWIND_PAGE_SHIFT), -1);
	free_tables(t);
}

static void the_file_that_was_of_use_longest_ago_goes(void **state)
{
	struct unwind_tables *t = make_tables(2 << 20);
	__u64 epoch = control.epoch;
	__u32 space;

	space = map_files(t, 8);
	/* 400 KiB each: there is room for five. */
	for (__u32 i = 1; i <= 5; i++)
		assert_int_equal(put_file(t, i, 25, 4096, 10 + i), 0);
	files[1].used = 100;
	assert_int_equal(put_file(t, 6, 25, 4096, 101), 0);
	assert_true(control.epoch > epoch);
	check_file(space, 1, 25, 4096);
	check_file(space, 6, 25, 4096);
	assert_int_equal(find(space, 2, FIRST_PAGE << UNWIND_PAGE_SHIFT), -1);
	/* From now on it is missed, and comes back in place of another one. */
	assert_true(unwind_tables__is_wanted(t, 2));
	assert_false(unwind_tables__is_wanted(t, 2));
	assert_false(unwind_tables__is_settled(t, 2));
	assert_int_equal(put_file(t, 2, 25, 4096, 102), 0);
	check_file(space, 2, 25, 4096);
	check_file(space, 6, 25, 4096);
	free_tables(t);
}

/* Larger than the room: an error; everything else is unchanged or dropped. */
static void what_is_too_large_is_refused(void **state)
{
	struct unwind_tables *t = make_tables(2 << 20);
	__u32 space = map_files(t, 3);

	assert_int_equal(put_file(t, 1, 10, 100, 1), 0);
	assert_int_equal(put_file(t, 2, 200, 4096, 2), -ENOSPC);
	assert_false(unwind_tables__is_settled(t, 2));
	assert_true(unwind_tables__is_too_large(t, 2));
	/* Nothing had to go for that. */
	check_file(space, 1, 10, 100);
	assert_int_equal(find(space, 2, FIRST_PAGE << UNWIND_PAGE_SHIFT), -1);
	assert_int_equal(put_file(t, 3, 100, 4096, 3), 0);
	check_file(space, 3, 100, 4096);
	assert_int_equal(put_file(t, 0, 1, 1, 3), -EINVAL);
	assert_int_equal(put_file(t, UNWIND_FILES_MAX, 1, 1, 3), -EINVAL);
	assert_int_equal(put_file(t, 4, 1, UNWIND_PAGE_SIZE + 1, 3), -EINVAL);
	free_tables(t);
}

/*
 * Ten files that are constantly missed, of which five fit. Returns how long they were being reread,
 * 30 ms each.
 */
static __u64 thrash(struct unwind_tables *t, struct unwind_again *again, const unsigned *owners,
		    __u64 from_ns, __u64 to_ns)
{
	__u64 read_ns = 0;

	for (__u64 now_ns = from_ns; now_ns < to_ns; now_ns += NS_PER_SEC / 10) {
		for (__u32 i = 1; i <= 10; i++) {
			bool dropped = unwind_tables__is_dropped(t, i);

			unwind_tables__set_owner(t, i, owners[i]);
			files[i].used = (__u32)(now_ns >> UNWIND_NOW_SHIFT);
			if (unwind_tables__is_settled(t, i) ||
			    !unwind_again_may_read(again, t, i, now_ns))
				continue;
			assert_int_equal(put_file(t, i, 25, 4096, files[i].used), 0);
			if (!dropped)
				continue;
			unwind_again_note(again, owners[i], 30 * NS_PER_SEC / 1000);
			read_ns += 30 * NS_PER_SEC / 1000;
		}
	}
	return read_ns;
}

static void rows_that_do_not_fit_are_read_again_rarely(void **state)
{
	static const unsigned roots[11] = { 0 }, others[11] = { 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5 };
	struct unwind_again again;

	for (int i = 0; i < 2; i++) {
		struct unwind_tables *t = make_tables(2 << 20);
		__u64 most_ns = i ? 2 * NS_PER_SEC : NS_PER_SEC, read_ns;
		unsigned part = i ? 50 : 100;

		unwind_again_begin(&again, 0);
		read_ns = thrash(t, &again, i ? others : roots, 0, 200 * NS_PER_SEC);
		assert_in_range(read_ns, most_ns,
				most_ns + 200 * NS_PER_SEC / part + NS_PER_SEC / 10);
		/* Other owners have their own time. */
		assert_true(thrash(t, &again, i ? roots : others, 200 * NS_PER_SEC,
				   210 * NS_PER_SEC) >= NS_PER_SEC);
		free_tables(t);
	}
}

/* A file that can never fit is read once. */
static void what_is_too_large_is_never_read_again(void **state)
{
	struct unwind_tables *t = make_tables(2 << 20);
	struct unwind_again again;

	unwind_again_begin(&again, 0);
	assert_true(unwind_again_may_read(&again, t, 1, 0));
	assert_int_equal(put_file(t, 1, 200, 4096, 2), -ENOSPC);
	assert_false(unwind_again_may_read(&again, t, 1, 1000 * NS_PER_SEC));
	/* Another file that gets the number is read. */
	unwind_tables__forget(t, 1);
	assert_true(unwind_again_may_read(&again, t, 1, 1000 * NS_PER_SEC));
	free_tables(t);
}

/* ---- owners ----------------------------------------------------------------------------------- */

#define ALICE 7
#define BOB 200

static int put_owned(struct unwind_tables *t, unsigned owner, __u32 file, __u32 now)
{
	unwind_tables__set_owner(t, file, owner);
	return put_file(t, file, 25, 4096, now);
}

/* Of the files from first on, how many have rows. */
static unsigned with_rows(const struct unwind_tables *t, __u32 first, __u32 cnt)
{
	unsigned found = 0;

	for (__u32 i = first; i < first + cnt; i++)
		found += unwind_tables__is_settled(t, i);
	return found;
}

/* Bob's are used all the time, the others' were used long ago. */
static void whoever_has_most_pays_for_what_does_not_fit(void **state)
{
	for (unsigned owner = 0; owner <= ALICE; owner += ALICE) {
		struct unwind_tables *t = make_tables(4 << 20);
		__u32 space = map_files(t, 2);

		/* 400 KiB each: there is room for ten. */
		assert_int_equal(put_owned(t, owner, 1, 1), 0);
		assert_int_equal(put_owned(t, owner, 2, 1), 0);
		for (__u32 i = 0; i < 200; i++)
			assert_int_equal(put_owned(t, BOB, 10 + i, 100 + i), 0);
		check_file(space, 1, 25, 4096);
		check_file(space, 2, 25, 4096);
		assert_in_range(with_rows(t, 10, 200), 6, 8);
		/* Of his own those went that were used longest ago. */
		assert_int_equal(with_rows(t, 10, 190), 0);
		free_tables(t);
	}
}

/* What is free is anybody's; who comes later gets his part all the same. */
static void a_newcomer_takes_his_part_from_the_largest(void **state)
{
	struct unwind_tables *t = make_tables(4 << 20);

	for (__u32 i = 0; i < 20; i++)
		assert_int_equal(put_owned(t, BOB, 100 + i, 100), 0);
	assert_in_range(with_rows(t, 100, 20), 9, 10);
	for (__u32 i = 0; i < 20; i++)
		assert_int_equal(put_owned(t, ALICE, 200 + i, 1), 0);
	assert_in_range(with_rows(t, 100, 20), 4, 6);
	assert_in_range(with_rows(t, 200, 20), 4, 6);
	/* And so it stays, whoever is missed. */
	for (__u32 i = 0; i < 20; i++) {
		assert_int_equal(put_owned(t, BOB, 100 + i, 100), 0);
		assert_in_range(with_rows(t, 200, 20), 4, 6);
	}
	free_tables(t);
}

/* Others come in such numbers that an equal part is less than root's reserve. */
static void root_keeps_its_reserve(void **state)
{
	struct unwind_tables *t = make_tables(4 << 20);

	assert_int_equal(put_owned(t, OWNER_ROOT, 1, 1), 0);
	for (__u32 i = 0; i < 100; i++)
		(void)!put_owned(t, 1 + i, 10 + i, 100 + i);
	assert_true(unwind_tables__is_settled(t, 1));
	free_tables(t);
}

/* Its large files do not go, either, if that leaves it with less than its reserve. */
static void root_keeps_large_files_in_its_reserve(void **state)
{
	struct unwind_tables *t = make_tables(4 << 20);

	/* 480 KiB, of 512 that are root's. */
	assert_int_equal(put_file(t, 1, 29, 4096, 1), 0);
	unwind_tables__set_owner(t, 1, OWNER_ROOT);
	assert_int_equal(put_owned(t, OWNER_ROOT, 2, 1), 0);
	for (__u32 i = 0; i < 100; i++)
		(void)!put_owned(t, 1 + i, 10 + i, 100 + i);
	/* It had more than its reserve and than anybody else; but without either of them it would have less. */
	assert_true(unwind_tables__is_settled(t, 1));
	assert_true(unwind_tables__is_settled(t, 2));
	free_tables(t);
}

/* When it turns out that others use a file, too, its words are no longer its first owner's. */
static void words_pass_to_another_owner(void **state)
{
	struct unwind_tables *t = make_tables(4 << 20);

	for (__u32 i = 0; i < 6; i++)
		assert_int_equal(put_owned(t, ALICE, 10 + i, 50), 0);
	for (__u32 i = 0; i < 5; i++)
		unwind_tables__set_owner(t, 10 + i, OWNER_ROOT);
	for (__u32 i = 0; i < 10; i++)
		assert_int_equal(put_owned(t, BOB, 20 + i, 100), 0);
	/* Root had most, then as much as he. */
	assert_true(unwind_tables__is_settled(t, 15));
	assert_in_range(with_rows(t, 10, 5), 3, 5);
	free_tables(t);
}

/* Of files used in the same second the largest goes, not the one that was read first. */
static void small_files_stay(void **state)
{
	struct unwind_tables *t = make_tables(2 << 20);

	assert_int_equal(put_file(t, 1, 1, 100, 5), 0);
	for (__u32 i = 2; i < 20; i++)
		assert_int_equal(put_file(t, i, 25, 4096, 5), 0);
	assert_true(unwind_tables__is_settled(t, 1));
	free_tables(t);
}

static __u32 map_owned(struct unwind_tables *t, unsigned owner)
{
	static const struct unwind_mapping list[UNWIND_MAPPINGS_MAX];

	return unwind_tables__set_space(t, 0, list, UNWIND_MAPPINGS_MAX, owner);
}

/* Mappings cannot be dropped, so one owner may not have too many of them. */
static void mappings_take_no_rows_of_others(void **state)
{
	struct unwind_tables *t = make_tables(8 << 20);
	__u32 space = map_files(t, 2), given[64];
	unsigned cnt = 0;

	assert_int_equal(put_owned(t, ALICE, 1, 1), 0);
	assert_int_equal(put_owned(t, OWNER_ROOT, 2, 1), 0);
	for (unsigned i = 0; i < 64; i++) {
		given[cnt] = map_owned(t, BOB);
		cnt += given[cnt] != 0;
	}
	/* 512 KiB each. */
	assert_in_range(cnt, 3, 7);
	check_file(space, 1, 25, 4096);
	check_file(space, 2, 25, 4096);
	assert_int_not_equal(map_files(t, 2), 0);
	for (unsigned i = 0; i < cnt; i++)
		unwind_tables__drop_space(t, given[i]);
	for (unsigned i = 0; i < cnt; i++)
		assert_int_not_equal(map_owned(t, BOB), 0);
	free_tables(t);
}

static void without_memory_there_are_no_rows(void **state)
{
	struct unwind_tables *t = make_tables(64 << 20);

	no_more_slabs = true;
	assert_int_equal(put_file(t, 1, 1, 1, 0), -ENOSPC);
	assert_int_equal(map_files(t, 1), 0);
	free_tables(t);
}

static void counts_that_do_not_agree_are_refused(void **state)
{
	struct unwind_tables *t = make_tables(64 << 20);
	const struct unwind_rule rules[1] = { { 0 } };
	const __u32 rows[4] = { 0 }, page_rows[2] = { 1, 2 };
	struct unwind_rows r = { .page_cnt = 2,
				 .rule_cnt = 1,
				 .row_cnt = 4,
				 .rules = rules,
				 .page_rows = page_rows,
				 .rows = rows };

	assert_int_equal(unwind_tables__set_rows(t, 1, &r, 0), -EINVAL);
	r.row_cnt = 3;
	r.rule_cnt = 0;
	assert_int_equal(unwind_tables__set_rows(t, 1, &r, 0), -EINVAL);
	r.rule_cnt = 1;
	assert_int_equal(unwind_tables__set_rows(t, 1, &r, 0), 0);
	free_tables(t);
}

/* ---- spaces ----------------------------------------------------------------------------------- */

static void a_number_that_comes_back_is_another_space(void **state)
{
	struct unwind_tables *t = make_tables(64 << 20);
	__u32 first, second;

	assert_int_equal(put_file(t, 1, 1, 1, 0), 0);
	first = map_files(t, 1);
	check_file(first, 1, 1, 1);
	unwind_tables__drop_space(t, first);
	assert_int_equal(find(first, 1, FIRST_PAGE << UNWIND_PAGE_SHIFT), -1);
	second = map_files(t, 1);
	assert_int_equal(UNWIND_SPACE_NUMBER(first), UNWIND_SPACE_NUMBER(second));
	assert_int_not_equal(first, second);
	check_file(second, 1, 1, 1);
	assert_int_equal(find(first, 1, FIRST_PAGE << UNWIND_PAGE_SHIFT), -1);
	free_tables(t);
}

static void spaces_of_all_sizes_are_searched(void **state)
{
	struct unwind_tables *t = make_tables(64 << 20);

	for (__u32 i = 1; i <= 600; i++)
		assert_int_equal(put_file(t, i, 1, 2, 0), 0);
	for (__u32 cnt = 1; cnt <= 600; cnt += 1 + cnt / 3) {
		__u32 space = map_files(t, cnt);

		for (__u32 i = 1; i <= cnt; i++)
			check_file(space, i, 1, 2);
		assert_int_equal(find(space, cnt + 1, FIRST_PAGE << UNWIND_PAGE_SHIFT), -1);
		unwind_tables__drop_space(t, space);
	}
	free_tables(t);
}

/* Room of dropped files is reused any number of times. */
static void room_comes_back(void **state)
{
	struct unwind_tables *t = make_tables(2 << 20);

	for (__u32 i = 0; i < 2000; i++) {
		__u32 space = map_files(t, 1 + i % 300);

		assert_int_not_equal(space, 0);
		unwind_tables__drop_space(t, space);
	}
	free_tables(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_found),
		cmocka_unit_test(the_file_that_was_of_use_longest_ago_goes),
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(rows_that_do_not_fit_are_read_again_rarely),
		cmocka_unit_test(what_is_too_large_is_never_read_again),
		cmocka_unit_test(whoever_has_most_pays_for_what_does_not_fit),
		cmocka_unit_test(a_newcomer_takes_his_part_from_the_largest),
		cmocka_unit_test(root_keeps_its_reserve),
		cmocka_unit_test(root_keeps_large_files_in_its_reserve),
		cmocka_unit_test(words_pass_to_another_owner),
		cmocka_unit_test(small_files_stay),
		cmocka_unit_test(mappings_take_no_rows_of_others),
		cmocka_unit_test(without_memory_there_are_no_rows),
		cmocka_unit_test(counts_that_do_not_agree_are_refused),
		cmocka_unit_test(a_number_that_comes_back_is_another_space),
		cmocka_unit_test(spaces_of_all_sizes_are_searched),
		cmocka_unit_test(room_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
