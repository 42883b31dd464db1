/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_source_reader.c - a child reads a file's text, or says why not, in time whatever the file
 * does; and the child leaves nothing behind.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "profile/profile.h"
#include "support_folder.h"
#include "support_profile.h"
#include "cmd/top/source.h"
#include "cmd/common/source_reader.h"
#include "base/system/clock.h"

static int read_path(char **ret, const char *path, const char *folder, int timeout_ms)
{
	struct profile *p = profile__new();
	__u32 file = dict__string(p->dict, path);
	int err = source_read_apart(ret, p->dict, file, folder, timeout_ms);

	profile__free(p);
	return err;
}

static void a_file_that_everybody_may_read(void **state)
{
	char path[] = "/tmp/krait-source-XXXXXX";
	size_t size = 300000;
	char *text = NULL, *content = malloc(size + 1);
	int fd = mkstemp(path);

	/* More than fits in a pipe. */
	memset(content, 'x', size);
	content[size] = '\0';
	assert_int_equal(write(fd, content, size), size);
	fchmod(fd, 0644);
	assert_int_equal(read_path(&text, path, NULL, 20000), 0);
	assert_string_equal(text, content);
	free(text);
	/* For an unknown program, only files that everybody may read are shown. */
	fchmod(fd, 0600);
	assert_int_equal(read_path(&text, path, NULL, 20000), -EACCES);
	/* In a folder named by the caller, the caller's rights count. */
	assert_int_equal(read_path(&text, path + strlen("/tmp"), "/tmp", 20000), 0);
	free(text);
	close(fd);
	unlink(path);
	free(content);
}

static void what_is_no_file(void **state)
{
	char folder[TEST_FOLDER_MAX], path[TEST_FOLDER_MAX + 16];
	char *text = NULL;

	test_folder_make(folder);
	chmod(folder, 0755);
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0644), 0);
	chmod(path, 0644);
	assert_int_equal(read_path(&text, path, NULL, 20000), -EINVAL);
	unlink(path);
	assert_int_equal(read_path(&text, path, NULL, 20000), -ENOENT);
	assert_int_equal(read_path(&text, "<string>", NULL, 20000), -ENOENT);
	test_folder_remove(folder);
}

static void it_does_not_wait_for_ever(void **state)
{
	char *text = NULL;
	__u64 begin_ns = clock_monotonic_ns();

	/* With no time at all: as with a file system that does not answer. */
	assert_int_equal(read_path(&text, "/etc/passwd", NULL, 0), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - begin_ns < 20 * NS_PER_SEC);
	assert_null(text);
	/* The child was killed. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	assert_int_equal(errno, ECHILD);
}

static void lines_of_a_text(void **state)
{
	struct top_source *s = top_source__of_text(strdup("a\r\n\nb"));

	assert_int_equal(s->cnt, 3);
	assert_string_equal(s->lines[0], "a");
	assert_string_equal(s->lines[1], "");
	assert_string_equal(s->lines[2], "b");
	top_source__free(s);
	s = top_source__of_text(strdup("a\n"));
	assert_int_equal(s->cnt, 1);
	top_source__free(s);
	s = top_source__of_text(strdup(""));
	assert_int_equal(s->cnt, 0);
	top_source__free(s);
	s = top_source__of_text(NULL);
	assert_int_equal(s->cnt, 0);
	top_source__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_everybody_may_read),
		cmocka_unit_test(what_is_no_file),
		cmocka_unit_test(it_does_not_wait_for_ever),
		cmocka_unit_test(lines_of_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
