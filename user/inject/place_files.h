/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place_files.h - what is in the folder of a script: run.py, the wrapper that CPython is asked to run; script,
 * the user's; report, the FIFO. In a child that has become the process's user.
 */
#ifndef KRAIT_INJECT_PLACE_FILES_H
#define KRAIT_INJECT_PLACE_FILES_H

#include "inject/inject.h"

#define PLACE_RUN "run.py"

/* path: of run.py, as the process sees it. 0 and the reading end of the FIFO, or -errno. */
int place_files_make(int folder, const char *path, const struct inject_request *r, int script,
		     int *ret_report) __attribute__((warn_unused_result, nonnull));
/* Whatever is there of it, and the folder, whose name is in path. */
void place_files_remove(int parent, int folder, const char *path) __attribute__((nonnull));

#endif /* KRAIT_INJECT_PLACE_FILES_H */
