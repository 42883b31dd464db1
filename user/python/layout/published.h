/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * published.h - the tables that CPython publishes besides that of its runtime: which ones exist, in
 * which section of which files, and their content.
 *
 * .AsyncioDebug says where tasks are (Modules/_asynciomodule.c, 3.14 and later). It is in the
 * extension module _asyncio, which is mapped when a program imports asyncio, or in the runtime's
 * file if that module is built in. It has neither a cookie nor a version: the runtime's version
 * says how to read it.
 *
 * Must hold: every offset of a table that is sane, plus the width of its field, lies inside its struct.
 */
#ifndef KRAIT_PYTHON_LAYOUT_PUBLISHED_H
#define KRAIT_PYTHON_LAYOUT_PUBLISHED_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of one table. */
#define PUBLISHED_SIZE_MAX 104

enum published_kind { PUBLISHED_ASYNCIO, PUBLISHED_KINDS };

/* Memory layout in 3.14 and 3.15: offsets in bytes. */
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

/* What one process has, indexed by enum published_kind. */
struct published {
	struct published_table tables[PUBLISHED_KINDS];
};

/* What is known about a kind in any process. */
struct published_info {
	const char *section;
	const char
		/* substring of the names of files that may have it, besides the runtime's file */
		*file;
	size_t size;
	__u32 since; /* PY_VERSION_HEX >> 16 */
};
extern const struct published_info published_infos[PUBLISHED_KINDS];

/* May an interpreter of this version (PY_VERSION_HEX) publish anything? */
bool published_by(__u32 version);
/* The same for one kind. */
bool published_kind_by(enum published_kind kind, __u32 version);
/* Does the process have everything that its version may publish? */
bool published_is_whole(const struct published *p, __u32 version) __attribute__((nonnull));
/* Can these bytes be such a table? */
bool published_is_sane(enum published_kind kind, const void *bytes, size_t len)
	__attribute__((nonnull));

#endif /* KRAIT_PYTHON_LAYOUT_PUBLISHED_H */
