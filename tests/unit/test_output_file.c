/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_output_file.c - an existing file stays until the new one is complete; links, devices and
 * pipes; ownership of files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support_folder.h"
#include "base/files/output_file.h"
#include "base/files/sudo_user.h"

struct folder {
	char path[64], file[96], other[96];
};

static void folder_open(struct folder *f)
{
	test_folder_make(f->path);
	snprintf(f->file, sizeof(f->file), "%s/x.data", f->path);
	snprintf(f->other, sizeof(f->other), "%s/other", f->path);
}

static void folder_close(struct folder *f)
{
	test_folder_remove(f->path);
}

static unsigned count_files(const struct folder *f)
{
	DIR *dir = opendir(f->path);
	unsigned cnt = 0;

	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		cnt += e->d_name[0] != '.';
	closedir(dir);
	return cnt;
}

static struct output_file *open_file(const char *path, bool keep_old)
{
	struct output_file *o = NULL;

	assert_int_equal(output_file__open(&o, path, keep_old), 0);
	return o;
}

static void what_was_there_stays_until_the_end(void **state)
{
	struct output_file *o;
	struct folder f;

	folder_open(&f);
	test_file_put(f.file, "old");
	o = open_file(f.file, false);
	assert_string_equal(output_file__name(o), f.file);
	assert_null(output_file__kept_name(o));
	fputs("new", output_file__stream(o));
	fflush(output_file__stream(o));
	assert_file(f.file, "old");
	assert_int_equal(output_file__finish(o), 0);
	output_file__free(o);
	assert_file(f.file, "new");
	assert_int_equal(count_files(&f), 1);
	folder_close(&f);
}

static void one_that_is_not_finished_leaves_nothing(void **state)
{
	struct output_file *o;
	struct folder f;

	folder_open(&f);
	o = open_file(f.file, false);
	fputs("new", output_file__stream(o));
	output_file__free(o);
	assert_int_equal(count_files(&f), 0);
	folder_close(&f);
}

static void a_published_one_is_still_written(void **state)
{
	struct output_file *o;
	struct folder f;

	folder_open(&f);
	o = open_file(f.file, false);
	fputs("one ", output_file__stream(o));
	assert_false(output_file__is_published(o));
	assert_int_equal(output_file__publish(o), 0);
	assert_int_equal(output_file__publish(o), 0);
	assert_true(output_file__is_published(o));
	fputs("two", output_file__stream(o));
	output_file__free(o);
	assert_file(f.file, "one two");
	folder_close(&f);
}

static void the_old_one_is_kept_where_that_is_wanted(void **state)
{
	char old[128];
	struct folder f;

	folder_open(&f);
	snprintf(old, sizeof(old), "%s.old", f.file);
	for (int i = 0; i < 3; i++) {
		struct output_file *o = open_file(f.file, true);

		assert_string_equal(output_file__kept_name(o), old);
		fprintf(output_file__stream(o), "%d", i);
		assert_int_equal(output_file__finish(o), 0);
		output_file__free(o);
	}
	assert_file(f.file, "2");
	assert_file(old, "1");
	assert_int_equal(count_files(&f), 2);
	folder_close(&f);
}

static void it_is_for_its_owner_only(void **state)
{
	mode_t mask = umask(0);
	struct output_file *o;
	struct folder f;
	struct stat st;

	folder_open(&f);
	o = open_file(f.file, false);
	assert_int_equal(output_file__finish(o), 0);
	output_file__free(o);
	umask(mask);
	assert_int_equal(stat(f.file, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	folder_close(&f);
}

static void links_are_not_written_through(void **state)
{
	struct output_file *o = NULL;
	struct folder f;
	struct stat st;

	folder_open(&f);
	test_file_put(f.other, "other");
	assert_int_equal(symlink("other", f.file), 0);
	assert_int_equal(output_file__open(&o, f.file, false), -ELOOP);
	/* A link that is to be kept under another name is moved, not followed. */
	o = open_file(f.file, true);
	fputs("new", output_file__stream(o));
	assert_int_equal(output_file__finish(o), 0);
	output_file__free(o);
	assert_file(f.other, "other");
	assert_int_equal(lstat(f.file, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(unlink(f.file), 0);
	assert_int_equal(symlink("nowhere", f.file), 0);
	assert_int_equal(output_file__open(&o, f.file, false), -ELOOP);
	folder_close(&f);
}

static void devices_are_written_in_place(void **state)
{
	struct output_file *o;
	struct folder f;
	struct stat st;

	folder_open(&f);
	assert_int_equal(symlink("/dev/full", f.file), 0);
	o = open_file(f.file, false);
	assert_null(output_file__name(o));
	fputs("x", output_file__stream(o));
	assert_int_equal(output_file__finish(o), -ENOSPC);
	output_file__free(o);
	assert_int_equal(lstat(f.file, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	folder_close(&f);
}

static void a_reader_that_goes_is_noticed(void **state)
{
	struct output_file *o;
	struct folder f;
	int reader;

	folder_open(&f);
	assert_int_equal(mkfifo(f.file, 0600), 0);
	reader = open(f.file, O_RDONLY | O_NONBLOCK);
	o = open_file(f.file, false);
	assert_false(output_file__is_deserted(o));
	close(reader);
	assert_true(output_file__is_deserted(o));
	output_file__free(o);
	folder_close(&f);
}

static void odd_names_are_refused(void **state)
{
	struct output_file *o = NULL;
	char path[400];
	struct folder f;

	folder_open(&f);
	assert_int_equal(output_file__open(&o, f.path, false), -EISDIR);
	assert_int_equal(output_file__open(&o, "/", false), -EISDIR);
	assert_int_equal(output_file__open(&o, "", false), -ENOENT);
	snprintf(path, sizeof(path), "%s/no/x", f.path);
	assert_int_equal(output_file__open(&o, path, false), -ENOENT);
	snprintf(path, sizeof(path), "%s/%0255d", f.path, 1);
	o = open_file(path, false);
	assert_int_equal(output_file__finish(o), 0);
	output_file__free(o);
	snprintf(path, sizeof(path), "%s/%0256d", f.path, 1);
	assert_int_equal(output_file__open(&o, path, false), -ENAMETOOLONG);
	folder_close(&f);
}

/* Runs in a child, since the caller is looked up only once: root under sudo. */
static void in_child(void (*fn)(const struct folder *f), const struct folder *f)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		setenv("SUDO_UID", "61001", 1);
		setenv("SUDO_GID", "61002", 1);
		fn(f);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ & 127);                                                     \
	} while (0)

static void write_as_the_user(const struct folder *f)
{
	struct output_file *o = NULL;
	struct sudo_user_scope scope;
	struct stat st;

	CHECK(sudo_user_settle() == 0 && sudo_user_uid() == 61001 && geteuid() == 0);
	/* Root's folder, mode 0700. */
	CHECK(output_file__open(&o, f->file, false) == -EACCES);
	CHECK(!chown(f->path, 61001, 61002));
	CHECK(output_file__open(&o, f->file, false) == 0 && output_file__finish(o) == 0);
	output_file__free(o);
	CHECK(!stat(f->file, &st) && st.st_uid == 61001 && st.st_gid == 61002);
	/* Root's rights are back, and scopes nest. */
	CHECK(!access("/root", R_OK | X_OK) && open(f->other, O_WRONLY | O_CREAT, 0600) >= 0);
	CHECK(!stat(f->other, &st) && st.st_uid == 0);
	CHECK(!sudo_user_enter(&scope));
	CHECK(open(f->other, O_WRONLY) < 0 && errno == EACCES);
	sudo_user_leave(&scope);
	CHECK(open(f->other, O_WRONLY) >= 0);
}

static void become_the_user(const struct folder *f)
{
	uid_t ids[3];

	CHECK(sudo_user_become() == 0);
	CHECK(!getresuid(&ids[0], &ids[1], &ids[2]) && ids[0] == 61001 && ids[1] == 61001 &&
	      ids[2] == 61001 && getegid() == 61002);
	CHECK(setuid(0) && open(f->path, O_RDONLY) < 0);
}

static void behind_sudo_files_are_the_users(void **state)
{
	struct folder f;

	if (geteuid())
		skip();
	folder_open(&f);
	in_child(become_the_user, &f);
	in_child(write_as_the_user, &f);
	folder_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* Must come first: the caller is looked up only once, and here children do that. */
		cmocka_unit_test(behind_sudo_files_are_the_users),
		cmocka_unit_test(what_was_there_stays_until_the_end),
		cmocka_unit_test(one_that_is_not_finished_leaves_nothing),
		cmocka_unit_test(a_published_one_is_still_written),
		cmocka_unit_test(the_old_one_is_kept_where_that_is_wanted),
		cmocka_unit_test(it_is_for_its_owner_only),
		cmocka_unit_test(links_are_not_written_through),
		cmocka_unit_test(devices_are_written_in_place),
		cmocka_unit_test(a_reader_that_goes_is_noticed),
		cmocka_unit_test(odd_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
