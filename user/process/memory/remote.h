/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * remote.h - the memory of a live process as a struct memory.
 *
 * The object is bound to the program image that the process has when it is opened: /proc/PID/mem
 * refers to the address space, not to the pid, so after exec or exit, or if the pid is reused, a
 * read returns -ESRCH and never somebody else's memory. Only if that file cannot be opened (no
 * descriptors left, say) process_vm_readv() is used, which goes by pid.
 *
 * Must hold: the target is only ever read, never stopped.
 */
#ifndef KRAIT_PROCESS_MEMORY_REMOTE_H
#define KRAIT_PROCESS_MEMORY_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/data/memory.h"

struct remote;

/*
 * dir: /proc/PID (proc.h). writable: opens it for writing, if allowed. NULL and errno: ESRCH: no such
 * process, EACCES: its memory may not be read, ENOMEM.
 */
struct remote *remote__open_at(int dir, bool writable) __attribute__((warn_unused_result));
void remote__close(struct remote *r);

/* The descriptor of /proc/PID/mem, owned by r. */
int remote__fd(const struct remote *r) __attribute__((nonnull));
/* Reads from such a descriptor, borrowed. Returns as the reads of a remote. */
int remote_read_fd(int fd, __u64 addr, void *buf, size_t len)
	__attribute__((warn_unused_result, nonnull));
/* Its reads, from the descriptor at fd, which has to stay there. */
struct memory remote_memory_at(const int *fd) __attribute__((nonnull));

/* Lives as long as r. Reads return 0, -EFAULT, -ESRCH or -EPERM. */
const struct memory *remote__memory(const struct remote *r) __attribute__((nonnull));

static inline void cleanup_remote_(struct remote **r)
{
	remote__close(*r);
}
#define cleanup_remote __attribute__((cleanup(cleanup_remote_)))

#endif /* KRAIT_PROCESS_MEMORY_REMOTE_H */
