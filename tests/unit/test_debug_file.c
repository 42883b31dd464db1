/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_debug_file.c - separate debug information: what else may be in its place, and who may own
 * it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/elf/debug_file.h"
#include "base/data/cleanup.h"

#define SOME_UID 4242

static const __u8 id[] = { 0xab, 1, 2, 0xef };
#define NAME "/usr/lib/debug/.build-id/ab/0102ef.debug"

struct fixture {
	char root[32], path[128];
};

static int setup(void **state)
{
	static const char *const folders[] = { "/usr", "/usr/lib", "/usr/lib/debug",
					       "/usr/lib/debug/.build-id",
					       "/usr/lib/debug/.build-id/ab" };
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	snprintf(f->root, sizeof(f->root), "/tmp/krait-test-XXXXXX");
	if (!mkdtemp(f->root))
		return -1;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(f->path, sizeof(f->path), "%s%s", f->root, folders[i]);
		if (mkdir(f->path, 0755))
			return -1;
	}
	snprintf(f->path, sizeof(f->path), "%s" NAME, f->root);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char *slash;

	if (unlink(f->path))
		rmdir(f->path);
	while ((slash = strrchr(f->path, '/')) > f->path + 4) {
		*slash = '\0';
		rmdir(f->path);
	}
	free(f);
	return 0;
}

static int make_file(const struct fixture *f, mode_t mode)
{
	int fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	return fd;
}

static int open_debug(const struct fixture *f, uid_t owner)
{
	return debug_file_open(f->root, id, sizeof(id), owner);
}

static void a_file_of_the_owner_is_opened_for_reading(void **state)
{
	struct fixture *f = *state;
	cleanup_close int made = make_file(f, 0644);
	cleanup_close int fd = open_debug(f, geteuid());

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void nothing_is_there(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_debug(f, 0), -ENOENT);
	assert_int_equal(debug_file_open("/nonexistent", id, sizeof(id), 0), -ENOENT);
	assert_int_equal(debug_file_open(f->root, id, 2, 0), -ENOENT);
	assert_int_equal(debug_file_open(f->root, id, 33, 0), -ENOENT);
}

/* Only root can give a file away. */
static void a_file_of_somebody_else_is_not_used(void **state)
{
	struct fixture *f = *state;
	cleanup_close int made = make_file(f, 0644), roots = -1, owners = -1;

	if (geteuid())
		skip();
	roots = open_debug(f, SOME_UID);
	assert_true(roots >= 0);
	/* Not what only root may read. */
	assert_int_equal(fchmod(made, 0640), 0);
	assert_int_equal(open_debug(f, SOME_UID), -EPERM);
	assert_int_equal(fchmod(made, 0644), 0);
	assert_int_equal(fchown(made, SOME_UID, SOME_UID), 0);
	assert_int_equal(open_debug(f, 0), -EPERM);
	assert_int_equal(open_debug(f, SOME_UID + 1), -EPERM);
	owners = open_debug(f, SOME_UID);
	assert_true(owners >= 0);
}

static void a_file_that_others_may_write_is_not_used(void **state)
{
	struct fixture *f = *state;
	cleanup_close int made = make_file(f, 0664);

	assert_int_equal(open_debug(f, geteuid()), -EPERM);
	assert_int_equal(fchmod(made, 0646), 0);
	assert_int_equal(open_debug(f, geteuid()), -EPERM);
}

/* Opening a FIFO would block for ever. */
static void what_is_no_regular_file_is_not_opened(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkfifo(f->path, 0644), 0);
	assert_int_equal(open_debug(f, geteuid()), -ENOEXEC);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkdir(f->path, 0755), 0);
	assert_int_equal(open_debug(f, geteuid()), -ENOEXEC);
	assert_int_equal(rmdir(f->path), 0);
	if (mknod(f->path, S_IFCHR | 0644, 0x103)) /* null */
		skip();
	assert_int_equal(open_debug(f, geteuid()), -ENOEXEC);
}

/* A link is followed as the process sees it: its target on our side stays out of reach. */
static void a_link_does_not_lead_out_of_the_root(void **state)
{
	static const char *const targets[] = { "/etc/passwd", "../../../../../../../../etc/passwd",
					       "/proc/self/exe" };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		assert_int_equal(symlink(targets[i], f->path), 0);
		assert_int_equal(open_debug(f, 0), -ENOENT);
		assert_int_equal(unlink(f->path), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_file_of_the_owner_is_opened_for_reading),
		TEST(nothing_is_there),
		TEST(a_file_of_somebody_else_is_not_used),
		TEST(a_file_that_others_may_write_is_not_used),
		TEST(what_is_no_regular_file_is_not_opened),
		TEST(a_link_does_not_lead_out_of_the_root),
	};

	return cmocka_run_group_tests_name("user/process/elf/debug_file.c", tests, NULL, NULL);
}
