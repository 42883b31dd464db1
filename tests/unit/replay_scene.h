/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_scene.h - what tests of following share: two programs, a process of one of them, and what a script
 * comes to when it is replayed.
 */
#ifndef KRAIT_TESTS_REPLAY_SCENE_H
#define KRAIT_TESTS_REPLAY_SCENE_H

#include <linux/types.h>
#include <stdbool.h>

#include "replay_script.h"

/* Above what any process of this machine can have. */
#define PID 5000001
#define CHILD 5000002
#define THREAD 5000003
/* Starts of processes: ticks of 10 ms, and what is below only records know. */
#define START_NS (900 * 1000000000ULL + 10000123)

/* Their functions are called "a" to "z", and "Na" to "Nz". */
extern struct program old, new;
/* PID, which runs the old one; it is called "old". */
extern const struct actor python;

int scene_setup(void **state);
int scene_teardown(void **state);

/* Ends the script, and replays it as record -p PID, or of all processes. To be freed, as the script. */
struct replay *scene_replay(struct script *s, bool all);
/* Accounts of all its samples. */
__u64 scene_accounted(struct replay *r);
/* The folded stacks, without the name of the one file that all functions are in; valid until the next call. */
char *scene_stacks(struct replay *r);
/* What is said of processes that were not sampled; valid until the next call. */
const char *scene_refused(struct replay *r);
/*
 * Replays it: these are its stacks (NULL: any), and every sample of the script has one account. ring_full: of those
 * accounts that no record stands for.
 */
void scene_expect(struct script *s, bool all, const char *folded, __u64 ring_full);

#endif /* KRAIT_TESTS_REPLAY_SCENE_H */
