/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * modules.h - the files from which processes have mapped code, each once for the whole machine.
 *
 * A module is identified by what stat() says about its file, so fifty processes with one library
 * share it and whatever others keep for it by its number: symbols, rows for unwinding. What is not
 * a file ("[vdso]", code made at run time) is identified by its name.
 *
 * Must hold: a returned module stays valid until free; an owner (bpf/share.h) who has too many gets
 * the nameless one, "".
 */
#ifndef KRAIT_PROCESS_SPACE_MODULES_H
#define KRAIT_PROCESS_SPACE_MODULES_H

#include <linux/types.h>
#include <stdbool.h>

#include "process/space/origin.h"
#include "process/proc/file_id.h"

/* NT_GNU_BUILD_ID; longer ones are truncated. */
#define MODULE_BUILD_ID_MAX 20

struct module;
struct modules;
struct space_room;

/* NULL and errno on failure. */
struct modules *modules__new(void);
void modules__free(struct modules *ms);
/* Room and time for the mappings of all processes. */
struct space_room *modules__room(struct modules *ms);

/* Device of a file, with its inode, that nobody could examine so far; minus a process id. */
#define MODULE_DEV_UNKNOWN (~0ULL)

/*
 * The module of that file; name: as its process calls it. id NULL: it cannot be opened, or is not a
 * file, and is identified by name alone. owner: of the process in which it was first met; pays for
 * it until the end. NULL: out of memory.
 */
struct module *modules__get_id(struct modules *ms, const struct file_id *id, const char *name,
			       unsigned owner);
/* The same for the file that path leads to, if there is one. */
struct module *modules__get(struct modules *ms, const char *path, const char *name, unsigned owner);

/* A known module, by what the kernel says about its file; NULL: none. */
struct module *modules__find(struct modules *ms, const struct binary_key *key);

/* Consecutive, from 0. */
__u32 module__number(const struct module *m);
/* "" for code made at run time. */
const char *module__name(const struct module *m);
/* 0 if it is not a file. */
__u64 module__inode(const struct module *m);
/*
 * As far as its name tells: an interpreter is recognised by what is in it, for each process
 * (space.h). Only the launcher of a shared libpython, in which there is nothing else, goes by its
 * name: python3.11.
 */
enum module_origin module__origin(const struct module *m);
/* It is the interpreter of some process, and nothing else. */
void module__note_interpreter(struct module *m);
bool module__is_interpreter(const struct module *m);
/* Is that its file, whatever its state? */
bool module__has_file(const struct module *m, const struct file_id *id);
/* Available once somebody has read the file; NULL before, and if it has none. */
const __u8 *module__build_id(const struct module *m, unsigned *ret_size);
/*
 * The same for the file with that name. NULL also if several have the name, in containers say,
 * unless they are known to have the same build id.
 */
const __u8 *modules__build_id(const struct modules *ms, const char *name, unsigned *ret_size);
void module__set_build_id(struct module *m, const __u8 *id, unsigned size);

/* Is that the stat() of its file, in the state in which it was met? */
bool module__is_stat(const struct module *m, const struct stat *st);

#endif /* KRAIT_PROCESS_SPACE_MODULES_H */
