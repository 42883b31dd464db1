/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * short_path.h - paths as people are shown them.
 */
#ifndef KRAIT_UTIL_SHORT_PATH_H
#define KRAIT_UTIL_SHORT_PATH_H

#define SHORT_FILE_SIZE 256

/*
 * A path as short as it can be and still be told apart: relative to the standard library or to
 * site-packages, else its last component (with the directory of an __init__.py or __main__.py).
 * Points into the argument.
 */
const char *short_path(const char *path);

/*
 * The same for a library, without the tag that CPython gives extension modules: "_json.so" of
 * "_json.cpython-312-x86_64-linux-gnu.so". Points into the argument, or to buf.
 */
const char *short_file(char buf[SHORT_FILE_SIZE], const char *path);

/* What follows the last slash; the whole path where there is none. Points into the argument. */
const char *base_name(const char *path);

#endif /* KRAIT_UTIL_SHORT_PATH_H */
