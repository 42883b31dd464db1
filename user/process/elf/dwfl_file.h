/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwfl_file.h - passes one file to elfutils' libdwfl, by descriptor, with at most one file of debug
 * information, which is used if it has the same build ID. libdwfl itself opens nothing.
 */
#ifndef KRAIT_PROCESS_ELF_DWFL_FILE_H
#define KRAIT_PROCESS_ELF_DWFL_FILE_H

#include <elfutils/libdwfl.h>

struct dwfl_file {
	Dwfl *dwfl;
	Dwfl_Module *module;
	int debug_fd; /* borrowed; -1 none */
};

/* Larger files are rejected; the largest known libraries have 2 GiB. */
#define DWFL_FILE_SIZE_MAX (4LL << 30)

/*
 * The caller keeps both descriptors; *ret and debug_fd must not move until it is closed. Returns 0;
 * -ENOEXEC: not a regular file, not an ELF file, or too large; -errno. On failure nothing is left
 * open.
 */
int dwfl_file_open(struct dwfl_file *ret, int fd, int debug_fd)
	__attribute__((warn_unused_result, nonnull));
void dwfl_file_close(struct dwfl_file *f) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_ELF_DWFL_FILE_H */
