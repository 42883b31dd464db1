/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - how frames that are not Python are called: the same in a recording and in a capture that
 * is read back.
 *
 * address: as the call chain has it, where each address is to be a frame of its own; else 0.
 * All return a frame's id, 0 where there is no room.
 */
#ifndef KRAIT_PROFILE_FRAMES_H
#define KRAIT_PROFILE_FRAMES_H

#include "profile/profile.h"

/* name NULL: code of the kernel without a symbol. module: "ext4", "[ext4]", or "" for the kernel itself. */
__u32 frame_kernel(struct profile *p, const char *name, const char *module, __u64 address);
/* name: "[libfoo.so]" where the code has none (native_unnamed()); path: of the file, "" unknown. */
__u32 frame_native(struct profile *p, const char *name, const char *path, __u64 address);
/* An address that lies in nothing that the process has mapped. */
__u32 frame_unknown(struct profile *p);
/* A text of marks.h. */
__u32 frame_mark(struct profile *p, const char *text);

#endif /* KRAIT_PROFILE_FRAMES_H */
