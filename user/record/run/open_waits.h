/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_waits.h - threads that are off the CPU when a recording ends. The kernel side takes the
 * stack of a wait when the thread comes back, which is too late for these; some have slept all
 * along.
 *
 * Their stacks are read from outside (resting.h), while the kernel side still takes those of threads
 * that come back (SWITCH_GRACE_NS); each wait whose stack cannot be trusted is counted as lost.
 *
 * Must hold: each wait is counted once, by the kernel side or here.
 */
#ifndef KRAIT_RECORD_RUN_OPEN_WAITS_H
#define KRAIT_RECORD_RUN_OPEN_WAITS_H

#include <linux/types.h>

struct collector;
struct processes;
struct sampler;
struct unwinding;

/*
 * Call after sampler__end(), with all records taken in: stops the sampler, and passes a sample for each such wait, up to
 * end_ns, to the collector. unwinding: NULL without native frames. event, threshold_ns: of the time off
 * the CPU, as in switch.h. Returns their number.
 */
__u64 open_waits_collect(struct collector *c, struct processes *ps, struct sampler *sampler,
			 const struct unwinding *unwinding, unsigned event, __u64 threshold_ns,
			 __u64 end_ns);

#endif /* KRAIT_RECORD_RUN_OPEN_WAITS_H */
