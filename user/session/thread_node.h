/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_node.h - the node that the stacks of a thread hang on: its process's, and below that its own.
 *
 * A process is called after what it was at its first sample (label.h). A thread that changes its name gets another node.
 */
#ifndef KRAIT_SESSION_THREAD_NODE_H
#define KRAIT_SESSION_THREAD_NODE_H

#include <linux/types.h>

#include "abi.h"

struct dict;
struct thread;

/* label_parts: of enum label_part. 0 where there is no room in the dictionary. */
__u32 thread_node(struct dict *dict, unsigned label_parts, struct thread *t,
		  const struct record_sample *record) __attribute__((nonnull));

#endif /* KRAIT_SESSION_THREAD_NODE_H */
