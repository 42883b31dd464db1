/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory_file.h - an unnamed file with given bytes, to pass to another process.
 */
#ifndef KRAIT_BASE_FILES_MEMORY_FILE_H
#define KRAIT_BASE_FILES_MEMORY_FILE_H

#include <stddef.h>

/* name: shown in /proc. Returns a descriptor or -errno. */
int memory_file(const char *name, const void *data, size_t len) __attribute__((warn_unused_result));

#endif /* KRAIT_BASE_FILES_MEMORY_FILE_H */
