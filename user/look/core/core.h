/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core.h - krait's view of a core file, through a process without rights that reads it.
 *
 * Must hold: every wait for that process is bounded; its answers are checked like a prober's.
 */
#ifndef KRAIT_LOOK_CORE_CORE_H
#define KRAIT_LOOK_CORE_CORE_H

#include "look/core/core_protocol.h"

struct core;
struct error;

/*
 * Starts the reader while krait still has rights to give up. Returns NULL with *err filled on
 * failure.
 */
struct core *core__new(struct error *err) __attribute__((warn_unused_result, nonnull));
void core__free(struct core *c);

/* fd: of the core; stays the caller's. Returns 0 and *ret, or -errno with a sentence in why. */
int core__open(struct core *c, int fd, struct core_facts *ret, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));
/* Returns a mapped file's name, malloc'ed; NULL: unknown. */
char *core__file_name(struct core *c, __u32 file) __attribute__((warn_unused_result, nonnull));
/*
 * Offers a file that may be that one; fd stays the caller's. Returns 0 (it is), -ESTALE (it is not)
 * or another -errno.
 */
int core__give(struct core *c, __u32 file, int fd) __attribute__((warn_unused_result, nonnull));
/* Finds the interpreter; call it after giving the files. Returns as core_python_find() does. */
int core__python(struct core *c, struct core_python *ret, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));
/* As probed__threads(). */
int core__threads(struct core *c, const struct probe_threads_ask *ask, struct probe_threads *ret)
	__attribute__((warn_unused_result, nonnull));
/*
 * Lists mappings of code by address, from the *at-th mapping on (0 at first); advances *at. Returns
 * how many, 0 at the end, or -errno. *ret is valid until the next call.
 */
int core__code(struct core *c, __u32 *at, const struct core_mapping **ret)
	__attribute__((warn_unused_result, nonnull));
/* Lives as long as c. Reads return 0 or -EFAULT. */
const struct memory *core__memory(const struct core *c) __attribute__((nonnull));

#endif /* KRAIT_LOOK_CORE_CORE_H */
