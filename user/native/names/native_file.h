/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_file.h - one file with native code: its descriptors, whether its symbols have been read,
 * and the names that were found in it. Owned by native_files.c, which also says when it is closed.
 */
#ifndef KRAIT_NATIVE_NAMES_NATIVE_FILE_H
#define KRAIT_NATIVE_NAMES_NATIVE_FILE_H

#include <linux/types.h>
#include <stdbool.h>

#include "native/names/name_ranges.h"
#include "native/names/symbol_reader.h"

struct module;

struct native_file {
	struct module *module;
	bool tried; /* to open it */
	unsigned failures; /* failed attempts */
	bool read; /* its symbols; a file may also be open just for its rows */
	bool wants_debug; /* it has no symbols of its own, and none were found elsewhere */
	__u64 used; /* when it was last asked about */
	struct symbol_file symbols;
	struct name_ranges names;
};

/* NULL: out of memory. */
struct native_file *native_file_new(struct module *module) __attribute__((warn_unused_result));
void native_file_free(struct native_file *file, struct symbol_reader *reader);

/* It could not be opened through some process. After a few of them, nobody tries any more. */
void native_file_note_failure(struct native_file *file);
/*
 * Takes a descriptor of the file. remote: see open_file_is_remote(). False: the file does not want
 * it, or it is one of another file; it stays the caller's.
 */
bool native_file_take(struct native_file *file, int fd, bool remote)
	__attribute__((warn_unused_result));
/* Takes the kernel's page (base/system/vdso.h), which is not a file. */
void native_file_take_vdso(struct native_file *file, int fd);
/* Closes what is open; the names stay, and it may be opened again. */
void native_file_close(struct native_file *file, struct symbol_reader *reader);

/* It is open and its symbols have not been read. */
bool native_file_is_unread(const struct native_file *file);
/*
 * Reads the file's properties; tries once more without debug information, which may be too much for
 * a parser.
 */
void native_file_read(struct native_file *file, struct symbol_reader *reader);
/* Takes over a descriptor with its debug information; closes it if the file does not want it. */
void native_file_add_debug(struct native_file *file, struct symbol_reader *reader, int fd);

#endif /* KRAIT_NATIVE_NAMES_NATIVE_FILE_H */
