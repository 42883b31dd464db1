/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_judge.h - is a prober slow, or does it hang? And whose processes make probers hang?
 *
 * A prober that is ready to run but gets no CPU is never blamed for that. One that sleeps may go on
 * as long as it wakes up now and then (a slow disk), up to a limit, because a hostile file server
 * could wake it up for ever.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBER_JUDGE_H
#define KRAIT_PROCESS_PROBE_PROBER_JUDGE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

/* A request in progress. */
struct judge {
	__u64 begin_ns; /* 0: not looked at yet */
	__u64 asleep_ns; /* how long it has been asleep without waking up */
	__u64 next_ns; /* when to look again */
	__u64 wakeups; /* wake-ups of the prober at the last look */
};

enum judgement { JUDGE_FINE, JUDGE_SLOW, JUDGE_HUNG };

/* A request begins. */
void judge_begin(struct judge *j);
/* The prober says that it waits for a processor. */
void judge_alive(struct judge *j, __u64 patience_ns, __u64 now_ns);
/* patience_ns: time until the first look, and between looks. */
enum judgement judge_look(struct judge *j, pid_t prober, __u64 patience_ns, __u64 now_ns);

/* Owners whose processes are no longer looked at. */
#define OFFENDERS_MAX 64
/* Processes of one owner that may hang; only one, once OFFENDERS_MANY of our processes are stuck. */
#define OFFENDERS_PATIENCE 3
#define OFFENDERS_MANY 8
/* With this many only root's processes are looked at. */
#define OFFENDERS_TOO_MANY 32

struct offender {
	uid_t uid;
	unsigned hung;
};

/* All zeroes initially. */
struct offenders {
	unsigned cnt, hung;
	bool said; /* that there are too many */
	/* Whose files have hung (PROBE_SOURCE), which says nothing of other processes of theirs. */
	unsigned files_cnt;
	uid_t files[OFFENDERS_MANY];
	struct offender list[OFFENDERS_MAX];
};

/* A process of that owner has hung. */
void offenders_note(struct offenders *o, uid_t uid);
/* Are that owner's processes left alone? Never root's. */
bool offenders_has(const struct offenders *o, uid_t uid);

/* Reading a file for a process of that owner has hung: no more are read for the owner, or once there are many, for anybody. */
void offenders_note_file(struct offenders *o, uid_t uid);
bool offenders_has_file(const struct offenders *o, uid_t uid);

#endif /* KRAIT_PROCESS_PROBE_PROBER_JUDGE_H */
