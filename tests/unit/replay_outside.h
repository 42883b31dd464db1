/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_outside.h - the clock, /proc, files and the kernel's symbols as the log has them, while a replay runs
 * (replay.h). The linker puts these in place of the functions that krait's code calls (Makefile: REPLAY_WRAP).
 */
#ifndef KRAIT_TESTS_REPLAY_OUTSIDE_H
#define KRAIT_TESTS_REPLAY_OUTSIDE_H

#include <linux/types.h>
#include <stddef.h>

#include "replay_log.h"
#include "target/file_id.h"

/* From now on; NULL: the real ones. */
void replay_outside_is(struct replay_log *l);
struct replay_log *replay_outside(void);

/* CLOCK_MONOTONIC of the replay. */
__u64 replay_now_ns(void);
void replay_advance(__u64 now_ns);
/* Processes that a scan finds: facts from there on. */
void replay_scan_from(const struct input_entry *e, size_t cnt);

/* Processes of the machine for who looks for families; from that time on. Borrowed; none at first. */
struct replay_member {
	pid_t pid, parent;
	__u64 start_ns, from_ns;
	bool kernel_thread;
};
void replay_family(const struct replay_member list[], size_t cnt);

/* A descriptor of a file that is in the log: of those contents, and with that identity where file is not NULL. */
int replay_stand_in(const void *contents, size_t len, const struct file_id *file);
/* The identity of a descriptor that stands in for a file; all zero: it has none. */
struct file_id replay_file_of(int fd);

#endif /* KRAIT_TESTS_REPLAY_OUTSIDE_H */
