/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_maps.h - where the code of one process is mapped, and from which files; and where there is memory
 * that is no code.
 *
 * Must hold: an owner's lists have their limits (maps_room.h), and what is beyond is cut, code last;
 * both lists are what /proc/PID/maps said when it was read last, or what the parent had.
 */
#ifndef KRAIT_SYMBOL_CODE_MAPS_H
#define KRAIT_SYMBOL_CODE_MAPS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "symbol/native_files.h"

struct probed;

/* Executable ones; more are left out. A process with a thousand libraries has a thousand. */
#define CODE_MAPS_MAX 16384

struct native_mapping {
	__u64 start, end, offset;
	struct native_file *file;
};

struct code_range {
	__u64 start, end;
};

/* How many have the lists of one reading: a process and its children. */
struct code_maps_users {
	unsigned cnt;
	unsigned owner; /* whose room they take */
	__u32 ranges; /* so much of it */
};

/* The first five are the owner's to set, before anything else; all else 0 at first. */
struct code_maps {
	struct native_files *files; /* borrowed */
	unsigned owner; /* bpf/share.h: who pays for them */
	struct probed *probed; /* borrowed; NULL: read here, for a process that is trusted */
	pid_t pid;
	__u64 runtime_addr; /* of the interpreter, 0 where it is in the executable */
	__u32 serial; /* another one after every change; 0 never read */
	__u64 digest;
	struct code_maps_users *users; /* of both lists, which never change */
	struct native_mapping *list; /* by start */
	unsigned cnt, cap;
	struct code_range *data; /* no code; by start, those side by side are one */
	unsigned data_cnt, data_cap;
};

/* 1 if anything has changed, 0 if not, or -errno and all stays as it is. */
int code_maps__read(struct code_maps *c);
/* Of a child that has its parent's memory: it shares the lists until it is read for itself. */
void code_maps__fork(struct code_maps *ret, const struct code_maps *parent, pid_t pid,
		     struct probed *probed);
void code_maps__free(struct code_maps *c);

/* The executable's file, whatever it is called, has the interpreter in it. */
void code_maps__mark_executable(struct code_maps *c);
const struct native_mapping *code_maps__find(const struct code_maps *c, __u64 ip);
bool code_maps__is_data(const struct code_maps *c, __u64 addr);

#endif /* KRAIT_SYMBOL_CODE_MAPS_H */
