/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_spool_place.c - a spool's folder belongs to krait: it writes to nothing that others have put
 * there.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/export/spool_place.h"
#include "support_folder.h"
#include "base/system/error.h"

/* In the test's folder. */
struct places {
	char folder[TEST_FOLDER_MAX], spool[128], theirs[128], file[192];
};

static int set_up(void **state)
{
	static struct places p;

	test_folder_make(p.folder);
	snprintf(p.spool, sizeof(p.spool), "%s/spool", p.folder);
	snprintf(p.theirs, sizeof(p.theirs), "%s/theirs", p.folder);
	test_file_put(p.theirs, "theirs");
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct places *p = *state;

	test_folder_remove(p->folder);
	return 0;
}

static void assert_refused(const struct places *p, const char *why)
{
	struct spool_files files;
	struct error err = { 0 };
	int lock;

	assert_true(spool_place_open(&files, &lock, p->spool, &err) < 0);
	if (!strstr(err.text, why))
		fail_msg("%s", err.text);
	assert_file(p->theirs, "theirs");
}

static void a_folder_is_made_for_its_owner_alone(void **state)
{
	struct places *p = *state;
	struct spool_files files;
	struct error err;
	struct stat st;
	int lock;

	assert_int_equal(spool_place_open(&files, &lock, p->spool, &err), 0);
	assert_int_equal(stat(p->spool, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	/* Two agents cannot share it. */
	assert_refused(p, "another krait agent");
	spool_place_close(&files, lock);
}

static void a_folder_that_others_write_in_is_refused(void **state)
{
	struct places *p = *state;

	assert_int_equal(mkdir(p->spool, 0700), 0);
	assert_int_equal(chmod(p->spool, 0770), 0);
	assert_refused(p, "others can write to it");
}

static void a_link_in_place_of_the_folder_is_refused(void **state)
{
	struct places *p = *state;

	snprintf(p->file, sizeof(p->file), "%s/real", p->folder);
	assert_int_equal(mkdir(p->file, 0700), 0);
	assert_int_equal(symlink(p->file, p->spool), 0);
	assert_refused(p, "");
}

/* The number of links reveals hard links as well. */
static void links_in_place_of_its_files_are_refused(void **state)
{
	static const char *const names[] = { "segment-00", "segment-31", "cursors" };
	struct places *p = *state;

	assert_int_equal(mkdir(p->spool, 0700), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(p->file, sizeof(p->file), "%s/%s", p->spool, names[i]);
		assert_int_equal(symlink(p->theirs, p->file), 0);
		assert_refused(p, "");
		assert_int_equal(unlink(p->file), 0);
		assert_int_equal(link(p->theirs, p->file), 0);
		assert_refused(p, "not the spool's");
		assert_int_equal(unlink(p->file), 0);
		assert_int_equal(mkfifo(p->file, 0600), 0);
		assert_refused(p, "not the spool's");
		assert_int_equal(unlink(p->file), 0);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_folder_is_made_for_its_owner_alone),
		TEST(a_folder_that_others_write_in_is_refused),
		TEST(a_link_in_place_of_the_folder_is_refused),
		TEST(links_in_place_of_its_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
