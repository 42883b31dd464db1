/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * published.h - the tables that CPython publishes beside that of its runtime: which there are, in which
 * section of which files, and what is in them.
 *
 * .AsyncioDebug says where tasks are (Modules/_asynciomodule.c, 3.14 and later). It is in the extension
 * module _asyncio, which is mapped when a program imports asyncio, or in the file of the runtime, where that
 * module is built in. It has neither a cookie nor a version: the runtime's version says how to read it.
 *
 * Must hold: a table counts only where the bytes in a process's memory are those of the file that is mapped
 * there; every offset handed out lies, with the width of its field, inside the struct that it is of.
 */
#ifndef KRAIT_TARGET_PUBLISHED_H
#define KRAIT_TARGET_PUBLISHED_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of one table. */
#define PUBLISHED_SIZE_MAX 104

enum published_kind { PUBLISHED_ASYNCIO, PUBLISHED_KINDS };

/* As it lies in memory, of 3.14 and 3.15: offsets in bytes. */
struct published_asyncio {
	__u64 task_size;
	__u64 task_name, task_awaited_by, task_is_task, task_awaited_by_is_set, task_coro,
		task_node;
	__u64 interp_size, interp_tasks_head;
	__u64 thread_size, thread_running_loop, thread_running_task, thread_tasks_head;
};
_Static_assert(sizeof(struct published_asyncio) == PUBLISHED_SIZE_MAX, "as in CPython");

struct published_table {
	__u64 addr; /* in the process; 0: not found */
	union {
		struct published_asyncio asyncio;
	};
};

/* What one process has, by enum published_kind. */
struct published {
	struct published_table tables[PUBLISHED_KINDS];
};

/* What is known of a kind, whoever publishes it. */
struct published_info {
	const char *section;
	const char
		*file; /* part of the names of files that may have it, beside that of the runtime */
	size_t size;
	__u32 since; /* PY_VERSION_HEX >> 16 */
};
extern const struct published_info published_infos[PUBLISHED_KINDS];

/* Is there anything that an interpreter of this version (PY_VERSION_HEX) may publish? */
bool published_by(__u32 version);
/* The same of one kind. */
bool published_kind_by(enum published_kind kind, __u32 version);
/* Has the process all that its version may publish? */
bool published_is_whole(const struct published *p, __u32 version) __attribute__((nonnull));
/* Can these bytes be such a table? */
bool published_is_sane(enum published_kind kind, const void *bytes, size_t len)
	__attribute__((nonnull));

struct elf_facts;

/*
 * Looks for the tables of the process of that folder of /proc. version and runtime_addr: its interpreter's;
 * facts: who reads files. 0, though nothing may be found, or -errno.
 */
int published_find(int dir, __u32 version, __u64 runtime_addr, struct elf_facts *facts,
		   struct published *ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_PUBLISHED_H */
