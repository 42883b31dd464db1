/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_outside.h - the clock, /proc, files and the kernel's symbols from the log during a replay
 * (replay.h). The linker substitutes these for the functions that krait's code calls (Makefile:
 * REPLAY_WRAP).
 */
#ifndef KRAIT_TESTS_REPLAY_OUTSIDE_H
#define KRAIT_TESTS_REPLAY_OUTSIDE_H

#include <linux/types.h>
#include <stddef.h>

#include "replay_log.h"
#include "process/proc/file_id.h"

/* Takes effect at once; NULL: the real ones. */
void replay_outside_is(struct replay_log *l);
struct replay_log *replay_outside(void);

/* CLOCK_MONOTONIC of the replay. */
__u64 replay_now_ns(void);
void replay_advance(__u64 now_ns);
/* Sets the processes that a scan finds: facts from e on. */
void replay_scan_from(const struct input_entry *e, size_t cnt);

/*
 * The machine's processes for code that looks for families, from that time on. Borrowed; initially
 * none.
 */
struct replay_member {
	pid_t pid, parent;
	__u64 start_ns, from_ns;
	bool kernel_thread;
};
void replay_family(const struct replay_member list[], size_t cnt);

/*
 * Makes a descriptor for a file in the log, with those contents, and with that identity unless file
 * is NULL.
 */
int replay_stand_in(const void *contents, size_t len, const struct file_id *file);
/* Returns the identity of such a descriptor; all zero: none. */
struct file_id replay_file_of(int fd);

#endif /* KRAIT_TESTS_REPLAY_OUTSIDE_H */
