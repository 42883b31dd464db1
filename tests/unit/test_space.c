/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "process/space/code_list.h"
#include "process/space/modules.h"
#include "process/space/space.h"
#include "process/space/space_room.h"

#define CHILDREN 300
#define GREEDY 7
#define PAGES 4096U

static struct modules *modules;

static int setup(void **state)
{
	modules = modules__new();
	return modules ? 0 : -1;
}

static int teardown(void **state)
{
	modules__free(modules);
	return 0;
}

static struct quota *room(void)
{
	return modules__room(modules)->quota;
}

static struct space *unread(unsigned owner)
{
	return space__new(
		&(struct space_config){ .modules = modules, .pid = getpid(), .owner = owner });
}

static struct space *ours(unsigned owner)
{
	struct space *s = unread(owner);

	assert_int_equal(space__read(s, 1), 1);
	return s;
}

static unsigned cnt_of(const struct space *s)
{
	unsigned cnt;

	space__mappings(s, &cnt);
	return cnt;
}

static const struct mapping *list_of(const struct space *s)
{
	unsigned cnt;

	return space__mappings(s, &cnt);
}

static void children_share_what_their_parent_has(void **state)
{
	struct space *parent = ours(GREEDY), *children[CHILDREN];
	__u64 held = quota__held(room(), GREEDY), code = list_of(parent)[0].start;

	assert_true(held > cnt_of(parent) && cnt_of(parent) > 0);
	for (int i = 0; i < CHILDREN; i++) {
		children[i] = space__fork(parent, NULL, getpid());
		assert_ptr_equal(list_of(children[i]), list_of(parent));
	}
	assert_int_equal(quota__held(room(), GREEDY), held);
	space__free(parent);
	for (int i = 1; i < CHILDREN; i++)
		space__free(children[i]);
	/* The last one still has them. */
	assert_int_equal(quota__held(room(), GREEDY), held);
	assert_non_null(space__find(children[0], code));
	space__free(children[0]);
	assert_int_equal(quota__held(room(), GREEDY), 0);
}

static void a_child_that_changes_has_its_own(void **state)
{
	struct space *parent = ours(GREEDY), *child = space__fork(parent, NULL, getpid());
	const struct mapping *shared = list_of(parent);
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	unsigned cnt = cnt_of(parent);
	void *code;

	code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(code != MAP_FAILED);
	assert_int_equal(space__read(child, 2), 1);
	assert_ptr_equal(list_of(parent), shared);
	assert_int_equal(cnt_of(parent), cnt);
	assert_non_null(space__find(child, (__u64)(uintptr_t)code));
	assert_null(space__find(parent, (__u64)(uintptr_t)code));
	space__free(child);
	space__free(parent);
	assert_int_equal(quota__held_by_all(room()), 0);
	munmap(code, size);
}

/* A new mapping removes what it covers, also in the middle of another one. */
static void a_reported_mapping_takes_its_place(void **state)
{
	struct module *a = modules__get_id(modules, NULL, "a", 0);
	struct module *b = modules__get_id(modules, NULL, "b", 0);
	struct space *s = unread(0), *child;
	__u64 digest;

	assert_int_equal(space__map(s, &(struct mapping){ 0x1000, 0x9000, 0x100000, { a } }), 0);
	digest = space__digest(s);
	assert_int_equal(space__map(s, &(struct mapping){ 0x1000, 0x9000, 0x100000, { a } }), 0);
	assert_int_equal(space__digest(s), digest);
	child = space__fork(s, NULL, 77);
	assert_int_equal(space__map(child, &(struct mapping){ 0x3000, 0x5000, 0, { b } }), 0);
	assert_int_equal(space__digest(s), digest);
	assert_int_not_equal(space__digest(child), digest);
	assert_int_equal(cnt_of(s), 1);
	assert_int_equal(cnt_of(child), 3);
	assert_ptr_equal(space__find(child, 0x2fff)->module, a);
	assert_ptr_equal(space__find(child, 0x3000)->module, b);
	assert_ptr_equal(space__find(child, 0x5000)->module, a);
	assert_int_equal(space__find(child, 0x5000)->offset, 0x104000);
	assert_int_equal(space__map(child, &(struct mapping){ 0, 0x10000, 0, { b } }), 0);
	assert_int_equal(cnt_of(child), 1);
	assert_int_equal(space__map(child, &(struct mapping){ 0x20000, 0x21000, 0, { a } }), 0);
	assert_null(space__find(child, 0x10000));
	assert_int_equal(space__map(child, &(struct mapping){ 0x5, 0x5, 0, { b } }), -EINVAL);
	space__free(child);
	space__free(s);
	assert_int_equal(quota__held_by_all(room()), 0);
}

/* Reports that cannot be used make it read the mappings. */
static void what_the_kernel_reports_is_taken_in(void **state)
{
	const struct file_id id = { .dev = makedev(8, 1), .ino = 77, .size = 5, .ctime_sec = 9 };
	struct module *known = modules__get_id(modules, &id, "/lib/known.so", 0);
	struct space *s = unread(GREEDY);
	struct record_mmap record = {
		.start = 0x1000, .end = 0x3000, .offset = 0x5000, .file = binary_key_of(&id)
	};

	space__report(s, &record, 1);
	assert_false(space__is_outdated(s));
	assert_ptr_equal(space__find(s, 0x2000)->module, known);
	assert_int_equal(space__find(s, 0x2000)->offset, 0x5000);
	record.file = (struct binary_key){ .inode = 0 };
	record.start = 0x3000;
	record.end = 0x5000;
	space__report(s, &record, 2); /* generated at run time */
	assert_false(space__is_outdated(s));
	assert_string_equal(module__name(space__find(s, 0x4000)->module), "");
	record.start = 0x2000;
	record.end = 0x3000;
	space__report(s, &record, 2); /* perhaps the file's code, moved */
	assert_true(space__is_outdated(s));
	assert_ptr_equal(space__find(s, 0x2000)->module, known);
	assert_int_equal(space__read(s, 2), 1);
	record.file = binary_key_of(&id);
	record.file.ctime_nsec++; /* the file has changed */
	space__report(s, &record, 3);
	assert_true(space__is_outdated(s));
	assert_int_equal(space__read(s, 4), 0);
	assert_false(space__is_outdated(s));
	assert_null(space__find(s, 0x1000));
	space__free(s);
}

static void whose_time_is_used_up_is_not_looked_at(void **state)
{
	struct space *s = unread(GREEDY);
	struct record_mmap record = { .start = 0x1000, .end = 0x3000 };

	space_room_was_read(modules__room(modules), GREEDY, 1000, 50000000);
	space__report(s, &record, 2000);
	assert_true(space__is_outdated(s));
	assert_null(space__find(s, 0x1000));
	space__free(s);
}

/* After so many reports nobody may rely on them. */
static void the_last_report_says_so(void **state)
{
	struct space *s = space__new(
		&(struct space_config){ .modules = modules, .pid = getpid(), .reported = true });
	struct record_mmap record = { .start = 0x1000, .end = 0x3000 };

	space__report(s, &record, 1);
	assert_true(space__is_reported(s));
	record.last = 1;
	space__report(s, &record, 2);
	assert_false(space__is_reported(s));
	space__free(s);
}

/* Of very many mappings none is lost, and no two overlap. */
static void reported_mappings_stay_in_order(void **state)
{
	struct module *m = modules__get_id(modules, NULL, "m", 0);
	struct space *s = unread(0);
	struct module *of[64] = { NULL };
	unsigned seed = 1, cnt;

	for (int i = 0; i < 2000; i++) {
		__u64 start = rand_r(&seed) % 60, end = start + 1 + rand_r(&seed) % 4;
		const struct mapping *l, new = { start, end, start, { i % 2 ? m : NULL } };

		if (i % 2)
			assert_int_equal(space__map(s, &new), 0);
		for (__u64 at = start; at < end && i % 2; at++)
			of[at] = m;
		l = space__mappings(s, &cnt);
		for (unsigned k = 1; k < cnt; k++)
			assert_true(l[k - 1].end <= l[k].start);
		for (__u64 at = 0; at < 64; at++) {
			const struct mapping *found = space__find(s, at);

			assert_int_equal(!found, !of[at]);
			assert_true(!found || at - found->start + found->offset == at);
		}
	}
	space__free(s);
}

/* Every other page is code, so nothing can be merged. */
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
	char *area = many_mappings(page);
	struct space *list[600], *other;
	unsigned cnt = 0;

	while (cnt < 600) {
		list[cnt] = unread(GREEDY);
		if (space__read(list[cnt++], 1) < 0)
			break;
	}
	assert_true(quota__refused(room(), GREEDY) > 0);
	other = ours(9);
	assert_true(cnt_of(other) > PAGES / 2);
	assert_non_null(space__find(other, (__u64)(uintptr_t)area));
	space__free(other);
	while (cnt)
		space__free(list[--cnt]);
	assert_int_equal(quota__held_by_all(room()), 0);
	munmap(area, PAGES * page);
}

/* What has names is in files: too many mappings without one do not cost those. */
static void too_much_code_leaves_files_and_says_so(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), cnt = CODE_LIST_MAX + 16;
	char *area = mmap(NULL, 2 * cnt * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct space *s = unread(5);

	assert_ptr_not_equal(area, MAP_FAILED);
	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(mprotect(area + 2 * i * page, page, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(modules__room(modules)->cut_cnt, 0);
	assert_int_equal(space__read(s, 1), 1);
	assert_non_null(space__find(s, (__u64)(uintptr_t)setup));
	assert_non_null(space__find(s, (__u64)(uintptr_t)strlen));
	assert_null(space__find(s, (__u64)(uintptr_t)area));
	assert_int_equal(modules__room(modules)->cut_cnt, 1);
	assert_int_equal(modules__room(modules)->cut_pid, getpid());
	space__outdate(s);
	space__read(s, 2);
	assert_int_equal(modules__room(modules)->cut_cnt, 1);
	munmap(area, 2 * cnt * page);
	assert_int_equal(space__read(s, 3), 1);
	space__free(s);
}

static void many_files_of_one_leave_room_for_others(void **state)
{
	struct module *nameless = modules__get_id(modules, NULL, "", 0);
	char name[3000];
	unsigned cut = 0;

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 40000; i++) {
		snprintf(name, 16, "%015d", i);
		name[15] = 'x';
		cut += modules__get_id(modules, NULL, name, GREEDY) == nameless;
	}
	assert_in_range(cut, 1, 39999);
	assert_string_equal(module__name(modules__get_id(modules, NULL, "mine", 9)), "mine");
}

static void reading_takes_a_part_of_the_time(void **state)
{
	struct space_room *r = modules__room(modules);

	assert_true(space_room_may_read(r, GREEDY, 1));
	space_room_was_read(r, GREEDY, 1000, MAPS_READ_LITTLE_NS);
	assert_true(space_room_may_read(r, GREEDY, 1000));
	space_room_was_read(r, GREEDY, 1000, 50000000);
	assert_false(space_room_may_read(r, GREEDY, 1000 + 999999999));
	assert_true(space_room_may_read(r, GREEDY, 1000 + 1000000000));
	assert_true(space_room_may_read(r, 9, 1000));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(children_share_what_their_parent_has),
		TEST(a_child_that_changes_has_its_own),
		TEST(a_reported_mapping_takes_its_place),
		TEST(what_the_kernel_reports_is_taken_in),
		TEST(whose_time_is_used_up_is_not_looked_at),
		TEST(the_last_report_says_so),
		TEST(reported_mappings_stay_in_order),
		TEST(one_owner_leaves_room_for_others),
		TEST(too_much_code_leaves_files_and_says_so),
		TEST(many_files_of_one_leave_room_for_others),
		TEST(reading_takes_a_part_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
