/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * remote.h - the memory of a live process as a struct memory.
 *
 * The object is bound to the program image that the process has when it is opened: /proc/PID/mem
 * holds on to the address space and not to the number, so after exec, exit or a reused pid a read
 * says -ESRCH and never shows somebody else's memory. Only where that file may not be opened (out
 * of descriptors, say) process_vm_readv() is used, which goes by pid.
 *
 * Must hold: the target is only ever read, never stopped.
 */
#ifndef KRAIT_TARGET_REMOTE_H
#define KRAIT_TARGET_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/memory.h"

struct remote;

/* NULL and errno: ESRCH no such process, EACCES its memory may not be read, ENOMEM. */
struct remote *remote__open(pid_t pid) __attribute__((warn_unused_result));
/*
 * The same relative to /proc/PID (proc.h). writable: the descriptor may be written through, where that is
 * allowed. There is no way round the descriptor: without one it is as if the memory may not be read.
 */
struct remote *remote__open_at(int dir, bool writable) __attribute__((warn_unused_result));
void remote__close(struct remote *r);

/* Of /proc/PID/mem, r's; -1 none. */
int remote__fd(const struct remote *r) __attribute__((nonnull));
/* From such a descriptor, borrowed. As the reads of a remote. */
int remote_read_fd(int fd, __u64 addr, void *buf, size_t len)
	__attribute__((warn_unused_result, nonnull));

/* Lives as long as r. Reads give 0, -EFAULT, -ESRCH or -EPERM. */
const struct memory *remote__memory(const struct remote *r) __attribute__((nonnull));

static inline void cleanup_remote_(struct remote **r)
{
	remote__close(*r);
}
#define cleanup_remote __attribute__((cleanup(cleanup_remote_)))

#endif /* KRAIT_TARGET_REMOTE_H */
