/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_profile.h - profiles for tests of views and outputs, and golden files.
 */
#ifndef KRAIT_TESTS_SUPPORT_PROFILE_H
#define KRAIT_TESTS_SUPPORT_PROFILE_H

#include <stddef.h>

#include "output/emitter.h"
#include "profile/profile.h"

/* Makes a frame of each kind; line 0: unknown. */
__u32 add_function(struct profile *p, const char *name, const char *file, int first, int line);
__u32 add_process(struct profile *p, const char *name, int pid);
__u32 add_thread(struct profile *p, const char *name, int pid, int tid);
__u32 add_mark(struct profile *p, const char *name);

/* Adds a node below parent, for "node = push(p, node, frame)". */
__u32 push(struct profile *p, __u32 parent, __u32 frame);
void add_samples(struct profile *p, __u32 node, unsigned cnt);

/* One process with two threads; own, library and standard library code; recursion: 1,000 samples. */
struct profile *small_profile(void);
/* Names that break naive writers, each in its own stack. */
struct profile *hostile_profile(void);
extern const char *const hostile_names[];
/* A stack with so many distinct functions and one with as many recursive calls. */
struct profile *deep_profile(unsigned depth);
/* Pseudo-random: about so many nodes, several processes and threads, 3 % losses. */
struct profile *large_profile(unsigned nodes);

__u64 sample_cnt(const struct profile *p);

/*
 * Returns an emitter's output; streaming ones get each sample in order of nodes. The caller frees
 * it.
 */
char *emit_text(const char *format, const struct profile *p, const struct emit_options *options);

/* Compares with tests/golden/NAME; UPDATE=1 in the environment rewrites that file. */
void assert_golden(const char *name, const char *text);

#endif /* KRAIT_TESTS_SUPPORT_PROFILE_H */
