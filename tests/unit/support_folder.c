/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

void test_folder_make(char path[TEST_FOLDER_MAX])
{
	strcpy(path, "/tmp/krait-test-XXXXXX");
	assert_non_null(mkdtemp(path));
}

void test_folder_remove(const char *path)
{
	char command[TEST_FOLDER_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf %s", path);
	assert_int_equal(system(command), 0);
}

void test_file_put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

void assert_file(const char *path, const char *text)
{
	char got[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fread(got, 1, sizeof(got) - 1, f) < sizeof(got));
	fclose(f);
	assert_string_equal(got, text);
}
