/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/frames.h"

#include <stdio.h>

#include "profile/marks.h"

/* As perf calls the object that is not a module. */
#define KERNEL_ITSELF "[kernel.kallsyms]"

__u32 frame_kernel(struct profile *p, const char *name, const char *module, __u64 address)
{
	char file[128];

	if (!name)
		return profile__plain_frame(p, FRAME_KERNEL, NAME_KERNEL, "", address);
	if (!*module || *module == '[')
		return profile__plain_frame(p, FRAME_KERNEL, name, *module ? module : KERNEL_ITSELF,
					    address);
	snprintf(file, sizeof(file), "[%s]", module);
	return profile__plain_frame(p, FRAME_KERNEL, name, file, address);
}

__u32 frame_native(struct profile *p, const char *name, const char *path, __u64 address)
{
	return profile__plain_frame(p, FRAME_NATIVE, name, path, address);
}

__u32 frame_unknown(struct profile *p)
{
	return frame_mark(p, MARK_UNKNOWN);
}

__u32 frame_mark(struct profile *p, const char *text)
{
	return profile__plain_frame(p, FRAME_MARK, text, "", 0);
}
