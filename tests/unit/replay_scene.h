/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_scene.h - shared by tests of following: two programs, a process of one of them, and the
 * results of replaying a script.
 */
#ifndef KRAIT_TESTS_REPLAY_SCENE_H
#define KRAIT_TESTS_REPLAY_SCENE_H

#include <linux/types.h>
#include <stdbool.h>

#include "replay_script.h"

/* Above any pid on this machine. */
#define PID 5000001
#define CHILD 5000002
#define THREAD 5000003
/* Start times of processes: ticks of 10 ms; only records have the digits below. */
#define START_NS (900 * 1000000000ULL + 10000123)

/* Their functions are "a" to "z", and "Na" to "Nz". */
extern struct program old, new;
/* PID runs the old one and is called "old". */
extern const struct actor python;

int scene_setup(void **state);
int scene_teardown(void **state);

/*
 * Ends the script and replays it as record -p PID, or for all processes. The caller frees the
 * result, like the script.
 */
struct replay *scene_replay(struct script *s, bool all);
/* Returns the accounts of all its samples. */
__u64 scene_accounted(struct replay *r);
/* Returns the folded stacks without the only file's name; valid until the next call. */
char *scene_stacks(struct replay *r);
/* Returns what is reported about processes that were not sampled; valid until the next call. */
const char *scene_refused(struct replay *r);
/*
 * Replays it and expects these stacks (NULL: any), and one account for every sample of the script.
 * ring_full: accounts without a record.
 */
void scene_expect(struct script *s, bool all, const char *folded, __u64 ring_full);

#endif /* KRAIT_TESTS_REPLAY_SCENE_H */
