/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbol/code_maps.h"
#include "symbol/maps_room.h"

#define CHILDREN 300
#define GREEDY 7
#define PAGES 4096U

static struct native_files *files;

static int setup(void **state)
{
	files = native_files__new();
	return files ? 0 : -1;
}

static int teardown(void **state)
{
	native_files__free(files);
	return 0;
}

static struct quota *room(void)
{
	return native_files__room(files)->quota;
}

static struct code_maps ours(unsigned owner)
{
	struct code_maps c = { .files = files, .owner = owner, .pid = getpid() };

	assert_int_equal(code_maps__read(&c), 1);
	assert_true(c.cnt > 0);
	return c;
}

static void children_share_what_their_parent_has(void **state)
{
	struct code_maps parent = ours(GREEDY), children[CHILDREN];
	__u64 held = quota__held(room(), GREEDY);

	assert_int_equal(held, parent.cnt + parent.data_cnt);
	for (int i = 0; i < CHILDREN; i++) {
		code_maps__fork(&children[i], &parent, getpid(), NULL);
		assert_ptr_equal(children[i].list, parent.list);
	}
	assert_int_equal(quota__held(room(), GREEDY), held);
	code_maps__free(&parent);
	for (int i = 1; i < CHILDREN; i++)
		code_maps__free(&children[i]);
	/* The last one has them still. */
	assert_int_equal(quota__held(room(), GREEDY), held);
	assert_non_null(code_maps__find(&children[0], children[0].list[0].start));
	code_maps__free(&children[0]);
	assert_int_equal(quota__held(room(), GREEDY), 0);
}

static void a_child_that_changes_has_its_own(void **state)
{
	struct code_maps parent = ours(GREEDY), child;
	const struct native_mapping *shared = parent.list;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	unsigned cnt = parent.cnt;
	void *code;

	code_maps__fork(&child, &parent, getpid(), NULL);
	code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(code != MAP_FAILED);
	assert_int_equal(code_maps__read(&child), 1);
	assert_ptr_equal(parent.list, shared);
	assert_int_equal(parent.cnt, cnt);
	assert_non_null(code_maps__find(&child, (__u64)(uintptr_t)code));
	assert_null(code_maps__find(&parent, (__u64)(uintptr_t)code));
	code_maps__free(&child);
	code_maps__free(&parent);
	assert_int_equal(quota__held_by_all(room()), 0);
	munmap(code, size);
}

/* Every other page is code, so nothing can be put together. */
static char *many_mappings(size_t page)
{
	char *area = mmap(NULL, PAGES * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(area != MAP_FAILED);
	for (size_t i = 0; i < PAGES; i += 2)
		assert_int_equal(mprotect(area + i * page, page, PROT_READ | PROT_EXEC), 0);
	return area;
}

static void one_owner_leaves_room_for_others(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct code_maps list[600];
	char *area = many_mappings(page);
	unsigned cnt = 0;
	struct code_maps other;

	while (cnt < 600) {
		list[cnt] = (struct code_maps){ .files = files, .owner = GREEDY, .pid = getpid() };
		if (code_maps__read(&list[cnt]) < 0)
			break;
		cnt++;
	}
	assert_true(quota__refused(room(), GREEDY) > 0);
	other = ours(9);
	assert_true(other.cnt > PAGES / 2);
	assert_non_null(code_maps__find(&other, (__u64)(uintptr_t)area));
	code_maps__free(&other);
	while (cnt)
		code_maps__free(&list[--cnt]);
	assert_int_equal(quota__held_by_all(room()), 0);
	munmap(area, PAGES * page);
}

static void many_files_of_one_leave_room_for_others(void **state)
{
	struct native_file *nameless = native_files__get_id(files, NULL, "", 0);
	char name[3000];
	unsigned cut = 0;

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 40000; i++) {
		snprintf(name, 16, "%015d", i);
		name[15] = 'x';
		cut += native_files__get_id(files, NULL, name, GREEDY) == nameless;
	}
	assert_in_range(cut, 1, 39999);
	assert_string_equal(native_file__name(native_files__get_id(files, NULL, "mine", 9)),
			    "mine");
}

static void reading_takes_a_part_of_the_time(void **state)
{
	struct maps_room *r = native_files__room(files);

	assert_true(maps_room_may_read(r, GREEDY, 1));
	maps_room_was_read(r, GREEDY, 1000, MAPS_READ_LITTLE_NS);
	assert_true(maps_room_may_read(r, GREEDY, 1000));
	maps_room_was_read(r, GREEDY, 1000, 50000000);
	assert_false(maps_room_may_read(r, GREEDY, 1000 + 999999999));
	assert_true(maps_room_may_read(r, GREEDY, 1000 + 1000000000));
	assert_true(maps_room_may_read(r, 9, 1000));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(children_share_what_their_parent_has),
		TEST(a_child_that_changes_has_its_own),
		TEST(one_owner_leaves_room_for_others),
		TEST(many_files_of_one_leave_room_for_others),
		TEST(reading_takes_a_part_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
