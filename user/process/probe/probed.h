/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probed.h - a process that krait holds: descriptors of its own, read through a prober.
 *
 * The descriptors are bound to one process and, mem, to one program image: after exec or exit, or
 * if the pid is reused, everything here returns -ESRCH. krait itself reads nothing through them.
 *
 * A call waits for its answer, but not for a slow one (prober.h). While an earlier answer is
 * pending, and for good once one never came, the process counts as unreadable: -EAGAIN, -ETIMEDOUT.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBED_H
#define KRAIT_PROCESS_PROBE_PROBED_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "process/probe/probe.h"
#include "process/probe/probe_maps.h"
#include "process/probe/probe_pages.h"
#include "base/data/memory.h"

/* Why a process is not read, as shown to the user. */
#define PROBED_HUNG "reading it hangs, so krait leaves it alone"
#define PROBED_LATE                                                                                \
	"reading it takes too long: its memory or files come slowly, or krait gets no CPU"
#define PROBED_HUNG_SO_FAR "reading it hung until the end"
#define PROBED_PARKED "reading other processes of its owner hung until the end"
#define PROBED_OWNER_REFUSED "reading other processes of its owner hangs, so krait leaves it alone"

struct prober;
struct probed;

/*
 * Requests the descriptors of a process without waiting: the first call waits for them.
 * start_ticks: identifies the process; image: what it executes, else it counts as gone. NULL: out of
 * memory.
 */
struct probed *probed__open(struct prober *prober, pid_t pid, __u64 start_ticks,
			    struct probe_image image) __attribute__((warn_unused_result, nonnull));
/* For a process that was identified, from the answer: takes the descriptors over. */
struct probed *probed__new(struct prober *prober, const struct probe_found *found, size_t len,
			   int fds[PROBE_FDS_MAX]) __attribute__((warn_unused_result, nonnull));
void probed__free(struct probed *p);

/* Its memory; lives as long as p. Reads return 0, -EFAULT, -ESRCH, -EPERM or -EAGAIN. */
const struct memory *probed__memory(const struct probed *p) __attribute__((nonnull));

/*
 * Whose it is, and where it runs: as it was when it was opened. NULL until that is known; wait:
 * waits for it, as a call does. cgroups may be NULL.
 */
const struct py_process *probed__ids(struct probed *p, bool wait) __attribute__((nonnull));
const struct context *probed__context(struct probed *p, bool wait, const char **ret_cgroups)
	__attribute__((nonnull(1)));

/* Is the first answer still pending? */
bool probed__is_opening(const struct probed *p) __attribute__((nonnull));

/* Why it is no longer read: a sentence, or NULL. */
const char *probed__refused(const struct probed *p) __attribute__((nonnull));

/* Borrowed; -1: none. Other threads' probers duplicate them. */
int probed__dir(const struct probed *p) __attribute__((nonnull));
int probed__mem(const struct probed *p) __attribute__((nonnull));
/* The file that contains the runtime, if the process was identified. */
int probed__file(const struct probed *p) __attribute__((nonnull));
void probed__close_file(struct probed *p) __attribute__((nonnull));

/* Its mappings. Returns 0, or the reason why not. */
int probed__maps(struct probed *p, struct probe_maps *ret)
	__attribute__((warn_unused_result, nonnull));
/* Its pages that are in memory or swapped out, of those chosen at that shift. Returns 0, or the reason why not. */
int probed__pages(struct probed *p, __u32 shift, struct probe_pages *ret)
	__attribute__((warn_unused_result, nonnull));
/* Its threads, and the Python stacks of waiting ones. Returns 0, or the reason why not. */
int probed__threads(struct probed *p, const struct probe_threads_ask *ask,
		    struct probe_threads *ret) __attribute__((warn_unused_result, nonnull));
/*
 * What it publishes besides its runtime. Returns 0, even if nothing was found, or the reason why
 * not.
 */
int probed__published(struct probed *p, __u32 version, __u64 runtime_addr, struct published *ret)
	__attribute__((warn_unused_result, nonnull));
/* Its asyncio tasks. Returns 0, or the reason why not. */
int probed__tasks(struct probed *p, const struct probe_tasks_ask *ask, struct probe_tasks *ret)
	__attribute__((warn_unused_result, nonnull));
/* Its greenlets. Returns 0, or the reason why not, as probe_greenlets_list(). */
int probed__greenlets(struct probed *p, const struct probe_tasks_ask *ask, struct probe_tasks *ret)
	__attribute__((warn_unused_result, nonnull));
/*
 * Opens the file of a mapping for reading, through the process, if it is a regular file; *ret
 * identifies it. Returns a descriptor, now the caller's; -ENOEXEC: not a regular file; or the
 * reason why not.
 */
int probed__open_mapped(struct probed *p, const struct probe_mapping *m, __u64 inode,
			const char *name, struct probe_file *ret)
	__attribute__((warn_unused_result, nonnull));

/* Debug information in its root, as debug_file_open(). Returns a descriptor, or the reason why not. */
int probed__open_debug(struct probed *p, const __u8 *build_id, size_t size, uid_t owner)
	__attribute__((warn_unused_result, nonnull));

/* Memory that nobody can read. */
extern const struct memory probed_nothing;

#endif /* KRAIT_PROCESS_PROBE_PROBED_H */
