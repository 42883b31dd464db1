/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_files.h - the functions in the modules of all processes (proc/modules.h).
 *
 * Symbols of a module are read when the first address in it is asked for, through the process that asks. A
 * function is made once: its name is what the file has, demangled. All code without a name is
 * "[libfoo.so]".
 *
 * Parsers read the files (target/parser.h): one for root's and a few for those of others, by owner, so
 * that nobody's file costs another's names. What they say is kept by ranges of offsets, so each is
 * asked for once. A file that costs a parser its life or its time is not read again.
 *
 * Must hold: what was handed out stays valid until free; memory grows with the number of different
 * functions that were seen, up to NATIVE_SYMBOLS_MAX; then they are one for each module. An owner
 * of files other than root makes krait wait for no more than a tenth of the time (symbol_reader.c).
 */
#ifndef KRAIT_SYMBOL_NATIVE_FILES_H
#define KRAIT_SYMBOL_NATIVE_FILES_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "target/parser.h"

/* About 200 bytes each. */
#define NATIVE_SYMBOLS_MAX (1U << 20)
/* Files whose symbols are open at once; each holds a descriptor or two. Others take their place. */
#define NATIVE_FILES_OPEN 300
/* Ranges of offsets with their answers, of one file and of all; 32 bytes each. */
#define NATIVE_RANGES_MAX 65536

struct module;
struct modules;
struct native_files;
struct symbol_file;
struct unwind_rows;

struct native_symbol {
	const char *name;
	const struct module *module;
	bool is_wrapper; /* it only calls the function of that name (symbol/demangle.h) */
	__u64 tag; /* the consumer's; 0 at first */
};

/* modules: borrowed. NULL and errno on failure. */
struct native_files *native_files__new(struct modules *modules);
struct modules *native_files__modules(struct native_files *f);
/* Has what it takes to start parsers started now, while krait has all its rights. */
void native_files__prepare(struct native_files *f);
/* It is a recording that asks, which has to end in time: symbol_reader__hurry(). */
void native_files__hurry(struct native_files *f);
/* How often an answer was not waited for any longer. */
__u64 native_files__late(const struct native_files *f);
/* As parsers__tap(). */
void native_files__tap(struct native_files *f, parse_tap_fn fn, void *ctx);
/* The interpreter's functions are not shown: they need no names, which take long to find. */
void native_files__skip_interpreter(struct native_files *f);
/*
 * While that is on, no file but an interpreter is read for its symbols: its functions are shown as that file's, and get
 * their names when they are met again later.
 */
void native_files__starve(struct native_files *f, bool on);
/* As symbol_reader__rest(). */
void native_files__rest(struct native_files *f, __u64 idle_ns);
/* Is the file not to be read now? Counts that. */
bool native_files__put_off(struct native_files *f, const struct module *module);
/* How many frames were shown without their names for that. */
__u64 native_files__put_off_cnt(const struct native_files *f);
/* Are the file's functions shown by name? */
bool native_files__has_names(const struct native_files *f, const struct module *module);
void native_files__free(struct native_files *f);

/* Its symbols have not been read yet, and native_files__open() or native_files__read() may. */
bool native_files__is_closed(struct native_files *f, const struct module *module);
/* Nobody has tried to open it yet: native_files__open(), native_files__open_fd(). */
bool native_files__wants_file(struct native_files *f, const struct module *module);
/*
 * By the first of the paths that leads to that very file. root: where a separate file of symbols may be
 * as well as here, NULL nowhere.
 */
void native_files__open(struct native_files *f, struct module *module, const char *const paths[],
			unsigned path_cnt, const char *root);
/* A descriptor of that very file, from a prober; it is ours now. remote: see open_file_is_remote(). */
void native_files__open_fd(struct native_files *f, struct module *module, int fd, bool remote);
/* Has the symbols of a file that is open read, which its rows do without: the largest take a second. */
void native_files__read(struct native_files *f, struct module *module);
/* Separate symbols for a file that is read: here, and in that root, NULL there is none. */
void native_files__search_debug(struct native_files *f, struct module *module, const char *root);
/* It could not be opened through one process; after a few of them nobody tries any more. */
void native_files__note_failure(struct native_files *f, struct module *module);
/*
 * Would symbols from elsewhere help (debug_file.h)? Then a descriptor of a file that belongs to root or
 * to that owner; it is ours now.
 */
bool native_files__wants_debug(struct native_files *f, const struct module *module,
			       uid_t *ret_owner);
void native_files__add_debug(struct native_files *f, struct module *module, int fd);

/* The code at that offset in the file. NULL when out of memory. */
struct native_symbol *native_files__find(struct native_files *f, struct module *module,
					 __u64 offset);
/*
 * The same for many offsets at once. native_files__ask() asks for those that are not known yet: 0; -EAGAIN: not now,
 * ask again; -errno: no more will be known. native_files__known() is the answer afterwards.
 */
int native_files__ask(struct native_files *f, struct module *module, const __u64 *offsets,
		      __u32 cnt) __attribute__((warn_unused_result));
struct native_symbol *native_files__known(struct native_files *f, struct module *module,
					  __u64 offset);
/* What all code in the file is called that has no name of its own. NULL when out of memory. */
struct native_symbol *native_files__unnamed(struct native_files *f, struct module *module);
/* Is that offset in the function that evaluates a Python frame? */
bool native_files__is_eval(struct native_files *f, struct module *module, __u64 offset);
/* May it be in greenlet's function that takes entry frames out of a chain (bpf/exposed.h)? True where nobody knows. */
bool native_files__may_expose(struct native_files *f, struct module *module, __u64 offset);
/* Its descriptors, open or not, for who reads something else of it. NULL: nobody has asked for it. */
const struct symbol_file *native_files__symbol_file(const struct native_files *f,
						    const struct module *module);
/* How its code is unwound: see symbol_reader__rows(). It must be open. */
int native_files__rows(struct native_files *f, struct module *module, struct unwind_rows *ret);

/* The same of made code: see symbol_reader__made_rows(). */
int native_files__made_rows(struct native_files *f, int fd, uid_t owner, struct unwind_rows *ret);

/*
 * "[libfoo.so]", "[vdso]", "[anonymous]" for "": what all code of a file is that has no name of its own.
 * One for each file, since an entry for each address would bury a stripped library's time in a thousand
 * rows. The caller's to free; NULL without memory.
 */
char *native_unnamed(const char *path);

#endif /* KRAIT_SYMBOL_NATIVE_FILES_H */
