/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space_room.h - limits for the mappings of all processes: memory, and time to read them.
 *
 * Must hold: if one owner's (bpf/share.h) processes have tens of thousands of mappings, or there
 * are thousands of such processes, there is still room and time for those of others; what is cut is
 * counted.
 */
#ifndef KRAIT_PROCESS_SPACE_SPACE_ROOM_H
#define KRAIT_PROCESS_SPACE_SPACE_ROOM_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/share/quota.h"

/* Ranges to keep, 16 to 32 bytes each: a process with a hundred libraries has 300. */
#define MAPS_ROOM_MAX (1U << 20)
/* In units of 64 bytes: 64 MiB. A file takes 5 or 6. */
#define MAPS_FILE_UNITS_MAX (1U << 20)
/*
 * Reading again takes at most this fraction of the time per owner; shorter than the minimum does
 * not count.
 */
#define MAPS_READ_PART 20
#define MAPS_READ_LITTLE_NS 1000000ULL

struct space_room {
	struct quota *quota; /* of ranges */
	struct quota *files; /* units of 64 bytes, for mapped files and their names */
	unsigned cut_cnt; /* processes with more code than CODE_LIST_MAX ranges, or than they paid for */
	int cut_pid; /* the first of these, which counts once */
	__u64 again_ns[OWNER_CNT]; /* when an owner's mappings may be read again */
};

/* Returns 0 or -ENOMEM. */
int space_room_init(struct space_room *r) __attribute__((warn_unused_result, nonnull));
void space_room_free(struct space_room *r) __attribute__((nonnull));

/* May that owner's mappings be read again? A new process's are always read. */
bool space_room_may_read(const struct space_room *r, unsigned owner, __u64 now_ns)
	__attribute__((nonnull));
/* They were read, which took that much processor time. */
void space_room_was_read(struct space_room *r, unsigned owner, __u64 now_ns, __u64 took_ns)
	__attribute__((nonnull));

#endif /* KRAIT_PROCESS_SPACE_SPACE_ROOM_H */
