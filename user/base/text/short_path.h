/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * short_path.h - paths in the form shown to people.
 */
#ifndef KRAIT_BASE_TEXT_SHORT_PATH_H
#define KRAIT_BASE_TEXT_SHORT_PATH_H

#include <stdbool.h>
#include <sys/types.h>

#define SHORT_FILE_SIZE 256

/*
 * Returns the shortest path that still identifies the file: relative to the standard library or
 * site-packages, or else its last component (with the directory of an __init__.py or __main__.py).
 * Points into the argument, or to a name that was given to it.
 */
const char *short_path(const char *path);

/*
 * From now on the path has that name in short_path(): a notebook's cell is "cell 2", not the file that the kernel
 * made up for it. (IPython in a terminal calls its cells <ipython-input-2-...>: these are "cell 2" anyway.) Returns 0 or -ENOMEM.
 */
int short_path_call(const char *path, const char *name) __attribute__((warn_unused_result));
/*
 * Likewise, but somebody only says so: what short_path_call() said stays, and a path that is claimed to have another name, or
 * none (NULL), has none from then on.
 */
int short_path_claim(const char *path, const char *name)
	__attribute__((warn_unused_result, nonnull(1)));
/* The pid in ".../ipykernel_PID/FILE": so a notebook's kernel calls its cells (ipykernel/compiler.py, 6.0 and later); 0: it is no such path. */
pid_t cell_path_pid(const char *path) __attribute__((nonnull));

/*
 * Likewise for a library, without the tag that CPython gives extension modules: "_json.so" for
 * "_json.cpython-312-x86_64-linux-gnu.so", and for a cell of IPython's. Points into the argument, to a name that was given to it, or to buf.
 */
const char *short_file(char buf[SHORT_FILE_SIZE], const char *path);

bool starts_with(const char *text, const char *start);
/* Returns what follows the last slash; without one, the whole path. Points into the argument. */
const char *base_name(const char *path);

#endif /* KRAIT_BASE_TEXT_SHORT_PATH_H */
