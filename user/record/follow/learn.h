/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * learn.h - tells the kernel side about a Python process, and about the file that identifies
 * others: the executable, or the library with the interpreter.
 */
#ifndef KRAIT_RECORD_FOLLOW_LEARN_H
#define KRAIT_RECORD_FOLLOW_LEARN_H

#include <linux/types.h>

struct process;
struct sampler;

/*
 * p->info, start_ns and owner must be filled; file_fd: the file that contains the interpreter,
 * borrowed, or -1. Returns 0; or as sampler__track(), or -EDQUOT: its user has too many different
 * interpreters. Then p->info.why says so.
 */
int learn_process(struct sampler *sampler, struct process *p, int file_fd)
	__attribute__((warn_unused_result));
/* The kernel has already started with this layout, from a known file or from the parent process. */
void learn_known(struct sampler *sampler, struct process *p, __u32 layout, __u32 known_file);
/* The process no longer needs its layout and its file. */
void learn_forget(struct sampler *sampler, struct process *p);

#endif /* KRAIT_RECORD_FOLLOW_LEARN_H */
