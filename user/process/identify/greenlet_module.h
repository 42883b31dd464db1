/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlet_module.h - greenlet's extension module in a process: where it is mapped, and the type
 * greenlet.greenlet in it.
 *
 * Must hold: bounded reads, whatever the list of mappings and the memory contain.
 */
#ifndef KRAIT_PROCESS_IDENTIFY_GREENLET_MODULE_H
#define KRAIT_PROCESS_IDENTIFY_GREENLET_MODULE_H

#include <linux/types.h>

struct greenlet_layout;

/*
 * The layout must have its memory and offsets. dir: of /proc/PID. Returns 0 and where the module
 * begins; -ENOENT: it is not mapped; -EPROTONOSUPPORT: no such type, or no known layout; -errno.
 */
int greenlet_module_find(struct greenlet_layout *l, int dir, __u64 *ret_base_addr)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_IDENTIFY_GREENLET_MODULE_H */
