/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_source.h - the text of a source file as a process sees it: in its own root folder, or from linecache if it is in no
 * file. A prober reads it.
 *
 * Must hold: nothing leaves the prober that the process could not read with the ids that its samples had, or that krait's
 * caller could not read there: a file by its mode (process/proc/readable_file.h), memory if the process is the caller's.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBE_SOURCE_H
#define KRAIT_PROCESS_PROBE_PROBE_SOURCE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"

#define PROBE_SOURCE_GROUPS 32
/* Bytes of a text; a larger one is not read. */
#define PROBE_SOURCE_MAX (1U << 20)

struct probe_source_ask {
	bool memory; /* from linecache, not from a file */
	bool all; /* the caller is root */
	struct task_ids ids; /* of the samples */
	uid_t caller_uid;
	gid_t caller_gid;
	__u32 group_cnt;
	gid_t groups[PROBE_SOURCE_GROUPS]; /* the caller's */
	char path[1024];
};

struct probe_source {
	__u64 changed_ns; /* when the file was last changed, CLOCK_REALTIME; 0: it is no file */
	__u32 size; /* of the text, in the descriptor that comes with it */
	__u32 cell; /* of a notebook, by its number there; 0: none */
};

/*
 * dir: of /proc/PID; mem: its memory. Returns a descriptor of the text and *ret; -EACCES; -ENOENT; -EFBIG; -ESTALE: the process
 * has other ids by now; or another -errno.
 */
int probe_source(int dir, int mem, const struct py_offsets *offsets, __u64 runtime_addr,
		 const struct probe_source_ask *ask, struct probe_source *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_PROBE_PROBE_SOURCE_H */
