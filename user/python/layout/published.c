/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/layout/published.h"

#include <string.h>

/* Several times the largest known one (PyInterpreterState, 226 KiB). */
#define STRUCT_SIZE_MAX (4U << 20)

const struct published_info published_infos[PUBLISHED_KINDS] = {
	[PUBLISHED_ASYNCIO] = { ".AsyncioDebug", "asyncio", sizeof(struct published_asyncio),
				0x030e },
};

bool published_kind_by(enum published_kind kind, __u32 version)
{
	/* A later version may have changed it without saying so. */
	return version >> 16 >= published_infos[kind].since && version >> 16 <= 0x030f;
}

bool published_by(__u32 version)
{
	for (unsigned kind = 0; kind < PUBLISHED_KINDS; kind++)
		if (published_kind_by(kind, version))
			return true;
	return false;
}

bool published_is_whole(const struct published *p, __u32 version)
{
	for (unsigned kind = 0; kind < PUBLISHED_KINDS; kind++)
		if (published_kind_by(kind, version) && !p->tables[kind].addr)
			return false;
	return true;
}

static bool lies_in(__u64 offset, __u64 width, __u64 align, __u64 size)
{
	return !(offset % align) && size <= STRUCT_SIZE_MAX && offset < size &&
	       width <= size - offset;
}

static bool asyncio_is_sane(const struct published_asyncio *a)
{
	const struct {
		__u64 offset, width, align, size;
	} members[] = {
		{ a->task_name, 8, 8, a->task_size },
		{ a->task_awaited_by, 8, 8, a->task_size },
		{ a->task_is_task, 1, 1, a->task_size },
		{ a->task_awaited_by_is_set, 1, 1, a->task_size },
		{ a->task_coro, 8, 8, a->task_size },
		{ a->task_node, 16, 8, a->task_size },
		{ a->interp_tasks_head, 16, 8, a->interp_size },
		{ a->thread_running_loop, 8, 8, a->thread_size },
		{ a->thread_running_task, 8, 8, a->thread_size },
		{ a->thread_tasks_head, 16, 8, a->thread_size },
	};

	/* Offset 0 is the head of an object or interpreter: such a table has not been filled in. */
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (!members[i].offset || !lies_in(members[i].offset, members[i].width,
						   members[i].align, members[i].size))
			return false;
	return true;
}

bool published_is_sane(enum published_kind kind, const void *bytes, size_t len)
{
	struct published_asyncio asyncio;

	if (kind != PUBLISHED_ASYNCIO || len != sizeof(asyncio))
		return false;
	memcpy(&asyncio, bytes, sizeof(asyncio));
	return asyncio_is_sane(&asyncio);
}
