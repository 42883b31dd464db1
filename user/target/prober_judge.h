/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_judge.h - is a prober slow, or does it hang? And whose processes make probers hang?
 *
 * A prober that is ready to run but gets no CPU is never blamed for that. One that sleeps may go on as long as it
 * wakes up now and then (a slow disk), up to a limit, since a hostile file server can let it wake up for ever.
 */
#ifndef KRAIT_TARGET_PROBER_JUDGE_H
#define KRAIT_TARGET_PROBER_JUDGE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

/* One request that is worked on. */
struct judge {
	__u64 begin_ns; /* 0: not looked at yet */
	__u64 asleep_ns; /* since when it sleeps without having woken up */
	__u64 next_ns; /* when to look again */
	__u64 wakeups; /* of the prober, at the last look */
};

enum judgement { JUDGE_FINE, JUDGE_SLOW, JUDGE_HUNG };

/* A request begins. */
void judge_begin(struct judge *j);
/* It says that it waits for a processor. */
void judge_alive(struct judge *j, __u64 patience_ns, __u64 now_ns);
/* patience_ns: how long before it is looked at, and again. */
enum judgement judge_look(struct judge *j, pid_t prober, __u64 patience_ns, __u64 now_ns);

/* Owners whose processes are not looked at any more. */
#define OFFENDERS_MAX 64
/* Processes of one owner that may hang; one, when OFFENDERS_MANY of our processes are stuck. */
#define OFFENDERS_PATIENCE 3
#define OFFENDERS_MANY 8
/* With that many only root's processes are looked at. */
#define OFFENDERS_TOO_MANY 32

struct offender {
	uid_t uid;
	unsigned hung;
};

/* All zeroes at first. */
struct offenders {
	unsigned cnt, hung;
	bool said; /* that there are too many */
	struct offender list[OFFENDERS_MAX];
};

/* A process of that owner did not come back. */
void offenders_note(struct offenders *o, uid_t uid);
/* Is it an owner whose processes are left alone? Never root. */
bool offenders_has(const struct offenders *o, uid_t uid);

#endif /* KRAIT_TARGET_PROBER_JUDGE_H */
