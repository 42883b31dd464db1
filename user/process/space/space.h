/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.h - the address space of one process: where code is mapped and from which modules, and
 * where there is memory that is not code.
 *
 * It is read as soon as the process is known, and again on request; a mapping that the kernel
 * reports is added without reading. A child shares its parent's lists until one of the two changes.
 *
 * Must hold: an owner's lists are limited (space_room.h), and what is beyond is cut, code last;
 * both lists are what /proc/PID/maps said when it was last read, or what the parent had, plus the
 * mappings reported since.
 */
#ifndef KRAIT_PROCESS_SPACE_SPACE_H
#define KRAIT_PROCESS_SPACE_SPACE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "process/space/code_list.h"
#include "process/space/origin.h"
#include "process/proc/file_id.h"

struct modules;
struct probed;
struct record_mmap;
struct space;

struct space_config {
	struct modules *modules; /* borrowed */
	struct probed *probed; /* borrowed; NULL: read it here, for a trusted process */
	pid_t pid;
	/* Its interpreter: where its data is, in which file (all 0: unknown), what else is in that. */
	__u64 runtime_addr;
	struct file_id runtime_file;
	bool alone; /* as in struct py_process */
	unsigned owner; /* bpf/share.h: who pays for it */
	bool reported; /* somebody will call space__report() for new mappings from now on */
};

/* Not read yet. NULL and errno on failure. */
struct space *space__new(const struct space_config *config);
/* For a child that has its parent's memory. */
struct space *space__fork(const struct space *parent, struct probed *probed, pid_t pid);
void space__free(struct space *s);

/* Reads it again. Returns 1 if anything has changed, 0 if not, or -errno with everything unchanged. */
int space__read(struct space *s, __u64 now_ns);
/* May it be read again now? Its owner's processes have a share of the time (space_room.h). */
bool space__may_read(const struct space *s, __u64 now_ns);
/* From now on it stays unchanged, whatever the process does: nobody may read it any more. */
void space__fix(struct space *s);
/* When it was last read, CLOCK_MONOTONIC; 0: never. */
__u64 space__read_ns(const struct space *s);
/*
 * Adds a mapping of code, which replaces what it overlaps. Returns 0, or -errno: then it is not
 * added.
 */
int space__map(struct space *s, const struct mapping *new);
/*
 * Takes in what the kernel reported, if the file is known and its owner's processes have time left;
 * else the space is outdated until it is read again.
 */
void space__report(struct space *s, const struct record_mmap *record, __u64 now_ns);
/* There is new code somewhere in it: it must be read again. */
void space__outdate(struct space *s);
bool space__is_outdated(const struct space *s);
/* Have all changes since it was read been reported, or will they be? */
bool space__is_reported(const struct space *s);

/* For a process whose mappings are not read: that module is its interpreter. */
void space__set_interpreter(struct space *s, struct module *module);

/* The known mapping of code that contains addr; NULL: none. Valid until the next change. */
const struct mapping *space__find(const struct space *s, __u64 addr);
bool space__is_data(const struct space *s, __u64 addr);
/* The contiguous memory that is not code around an address; false: there is none. */
bool space__data(const struct space *s, __u64 addr, __u64 *ret_start, __u64 *ret_end);
/* All mappings of code, by address; valid until the next change. */
const struct mapping *space__mappings(const struct space *s, unsigned *ret_cnt);
/* Changes with every change of the mappings, and differs for different ones. */
__u64 space__digest(const struct space *s);

/*
 * Whose code is in that module, in this process. The module that holds its runtime is its
 * interpreter, whatever it is called, and only in this process: a libpython that an interpreter of
 * another version has loaded is not.
 */
enum module_origin space__origin(const struct space *s, const struct module *module);

struct probed *space__probed(const struct space *s);
pid_t space__pid(const struct space *s);

#endif /* KRAIT_PROCESS_SPACE_SPACE_H */
