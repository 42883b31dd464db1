/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack/frames.h"

#include <errno.h>
#include <stdlib.h>

int frames_reserve(struct frames *f, __u32 cnt)
{
	__u32 cap = f->cap ? f->cap : 32;
	struct frame *list;
	__u32 *tags;

	if (cnt <= f->cap)
		return 0;
	while (cap < cnt)
		cap *= 2;
	list = realloc(f->list, cap * sizeof(*list));
	if (!list)
		return -ENOMEM;
	f->list = list;
	tags = realloc(f->tags, cap * sizeof(*tags));
	if (!tags)
		return -ENOMEM;
	f->tags = tags;
	f->cap = cap;
	return 0;
}

void frames_free(struct frames *f)
{
	free(f->list);
	free(f->tags);
	*f = (struct frames){ 0 };
}
