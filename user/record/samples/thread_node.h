/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_node.h - the node under which a thread's stacks go: below its process's node, its own.
 *
 * A process keeps the name that it had at its first sample (label.h), unless the name says whose it
 * is and that changes. A thread that is renamed keeps its node, and has its last name.
 */
#ifndef KRAIT_RECORD_SAMPLES_THREAD_NODE_H
#define KRAIT_RECORD_SAMPLES_THREAD_NODE_H

#include <linux/types.h>

#include "bpf/abi.h"

struct dict;
struct thread;

/* label_parts: of enum label_part. Returns 0 if the dictionary has no room. */
__u32 thread_node(struct dict *dict, unsigned label_parts, struct thread *t,
		  const struct record_sample *record) __attribute__((nonnull));

/* What it is called now (python/values/thread_names.h). */
#define THREAD_NAME_MAX 64
void thread_name(const struct thread *t, char ret[THREAD_NAME_MAX]) __attribute__((nonnull));
/* The program has named it: renames its node. */
void thread_node_rename(struct dict *dict, struct thread *t) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_THREAD_NODE_H */
