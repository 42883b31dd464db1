/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dwo_opener.c - which files of split DWARF are opened, and for whose programs; a child opens
 * them, in bounded time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_folder.h"
#include "support_stuck.h"
#include "symbol/dwo_opener.h"
#include "target/proc.h"
#include "util/cleanup.h"

static char folder[TEST_FOLDER_MAX], path[TEST_FOLDER_MAX + 16];
static struct dwo_opener *opener;

static int setup(void **state)
{
	test_folder_make(folder);
	snprintf(path, sizeof(path), "%s/a.dwo", folder);
	opener = dwo_opener__new();
	return !opener;
}

/* No child is left. */
static int teardown(void **state)
{
	dwo_opener__free(opener);
	test_folder_remove(folder);
	return waitpid(-1, NULL, WNOHANG) >= 0;
}

static struct stat of_user(uid_t uid)
{
	return (struct stat){ .st_uid = uid, .st_gid = uid, .st_mode = S_IFREG | 0755 };
}

static int open_for(const char *name, uid_t uid)
{
	const struct stat of = of_user(uid);

	return dwo_opener__open(opener, name, &of);
}

static void a_file_is_the_owners_or_roots_for_all(void **state)
{
	static const struct {
		uid_t uid;
		gid_t gid;
		mode_t mode, of_mode; /* the program's file belongs to 1000:1000 */
		int ret;
	} cases[] = {
		{ 1000, 1000, 0600, 0755, 0 },	    { 1000, 1000, 0644, 0755, 0 },
		{ 1000, 5, 0640, 0755, 0 },	    { 1000, 1000, 0664, 0755, -EPERM },
		{ 1000, 1000, 0664, 0775, 0 },	    { 1000, 5, 0664, 0775, -EPERM },
		{ 1000, 1000, 0646, 0777, -EPERM }, { 0, 0, 0644, 0755, 0 },
		{ 0, 0, 0640, 0755, -EPERM },	    { 0, 0, 0666, 0755, -EPERM },
		{ 0, 1000, 0664, 0755, -EPERM },    { 1001, 1001, 0644, 0755, -EPERM },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct stat of = { .st_uid = 1000,
					 .st_gid = 1000,
					 .st_mode = S_IFREG | cases[i].of_mode };
		const struct stat file = { .st_uid = cases[i].uid,
					   .st_gid = cases[i].gid,
					   .st_mode = S_IFREG | cases[i].mode };

		assert_int_equal(dwo_opener_check(&file, &of), cases[i].ret);
	}
}

static void a_file_is_opened_for_reading(void **state)
{
	cleanup_close int fd = -1, again = -1;
	char text[8] = "";

	test_file_put(path, "split");
	chmod(path, 0644);
	fd = open_for(path, geteuid());
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text)), strlen("split"));
	assert_string_equal(text, "split");
	again = open_for(path, geteuid());
	assert_true(again >= 0);
	chmod(path, 0646);
	assert_int_equal(open_for(path, geteuid()), -EPERM);
	/* Another user's program. */
	chmod(path, 0600);
	assert_int_equal(open_for(path, geteuid() + 1), -EPERM);
}

/* A process in a root of its own, as in a container. */
static pid_t start_in_root(const char *root)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!chroot(root) && !chdir("/") && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void read_text(const char *name, char text[8])
{
	cleanup_close int fd = open_for(name, geteuid());
	ssize_t n = fd < 0 ? 0 : read(fd, text, 7);

	text[n > 0 ? n : 0] = '\0';
}

/* Names in its files mean its files, and ours where it has none. */
static void a_process_in_a_container_has_its_own(void **state)
{
	char root[TEST_FOLDER_MAX + 8], inside[2 * TEST_FOLDER_MAX + 16], text[8];
	struct proc_stat stat;
	pid_t pid;

	if (geteuid())
		skip();
	snprintf(root, sizeof(root), "%s/root", folder);
	snprintf(inside, sizeof(inside), "%s/only.dwo", root);
	assert_int_equal(mkdir(root, 0755), 0);
	test_file_put(inside, "inside");
	chmod(inside, 0644);
	test_file_put(path, "ours");
	chmod(path, 0644);
	assert_int_equal(open_for("/only.dwo", 0), -ENOENT);
	pid = start_in_root(root);
	assert_int_equal(proc_stat_read(pid, &stat), 0);
	dwo_opener__look_in(opener, pid, stat.start_ticks);
	read_text("/only.dwo", text);
	assert_string_equal(text, "inside");
	read_text(path, text);
	assert_string_equal(text, "ours");
	/* As in ours: of its owner, and nobody else may write. No link leads out of it. */
	chmod(inside, 0646);
	assert_int_equal(open_for("/only.dwo", 0), -EPERM);
	assert_int_equal(unlink(inside), 0);
	assert_int_equal(symlink(path, inside), 0);
	assert_int_equal(open_for("/only.dwo", 0), -ENOENT);
	assert_int_equal(unlink(inside), 0);
	test_file_put(inside, "inside");
	chmod(inside, 0644);
	/* Another process has the pid. */
	dwo_opener__look_in(opener, pid, stat.start_ticks + 1);
	assert_int_equal(open_for("/only.dwo", 0), -ENOENT);
	/* One in our root is asked once. */
	assert_int_equal(proc_stat_read(getpid(), &stat), 0);
	dwo_opener__look_in(opener, getpid(), stat.start_ticks);
	read_text(path, text);
	assert_string_equal(text, "ours");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void what_is_no_regular_file_is_not_opened(void **state)
{
	char long_name[8192];

	assert_int_equal(open_for(path, 0), -ENOENT);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(open_for(path, geteuid()), -ENOEXEC);
	assert_int_equal(open_for(folder, geteuid()), -ENOEXEC);
	assert_int_equal(open_for("/dev/zero", geteuid()), -ENOEXEC);
	assert_int_equal(open_for("/proc/self/exe", geteuid()), -ELOOP);
	/* Belongs to the child itself, or to the kernel. */
	assert_int_equal(open_for("/proc/self/maps", geteuid()), -ENOEXEC);
	assert_int_equal(open_for("/proc/version", geteuid()), -ENOEXEC);
	if (!access("/sys/kernel/notes", R_OK))
		assert_int_equal(open_for("/sys/kernel/notes", geteuid()), -ENOEXEC);
	memset(long_name, '/', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(open_for(long_name, geteuid()), -ENAMETOOLONG);
}

/* A file system that never answers, and one that would make root's parser wait. */
static void who_serves_a_file_keeps_nobody(void **state)
{
	struct stuck stuck;
	char name[128];
	int fd;

	if (geteuid() || !stuck_mount(&stuck))
		skip();
	assert_int_equal(open_for(stuck.file, 0), -EREMOTE);
	fd = open_for(stuck.file, 1000);
	assert_true(fd >= 0);
	close(fd);
	snprintf(name, sizeof(name), "%s/%s", stuck.folder, STUCK_SILENT);
	assert_int_equal(open_for(name, 1000), -ETIMEDOUT);
	/* The next file has another child. */
	assert_int_equal(open_for("/dev/zero", 0), -ENOEXEC);
	stuck_unmount(&stuck);
	/* The abandoned child ends when it can, if it has not already. */
	dwo_opener__free(opener);
	opener = NULL;
	while (waitpid(-1, NULL, 0) > 0)
		;
	assert_int_equal(errno, ECHILD);
}

/*
 * A file system that answers again: the child that waited for it is gone and so does not count for
 * ever.
 */
static void a_child_that_has_ended_is_no_zombie(void **state)
{
	siginfo_t info = { 0 };
	struct stuck stuck;
	char name[128];

	if (geteuid() || !stuck_mount(&stuck))
		skip();
	snprintf(name, sizeof(name), "%s/%s", stuck.folder, STUCK_SILENT);
	assert_int_equal(open_for(name, 1000), -ETIMEDOUT);
	stuck_unmount(&stuck);
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(info.si_status, SIGKILL);
	/* The next file has another child, the only one. */
	assert_int_equal(open_for("/dev/zero", 0), -ENOEXEC);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_file_is_the_owners_or_roots_for_all),
		TEST(a_file_is_opened_for_reading),
		TEST(a_process_in_a_container_has_its_own),
		TEST(a_child_that_has_ended_is_no_zombie),
		TEST(what_is_no_regular_file_is_not_opened),
		TEST(who_serves_a_file_keeps_nobody),
	};

	return cmocka_run_group_tests_name("files of split DWARF", tests, NULL, NULL);
}
