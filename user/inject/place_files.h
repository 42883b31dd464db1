/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place_files.h - the files in a script's folder: run.py, the wrapper that CPython is asked to run;
 * script, the user's; report, the FIFO. Runs in a child that has become the process's user.
 */
#ifndef KRAIT_INJECT_PLACE_FILES_H
#define KRAIT_INJECT_PLACE_FILES_H

#include "inject/inject.h"

#define PLACE_RUN "run.py"

/* path: of run.py, as the process sees it. Returns 0 and the read end of the FIFO, or -errno. */
int place_files_make(int folder, const char *path, const struct inject_request *r, int script,
		     int *ret_report) __attribute__((warn_unused_result, nonnull));
/* Removes what exists of them, and the folder, whose name is in path. */
void place_files_remove(int parent, int folder, const char *path) __attribute__((nonnull));

#endif /* KRAIT_INJECT_PLACE_FILES_H */
