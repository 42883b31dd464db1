/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * groups.h - which container each process runs in: looked up once per process image, kept while the
 * process has samples.
 */
#ifndef KRAIT_CMD_TOP_GROUPS_H
#define KRAIT_CMD_TOP_GROUPS_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/dict.h"

struct groups;

/* Returns NULL if out of memory. The dictionary must outlive it. */
struct groups *groups__new(struct dict *dict);
void groups__free(struct groups *g);

/* Tells whether that process image still needs a lookup; then call groups__set(). */
bool groups__is_new(const struct groups *g, int pid, __u32 image);
/* text: printable; "": in no container. */
void groups__set(struct groups *g, int pid, __u32 image, const char *text);
/* Returns a string id; 0: in no container, or unknown. For rows__new(). */
__u32 groups_of(void *groups, int pid);
/* Forgets processes that the dictionary no longer has. */
void groups__trim(struct groups *g);

#endif /* KRAIT_CMD_TOP_GROUPS_H */
