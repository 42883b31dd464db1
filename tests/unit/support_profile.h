/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_profile.h - profiles for tests of views and outputs, and golden files.
 */
#ifndef KRAIT_TESTS_SUPPORT_PROFILE_H
#define KRAIT_TESTS_SUPPORT_PROFILE_H

#include <stddef.h>

#include "emit/emitter.h"
#include "profile/profile.h"

/* A frame of each kind; a line of 0 is unknown. */
__u32 add_function(struct profile *p, const char *name, const char *file, int first, int line);
__u32 add_process(struct profile *p, const char *name, int pid);
__u32 add_thread(struct profile *p, const char *name, int pid, int tid);
__u32 add_mark(struct profile *p, const char *name);

/* A node below parent, for "node = push(p, node, frame)". */
__u32 push(struct profile *p, __u32 parent, __u32 frame);
void add_samples(struct profile *p, __u32 node, unsigned cnt);

/* One process, two threads, own, library and standard library code, recursion: 1,000 samples. */
struct profile *small_profile(void);
/* Names that break naive writers, one stack each. */
struct profile *hostile_profile(void);
extern const char *const hostile_names[];
/* One stack of so many distinct functions and one of as many recursive calls. */
struct profile *deep_profile(unsigned depth);
/* Pseudo-random: about so many nodes, several processes and threads, losses of 3 %. */
struct profile *large_profile(unsigned nodes);

__u64 sample_cnt(const struct profile *p);

/* What an emitter writes: for streaming ones each sample in order of nodes. To be freed. */
char *emit_text(const char *format, const struct profile *p, const struct emit_options *options);

/* Compares with tests/golden/NAME; UPDATE=1 in the environment rewrites that file. */
void assert_golden(const char *name, const char *text);

#endif /* KRAIT_TESTS_SUPPORT_PROFILE_H */
