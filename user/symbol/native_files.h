/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_files.h - the ELF files that native code of all processes is in, and its functions.
 *
 * A file is known by what stat() says of it, so fifty processes with one library share its symbols,
 * which are read when the first address in it is asked for, through the process that asks. A function
 * is made once: its name is what the file has, demangled. All code without a name is "[libfoo.so]".
 *
 * Parsers read the files (target/parser.h): one for root's and a few for those of others, by owner, so
 * that nobody's file costs another's names. What they say is kept by ranges of offsets, so each is
 * asked for once. A file that costs a parser its life or its time is not read again.
 *
 * Must hold: what was handed out stays valid until free; memory grows with the number of different
 * functions that were seen, up to NATIVE_SYMBOLS_MAX; then they are one for each file. An owner
 * of files other than root makes krait wait for no more than a tenth of the time (symbol_reader.c).
 */
#ifndef KRAIT_SYMBOL_NATIVE_FILES_H
#define KRAIT_SYMBOL_NATIVE_FILES_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "symbol/native_origin.h"
#include "target/file_id.h"

/* About 200 bytes each. */
#define NATIVE_SYMBOLS_MAX (1U << 20)
/* Files whose symbols are open at once; each holds a descriptor or two. Others take their place. */
#define NATIVE_FILES_OPEN 300
/* Ranges of offsets with their answers, of one file and of all; 32 bytes each. */
#define NATIVE_RANGES_MAX 65536

struct maps_room;
struct native_files;
struct native_file;

struct native_symbol {
	const char *name;
	const struct native_file *file;
	__u64 tag; /* the consumer's; 0 at first */
};

/* NULL and errno on failure. */
struct native_files *native_files__new(void);
/* Room and time for the mappings of processes. */
struct maps_room *native_files__room(struct native_files *f);
/* Has what it takes to start parsers started now, while krait has all its rights. */
void native_files__prepare(struct native_files *f);
/* The interpreter's functions are not shown: they need no names, which take long to find. */
void native_files__skip_interpreter(struct native_files *f);
void native_files__free(struct native_files *f);

/* In place of a device, with an inode: a file that nobody could look at so far. Less a process id. */
#define NATIVE_DEV_UNKNOWN (~0ULL)

/*
 * That file; name: what its process calls it. id NULL: where it cannot be opened, or is none ("[vdso]",
 * ""), it is known by that name alone. owner: in whose process it was met (bpf/share.h), who pays for it until
 * the end; one who has too many gets the nameless one, "". NULL when out of memory.
 */
struct native_file *native_files__get_id(struct native_files *f, const struct file_id *id,
					 const char *name, unsigned owner);
/* The same of the file that path leads to, if it does. */
struct native_file *native_files__get(struct native_files *f, const char *path, const char *name,
				      unsigned owner);
/* Nobody has tried to open it yet, and native_files__open() may. */
bool native_file__is_closed(const struct native_file *file);
/*
 * By the first of the paths that leads to that very file. root: where a separate file of symbols may be
 * as well as here, NULL nowhere.
 */
void native_files__open(struct native_files *f, struct native_file *file, const char *const paths[],
			unsigned path_cnt, const char *root);
/* A descriptor of that very file, from a prober; it is ours now. remote: see open_file_is_remote(). */
void native_files__open_fd(struct native_files *f, struct native_file *file, int fd, bool remote);
/* It could not be opened through one process; after a few of them nobody tries any more. */
void native_file__note_failure(struct native_file *file);
/*
 * Would symbols from elsewhere help (debug_file.h)? Then a descriptor of a file that belongs to root or
 * to that owner; it is ours now.
 */
bool native_file__wants_debug(const struct native_file *file, uid_t *ret_owner);
void native_files__add_debug(struct native_files *f, struct native_file *file, int fd);
/* The code at that offset in the file. NULL when out of memory. */
struct native_symbol *native_files__find(struct native_files *f, struct native_file *file,
					 __u64 offset);

/*
 * Is this the file that the path leads to, seen from dir_fd, or with an empty path that descriptor's?
 * Does not ask who serves it, and looks at no times.
 */
bool native_file__is(const struct native_file *file, int dir_fd, const char *path);
/* Its number, 0 where it is no file. */
__u64 native_file__inode(const struct native_file *file);
/* See elf_symbols__return_word(). */
int native_file__return_word(struct native_file *file, __u64 offset);
const char *native_file__name(const struct native_file *file);
enum native_origin native_file__origin(const struct native_file *file);
/* The interpreter is in it. */
void native_file__set_interpreter(struct native_file *file);
/* Its build ID, or NULL. */
const __u8 *native_file__build_id(const struct native_file *file, unsigned *ret_size);

/*
 * "[libfoo.so]", "[vdso]", "[anonymous]" for "": what all code of a file is that has no name of its own.
 * One for each file, since an entry for each address would bury a stripped library's time in a thousand
 * rows. The caller's to free; NULL without memory.
 */
char *native_unnamed(const char *path);

#endif /* KRAIT_SYMBOL_NATIVE_FILES_H */
