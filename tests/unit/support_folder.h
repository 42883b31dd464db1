/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_folder.h - a folder for a test's files, and small text files.
 */
#ifndef KRAIT_TESTS_SUPPORT_FOLDER_H
#define KRAIT_TESTS_SUPPORT_FOLDER_H

#define TEST_FOLDER_MAX 64

/* Makes an empty one below /tmp. */
void test_folder_make(char path[TEST_FOLDER_MAX]);
/* Removes it with its contents. */
void test_folder_remove(const char *path);

void test_file_put(const char *path, const char *text);
/* Checks that the file exists with that text, of at most 63 bytes. */
void assert_file(const char *path, const char *text);

#endif /* KRAIT_TESTS_SUPPORT_FOLDER_H */
