/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core.h - a core file as krait sees it: through a process without rights that reads it.
 *
 * Must hold: nothing waits for that process for ever; what it says is checked as what a prober says.
 */
#ifndef KRAIT_CORE_CORE_H
#define KRAIT_CORE_CORE_H

#include "core/core_protocol.h"

struct core;
struct error;

/* Starts the reader, while there are rights to give up. NULL and *err. */
struct core *core__new(struct error *err) __attribute__((warn_unused_result, nonnull));
void core__free(struct core *c);

/* fd: of the core, the caller's. 0 and *ret, or -errno with a sentence. */
int core__open(struct core *c, int fd, struct core_facts *ret, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));
/* The name that a mapped file had, malloc'ed; NULL unknown. */
char *core__file_name(struct core *c, __u32 file) __attribute__((warn_unused_result, nonnull));
/* A file that may be that one; fd stays the caller's. 0 it is, -ESTALE it is not, -errno. */
int core__give(struct core *c, __u32 file, int fd) __attribute__((warn_unused_result, nonnull));
/* After the files: the interpreter. As core_python_find(). */
int core__python(struct core *c, struct core_python *ret, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));
/* As probed__threads(). */
int core__threads(struct core *c, const struct probe_threads_ask *ask, struct probe_threads *ret)
	__attribute__((warn_unused_result, nonnull));
/*
 * Mappings of code, by address, from the *at-th mapping on (0 at first), which is then where to go on. How many, 0 there
 * are no more, -errno. *ret is valid until the next call.
 */
int core__code(struct core *c, __u32 *at, const struct core_mapping **ret)
	__attribute__((warn_unused_result, nonnull));
/* Lives as long as c. Reads give 0 or -EFAULT. */
const struct memory *core__memory(const struct core *c) __attribute__((nonnull));

#endif /* KRAIT_CORE_CORE_H */
