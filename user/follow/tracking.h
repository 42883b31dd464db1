/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tracking.h - hands a Python process to the kernel side, and what others can be known by: its
 * executable, or the library that its interpreter is in.
 */
#ifndef KRAIT_FOLLOW_TRACKING_H
#define KRAIT_FOLLOW_TRACKING_H

#include <linux/types.h>

struct process;
struct sampler;

/*
 * p->info, start_ns and owner are filled; file_fd: the file that holds the interpreter, borrowed, or
 * -1. 0; or as sampler__track(), or -EDQUOT: its user has too many different interpreters. Then
 * p->info.why says so.
 */
int tracking_begin(struct sampler *sampler, struct process *p, int file_fd)
	__attribute__((warn_unused_result));
/* The kernel has begun by itself, with that layout: of a known file, or of the process it forked from. */
void tracking_known(struct sampler *sampler, struct process *p, __u32 layout, __u32 known_file);
/* The process no longer needs its layout, nor its file. */
void tracking_end(struct sampler *sampler, struct process *p);

#endif /* KRAIT_FOLLOW_TRACKING_H */
