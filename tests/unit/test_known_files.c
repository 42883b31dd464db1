/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "kernel/maps/known_files.h"
#include "kernel/maps/layouts.h"
#include "support_folder.h"
#include "base/share/quota.h"

#define GREEDY 7

struct fixture {
	struct uprobes uprobes;
	struct layouts *layouts;
	struct known_files *files;
	char dir[TEST_FOLDER_MAX], path[TEST_FOLDER_MAX + 8];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->uprobes.entries_fd = -1;
	f->layouts = layouts__new(NULL);
	f->files = known_files__new(-1, &f->uprobes, f->layouts);
	test_folder_make(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/file", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	test_folder_remove(f->dir);
	known_files__free(f->files);
	layouts__free(f->layouts);
	free(f);
	return 0;
}

/* Makes a new open file, and what was found in it. */
static int new_file(struct fixture *f, struct py_process *p)
{
	struct stat st;
	int fd;

	unlink(f->path);
	fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*p = (struct py_process){
		.of_file = true,
		.build = PY_BUILD_EXE,
		.version = 0x030f02f0,
		.file_id = file_id_of(&st),
		.file = "/usr/bin/python3.15",
	};
	return fd;
}

static int learn(struct fixture *f, const struct py_process *p, int fd, unsigned owner,
		 __u64 now_ns)
{
	return known_files__learn(f->files, p, fd, owner, 0, now_ns);
}

static unsigned open_cnt(void)
{
	unsigned cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

static void what_is_known_is_there_by_its_number(void **state)
{
	struct fixture *f = *state;
	const struct known_file *file;
	struct py_process p;
	int fd = new_file(f, &p), number = learn(f, &p, fd, 0, 1);

	assert_true(number >= 0);
	close(fd);
	file = known_files__at(f->files, (__u32)number, 2);
	assert_non_null(file);
	assert_int_equal(file->version, 0x030f02f0);
	assert_string_equal(file->name, "/usr/bin/python3.15");
	assert_null(known_files__at(f->files, (__u32)number + 256, 2));
	assert_null(known_files__at(f->files, (__u32)number + 1, 2));
}

/* While the kernel side knows its number, no other file may get it. */
static void a_known_file_keeps_its_inode(void **state)
{
	struct fixture *f = *state;
	struct py_process first, p;
	int fd = new_file(f, &first);

	assert_true(learn(f, &first, fd, 0, 1) >= 0);
	close(fd);
	for (int i = 0; i < 200; i++) {
		close(new_file(f, &p));
		assert_true(p.file_id.ino != first.file_id.ino);
	}
}

static void a_file_is_known_once(void **state)
{
	struct fixture *f = *state;
	struct py_process p;
	int fd = new_file(f, &p), number = learn(f, &p, fd, 0, 1);
	unsigned open_before = open_cnt();

	for (int i = 0; i < 10; i++)
		assert_int_equal(learn(f, &p, fd, 0, 1), number);
	assert_int_equal(open_cnt(), open_before);
	assert_int_equal(quota__held_by_all(known_files__quota(f->files)), 1);
	close(fd);
}

static void what_says_nothing_of_others_is_not_learned(void **state)
{
	struct fixture *f = *state;
	struct py_process p;
	int fd = new_file(f, &p);

	p.of_file = false;
	assert_int_equal(learn(f, &p, fd, 0, 1), -EOPNOTSUPP);
	p.of_file = true;
	p.file_remote = true;
	assert_int_equal(learn(f, &p, fd, 0, 1), -EOPNOTSUPP);
	p.file_remote = false;
	p.build = PY_BUILD_SHARED; /* no function to probe */
	assert_int_equal(learn(f, &p, fd, 0, 1), -EOPNOTSUPP);
	p.build = PY_BUILD_EXE;
	assert_int_equal(learn(f, &p, -1, 0, 1), -EOPNOTSUPP);
	/* It has changed since it was read. */
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(learn(f, &p, fd, 0, 1), -ESTALE);
	assert_int_equal(quota__held_by_all(known_files__quota(f->files)), 0);
	assert_int_equal(quota__held_by_all(layouts__quota(f->layouts)), 0);
	close(fd);
}

/* Knowing a file must not keep its file system mounted. */
static void what_nobody_runs_is_let_go(void **state)
{
	struct fixture *f = *state;
	unsigned open_before = open_cnt();
	struct py_process p;
	int fd = new_file(f, &p), number = learn(f, &p, fd, 0, 1000);

	close(fd);
	known_files__begin_use(f->files, (__u32)number);
	known_files__begin_use(f->files, (__u32)number);
	known_files__end_use(f->files, (__u32)number, 2000);
	known_files__end_use(f->files, KNOWN_FILE_NONE, 2000);
	known_files__release_idle(f->files, 3000 + KNOWN_FILES_IDLE_NS);
	assert_int_equal(open_cnt(), open_before + 1);
	known_files__end_use(f->files, (__u32)number, 4000);
	known_files__release_idle(f->files, 3999 + KNOWN_FILES_IDLE_NS);
	assert_int_equal(open_cnt(), open_before + 1);
	known_files__release_idle(f->files, 4000 + KNOWN_FILES_IDLE_NS);
	assert_int_equal(open_cnt(), open_before);
	assert_int_equal(quota__held_by_all(known_files__quota(f->files)), 0);
	assert_null(known_files__at(f->files, (__u32)number, 5000));
	/* Its number is invalid by now. */
	known_files__begin_use(f->files, (__u32)number);
}

static void many_files_of_one_leave_room_for_others(void **state)
{
	struct fixture *f = *state;
	unsigned open_before = open_cnt();
	struct py_process p;
	int fd, r, first = -1, cnt = 0;

	do {
		fd = new_file(f, &p);
		r = learn(f, &p, fd, GREEDY, 1000 + (__u64)cnt);
		first = cnt ? first : r;
		close(fd);
	} while (r >= 0 && ++cnt < KRAIT_MAX_BINARIES);
	assert_int_equal(r, -EDQUOT);
	assert_in_range(cnt, KRAIT_MAX_BINARIES / 2, KRAIT_MAX_BINARIES - 16);
	assert_in_range(open_cnt() - open_before, cnt, cnt);
	fd = new_file(f, &p);
	assert_true(learn(f, &p, fd, 0, 2000) >= 0);
	close(fd);
	/* The file idle the longest makes room, but only that owner's. */
	fd = new_file(f, &p);
	assert_true(learn(f, &p, fd, GREEDY, 1000 + KNOWN_FILES_IDLE_NS) >= 0);
	assert_null(known_files__at(f->files, (__u32)first, 0));
	close(fd);
	fd = new_file(f, &p);
	assert_int_equal(learn(f, &p, fd, GREEDY, 1000 + KNOWN_FILES_IDLE_NS), -EDQUOT);
	close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_known_is_there_by_its_number),
		TEST(a_known_file_keeps_its_inode),
		TEST(a_file_is_known_once),
		TEST(what_says_nothing_of_others_is_not_learned),
		TEST(what_nobody_runs_is_let_go),
		TEST(many_files_of_one_leave_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
