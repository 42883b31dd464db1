/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.h - the address space of one process: where code is mapped and from which modules, and where there
 * is memory that is no code.
 *
 * It is read as soon as the process is known, and again when somebody asks; a mapping that the kernel
 * reports is put in without that. A child shares its parent's lists until one of the two changes.
 *
 * Must hold: an owner's lists have their limits (space_room.h), and what is beyond is cut, code last;
 * both lists are what /proc/PID/maps said when it was read last, or what the parent had, with the
 * mappings that were reported since.
 */
#ifndef KRAIT_PROC_SPACE_H
#define KRAIT_PROC_SPACE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "proc/code_list.h"

struct modules;
struct probed;
struct record_mmap;
struct space;

struct space_config {
	struct modules *modules; /* borrowed */
	struct probed *probed; /* borrowed; NULL: read here, for a process that is trusted */
	pid_t pid;
	__u64 runtime_addr; /* of the interpreter, 0 where it is in the executable */
	unsigned owner; /* bpf/share.h: who pays for it */
	bool reported; /* somebody will call space__report() for what is mapped from now on */
};

/* Not read yet. NULL and errno on failure. */
struct space *space__new(const struct space_config *config);
/* Of a child that has its parent's memory. */
struct space *space__fork(const struct space *parent, struct probed *probed, pid_t pid);
void space__free(struct space *s);

/* Reads it anew. 1 if anything has changed, 0 if not, or -errno and all stays as it is. */
int space__read(struct space *s, __u64 now_ns);
/* May it be read again now? Its owner's processes have a part of the time (space_room.h). */
bool space__may_read(const struct space *s, __u64 now_ns);
/* From now on it stays what it is, whatever the process does: nobody may read it any more. */
void space__fix(struct space *s);
/* When it was read last, CLOCK_MONOTONIC; 0 never. */
__u64 space__read_ns(const struct space *s);
/* A new mapping of code, in place of what it lies over. 0, or -errno: then it is not in. */
int space__map(struct space *s, const struct mapping *new);
/*
 * What the kernel has reported: takes it in where its file is known, and its owner's processes have not
 * had their time yet; else the space is outdated until it is read again.
 */
void space__report(struct space *s, const struct record_mmap *record, __u64 now_ns);
/* There is new code somewhere in it. */
void space__outdate(struct space *s);
bool space__is_outdated(const struct space *s);
/* Reports of all changes since it was read have come, or will. */
bool space__is_reported(const struct space *s);

/* The mapping of code that has that address, as far as is known; NULL none. Good until the next change. */
const struct mapping *space__find(const struct space *s, __u64 addr);
bool space__is_data(const struct space *s, __u64 addr);
/* Memory that is no code, all in one piece, around an address; false: it is in none. */
bool space__data(const struct space *s, __u64 addr, __u64 *ret_start, __u64 *ret_end);
/* All mappings of code, by address; good until the next change. */
const struct mapping *space__mappings(const struct space *s, unsigned *ret_cnt);
/* Another one after every change of the mappings, and for other mappings. */
__u64 space__digest(const struct space *s);

struct probed *space__probed(const struct space *s);
pid_t space__pid(const struct space *s);

#endif /* KRAIT_PROC_SPACE_H */
