/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_files.h - the functions in the modules of all processes (process/space/modules.h).
 *
 * A module's symbols are read when an address in it is first looked up, through the process that
 * asks. Each function is created once: its name is the file's, demangled. All code without a name
 * is "[libfoo.so]".
 *
 * Parsers read the files (process/parser/parser.h): one for root's and a few for those of others, by owner,
 * so that one owner's file does not cost another's names. Answers are kept as ranges of offsets, so
 * each is asked for once. A file that kills or stalls a parser is not read again.
 *
 * Must hold: returned symbols stay valid until free; memory grows with the number of different
 * functions seen, up to NATIVE_SYMBOLS_MAX; beyond that there is one per module. An owner of files
 * other than root makes krait wait for at most a tenth of the time (symbol_reader.c).
 */
#ifndef KRAIT_NATIVE_NAMES_NATIVE_FILES_H
#define KRAIT_NATIVE_NAMES_NATIVE_FILES_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "process/parser/parser.h"

/* About 200 bytes each. */
#define NATIVE_SYMBOLS_MAX (1U << 20)
/* Files with symbols that are open at once; each holds a descriptor or two. Others replace them. */
#define NATIVE_FILES_OPEN 300
/* Ranges of offsets with their answers, per file and in total; 32 bytes each. */
#define NATIVE_RANGES_MAX 65536

struct module;
struct modules;
struct native_files;
struct symbol_file;
struct symbol_reader;
struct unwind_rows;

struct native_symbol {
	const char *name;
	const struct module *module;
	bool is_wrapper; /* it only calls the function with that name (native/names/demangle.h) */
	bool is_python; /* CPython's own (native/names/symbol_ranges.c), whatever else the file has */
	__u64 tag; /* the consumer's; initially 0 */
};

/* modules: borrowed. NULL and errno on failure. */
struct native_files *native_files__new(struct modules *modules);
struct modules *native_files__modules(struct native_files *f);
/* The parsers that read them (symbol_reader.h). */
struct symbol_reader *native_files__reader(const struct native_files *f);
/* The interpreter's functions are not shown: no server is asked for their names. */
void native_files__skip_interpreter(struct native_files *f);
/*
 * While on, reads symbols of no file except an interpreter. Functions are shown as their file's,
 * and get their names when they are met again later.
 */
void native_files__starve(struct native_files *f, bool on);
/* Is reading the file postponed for that reason? */
bool native_files__starves(const struct native_files *f, const struct module *module);
/* May a server be asked for the names of the file's functions? */
bool native_files__has_names(const struct native_files *f, const struct module *module);
void native_files__free(struct native_files *f);

/* Its symbols have not been read yet, but native_files__open() or native_files__read() may. */
bool native_files__is_closed(struct native_files *f, const struct module *module);
/* Is the name of the function at that offset known, even if the file is closed? */
bool native_files__knows(struct native_files *f, const struct module *module, __u64 offset);
/* Has nobody tried to open it yet? See native_files__open(), native_files__open_fd(). */
bool native_files__wants_file(struct native_files *f, const struct module *module);
/*
 * Opens it by the first of the paths that leads to that very file. root: where, besides here, a
 * separate file of symbols may be; NULL: nowhere.
 */
void native_files__open(struct native_files *f, struct module *module, const char *const paths[],
			unsigned path_cnt, const char *root);
/* Takes over a descriptor of that very file, from a prober. remote: see open_file_is_remote(). */
void native_files__open_fd(struct native_files *f, struct module *module, int fd, bool remote);
/* The same for the kernel's page in every process, whose module has no file. */
void native_files__open_vdso(struct native_files *f, struct module *module);
/* Reads the symbols of an open file, which its rows do not need: the largest take a second. */
void native_files__read(struct native_files *f, struct module *module);
/* Searches for separate symbols of a file that has been read: here, and in that root; NULL: none. */
void native_files__search_debug(struct native_files *f, struct module *module, const char *root);
/* It could not be opened through one process; after a few failures nobody tries any more. */
void native_files__note_failure(struct native_files *f, struct module *module);
/*
 * Would symbols from elsewhere help (debug_file.h)? Then takes over a descriptor of a file that
 * belongs to root or to that owner.
 */
bool native_files__wants_debug(struct native_files *f, const struct module *module,
			       uid_t *ret_owner);
void native_files__add_debug(struct native_files *f, struct module *module, int fd);

/*
 * The symbol for that offset in the file. NULL: out of memory. *ret_later: it is the file's for now, since its owner has
 * had its share of the time, or a parser is late; whoever asks again may get its name.
 */
struct native_symbol *native_files__find_now(struct native_files *f, struct module *module,
					     __u64 offset, bool *ret_later);
/* The same for callers that do not ask again. */
struct native_symbol *native_files__find(struct native_files *f, struct module *module,
					 __u64 offset);
/*
 * The same for many offsets at once. native_files__ask() asks about unknown ones: 0; -EAGAIN: not
 * now, ask again; -errno: no more will be known. native_files__known() then returns the answer.
 */
int native_files__ask(struct native_files *f, struct module *module, const __u64 *offsets,
		      __u32 cnt) __attribute__((warn_unused_result));
struct native_symbol *native_files__known(struct native_files *f, struct module *module,
					  __u64 offset);
/* The symbol for all code in the file without its own name. NULL: out of memory. */
struct native_symbol *native_files__unnamed(struct native_files *f, struct module *module);
/* Is that offset in the function that evaluates a Python frame? *ret_later: not known yet. */
bool native_files__is_eval(struct native_files *f, struct module *module, __u64 offset,
			   bool *ret_later);
/* Is the function at that offset CPython's own (native/names/symbol_ranges.c)? *ret_later: not known yet. */
bool native_files__is_python(struct native_files *f, struct module *module, __u64 offset,
			     bool *ret_later);
/*
 * May it be in what that function calls while its frame is not in the thread's chain? Up to 3.10;
 * true if unknown.
 */
bool native_files__may_check_call(struct native_files *f, struct module *module, __u64 offset);
/* May it be in greenlet's function that unlinks entry frames (bpf/python/greenlet_switching.h)? True if unknown. */
bool native_files__may_expose(struct native_files *f, struct module *module, __u64 offset,
			      bool *ret_later);
/* Its descriptors, open or not, for reading other things from it. NULL: nobody has asked about it. */
const struct symbol_file *native_files__symbol_file(const struct native_files *f,
						    const struct module *module);
/* How to unwind its code: see symbol_reader__rows(). It must be open. */
int native_files__rows(struct native_files *f, struct module *module, struct unwind_rows *ret);

/*
 * "[libfoo.so]", "[vdso]", "[anonymous]" for "": the name of all code in a file without its own
 * name. One per file, since an entry per address would spread a stripped library's time over a
 * thousand rows. The caller frees it; NULL: out of memory.
 */
char *native_unnamed(const char *path);

#endif /* KRAIT_NATIVE_NAMES_NATIVE_FILES_H */
