/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_ring.h - a recording that goes on: it begins a new capture now and then, or keeps only what was last until a
 * signal, a trigger or its end asks for it. The memory is the agent's (agent/keep/keep.h), in FILE.ring; each capture is
 * merged from it by a process of its own, and needs nothing of it afterwards.
 *
 * Options by perf's names: --switch-output, --switch-max-files, --overwrite; and --trigger.
 */
#ifndef KRAIT_CMD_RECORD_RECORD_RING_H
#define KRAIT_CMD_RECORD_RECORD_RING_H

#include <argp.h>

#include "cmd/record/record_options.h"
#include "profile/recording.h"
#include "record/run/session.h"

extern const struct argp record_ring_argp; /* input: struct record_options */
/* Call after all options: what does not go together ends the program. */
void record_ring_settle(struct record_options *o, struct argp_state *state);

/*
 * Records to the end. *session: complete but for what receives samples. Returns 0, or a negative result with *err filled;
 * *ret_code: krait's exit code.
 */
int record_ring_run(const struct record_options *o, const struct session_config *session,
		    const struct recording *recording,
		    int (*find_kernel)(void *ctx, __u64 *ret_start, __u64 *ret_size),
		    void *find_kernel_ctx, int *ret_code, struct error *err)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CMD_RECORD_RECORD_RING_H */
