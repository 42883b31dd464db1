/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tracking.h - hands a Python process to the kernel side, and what others can be known by: its
 * executable, or the library that its interpreter is in.
 */
#ifndef KRAIT_SESSION_TRACKING_H
#define KRAIT_SESSION_TRACKING_H

struct process;
struct sampler;

/* p->info and p->start_ns are filled. 0, or as sampler__track(). */
int tracking_begin(struct sampler *sampler, const struct process *p)
	__attribute__((warn_unused_result));

#endif /* KRAIT_SESSION_TRACKING_H */
