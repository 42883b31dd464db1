/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * modules.h - the files that processes have code mapped from, each once for the whole machine.
 *
 * A module is known by what stat() says of its file, so fifty processes with one library share it and
 * whatever others keep for it by its number: symbols, rows for unwinding. What is no file ("[vdso]", code
 * made at run time) is known by its name.
 *
 * Must hold: what was handed out stays valid until free; an owner (bpf/share.h) who has too many gets the
 * nameless one, "".
 */
#ifndef KRAIT_PROC_MODULES_H
#define KRAIT_PROC_MODULES_H

#include <linux/types.h>
#include <stdbool.h>

#include "proc/origin.h"
#include "target/file_id.h"

/* NT_GNU_BUILD_ID; longer ones are cut. */
#define MODULE_BUILD_ID_MAX 20

struct module;
struct modules;
struct space_room;

/* NULL and errno on failure. */
struct modules *modules__new(void);
void modules__free(struct modules *ms);
/* Room and time for the mappings of all processes. */
struct space_room *modules__room(struct modules *ms);

/* In place of a device, with an inode: a file that nobody could look at so far. Less a process id. */
#define MODULE_DEV_UNKNOWN (~0ULL)

/*
 * The module of that file; name: what its process calls it. id NULL: it cannot be opened, or is no file,
 * and is known by that name alone. owner: in whose process it was met, who pays for it until the end.
 * NULL when out of memory.
 */
struct module *modules__get_id(struct modules *ms, const struct file_id *id, const char *name,
			       unsigned owner);
/* The same of the file that path leads to, if it does. */
struct module *modules__get(struct modules *ms, const char *path, const char *name, unsigned owner);

/* One that was met, by what the kernel says of its file; NULL none. */
struct module *modules__find(struct modules *ms, const struct binary_key *key);

/* From 0; the next one has the next number. */
__u32 module__number(const struct module *m);
/* "" of code that was made at run time. */
const char *module__name(const struct module *m);
/* 0 where it is no file. */
__u64 module__inode(const struct module *m);
enum module_origin module__origin(const struct module *m);
/* The interpreter is in it. */
void module__set_interpreter(struct module *m);
/* Once somebody has read the file; NULL before, and where it has none. */
const __u8 *module__build_id(const struct module *m, unsigned *ret_size);
/*
 * The same of the file that goes by that name. NULL, too, where several do, in containers say, and are not known to have
 * the same one.
 */
const __u8 *modules__build_id(const struct modules *ms, const char *name, unsigned *ret_size);
void module__set_build_id(struct module *m, const __u8 *id, unsigned size);

/*
 * Is this the file that the path leads to, seen from dir_fd, or with an empty path that descriptor's?
 * Does not ask who serves it, and looks at no times.
 */
bool module__is(const struct module *m, int dir_fd, const char *path);
/* The same of what was looked at already, in the state in which it was met. */
bool module__is_stat(const struct module *m, const struct stat *st);

#endif /* KRAIT_PROC_MODULES_H */
