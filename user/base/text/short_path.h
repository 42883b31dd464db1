/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * short_path.h - paths in the form shown to people.
 */
#ifndef KRAIT_BASE_TEXT_SHORT_PATH_H
#define KRAIT_BASE_TEXT_SHORT_PATH_H

#include <stdbool.h>

#define SHORT_FILE_SIZE 256

/*
 * Returns the shortest path that still identifies the file: relative to the standard library or
 * site-packages, or else its last component (with the directory of an __init__.py or __main__.py).
 * Points into the argument.
 */
const char *short_path(const char *path);

/*
 * Likewise for a library, without the tag that CPython gives extension modules: "_json.so" for
 * "_json.cpython-312-x86_64-linux-gnu.so". Points into the argument or to buf.
 */
const char *short_file(char buf[SHORT_FILE_SIZE], const char *path);

bool starts_with(const char *text, const char *start);
/* Returns what follows the last slash; without one, the whole path. Points into the argument. */
const char *base_name(const char *path);

#endif /* KRAIT_BASE_TEXT_SHORT_PATH_H */
