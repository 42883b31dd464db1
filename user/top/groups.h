/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * groups.h - which container each process runs in: asked once of each image of a process, kept while the
 * process has samples.
 */
#ifndef KRAIT_TOP_GROUPS_H
#define KRAIT_TOP_GROUPS_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/dict.h"

struct groups;

/* NULL: no memory. The dictionary outlives it. */
struct groups *groups__new(struct dict *dict);
void groups__free(struct groups *g);

/* Is that image of the process still to be asked about? Then groups__set() comes next. */
bool groups__is_new(const struct groups *g, int pid, __u32 image);
/* text: printable, "" in none. */
void groups__set(struct groups *g, int pid, __u32 image, const char *text);
/* A string id, 0 in none, or not known. For rows__new(). */
__u32 groups_of(void *groups, int pid);
/* Processes that the dictionary does not know any more are forgotten. */
void groups__trim(struct groups *g);

#endif /* KRAIT_TOP_GROUPS_H */
