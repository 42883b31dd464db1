/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner.h - behind sudo, what krait writes belongs to the user who asked for it.
 */
#ifndef KRAIT_UTIL_OWNER_H
#define KRAIT_UTIL_OWNER_H

#include <stddef.h>

/* Gives an open file or folder to the user behind sudo; does nothing otherwise. */
void owner_give(int fd);
/* Makes the folder and those above it. 0 or -errno. */
int owner_make_folders(const char *path) __attribute__((warn_unused_result));
/* The home folder of that user. 0, -ENOENT, -ENAMETOOLONG. */
int owner_home(char *buf, size_t size) __attribute__((warn_unused_result));

#endif /* KRAIT_UTIL_OWNER_H */
