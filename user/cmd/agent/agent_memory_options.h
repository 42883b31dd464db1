/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_memory_options.h - the options of krait agent for keeping samples on this host
 * (agent/keep/keep.h).
 */
#ifndef KRAIT_CMD_AGENT_AGENT_MEMORY_OPTIONS_H
#define KRAIT_CMD_AGENT_AGENT_MEMORY_OPTIONS_H

#include <argp.h>
#include <linux/types.h>
#include <stdbool.h>

struct error;
struct keep;
struct recording;

#define KEEP_DIR_DEFAULT "/var/lib/krait"

struct agent_memory_options {
	__u64 keep_ns; /* 0: nothing is kept, unless keep_bytes is given */
	__u64 keep_bytes; /* 0: the default */
	const char *keep_dir;
};

/* A child of the agent's parser; its input is a struct agent_memory_options. */
extern const struct argp agent_memory_argp;

/* Tells whether to keep anything. */
bool agent_memory_is_on(const struct agent_memory_options *o);
/* The limit on disk. */
__u64 agent_memory_bytes(const struct agent_memory_options *o);
/* find_kernel: as in emitter.h. Returns NULL with *err filled on failure. */
struct keep *agent_memory_open(const struct agent_memory_options *o,
			       const struct recording *recording,
			       int (*find_kernel)(void *ctx, __u64 *ret_start, __u64 *ret_size),
			       void *find_kernel_ctx, struct error *err);

#endif /* KRAIT_CMD_AGENT_AGENT_MEMORY_OPTIONS_H */
