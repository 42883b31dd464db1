/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - one recording: owns the sampler, the processes, the collector and the launched
 * command, in their order of start and stop, and the event loop.
 *
 * The loop sleeps until the ring buffer is well filled, a process event comes, a timer is due, a
 * signal arrives or the command ends; it never spins.
 *
 * Must hold: however a recording ends, what was captured is in the profile, and the accounts
 * balance once session__run() has returned.
 */
#ifndef KRAIT_SESSION_SESSION_H
#define KRAIT_SESSION_SESSION_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "sampler/sampler.h"
#include "session/anchoring.h"
#include "session/collector.h"
#include "follow/filter.h"
#include "stack/stacks.h"

struct session;

struct session_config {
	bool all;
	struct filter filter; /* of all */
	const pid_t *pids; /* or these, and their descendants */
	size_t pid_cnt;
	char *const *command; /* or this one, NULL-terminated; NULL none */
	struct sampler_config sampler;
	struct collector_config collector;
	__u64 duration_ns; /* 0: until a signal, or the end of all that is followed */
	bool progress; /* a live line on stderr */
	enum anchor_mode anchors;
	const struct priority *priority; /* that a launched command shall have */
};

struct session_stats {
	double seconds; /* from the first interrupt enabled to the last */
	double first_sample_seconds; /* from session__new() to the first sample; < 0 none */
	unsigned processes; /* sampled in all */
	__u64 samples; /* of all events */
	__u64 thread_steps; /* thread states that the kernel side looked at to find threads */
	struct stacks_stats stacks;
	struct anchoring_stats anchoring;
	struct mixed_stats mixed;
	bool child_ended;
	int child_exit_code; /* valid if child_ended */
};

/* NULL with *err filled. *config and what it points to stay valid until free. */
struct session *session__new(const struct session_config *config, struct error *err);
/* 0, or a negative result with *err filled; the profile is usable in both cases. */
int session__run(struct session *s, struct error *err) __attribute__((warn_unused_result));
/* From a callback: nothing more is wanted; the recording ends as if its time were over. */
void session__end(struct session *s);
void session__free(struct session *s);

const struct losses *session__losses(const struct session *s);
struct profile *session__profile(struct session *s);
void session__stats(const struct session *s, struct session_stats *ret);
/* Where room ended: whose samples were lost for that, and the remedy. */
void session__warn_of_shortages(const struct session *s);
/* Python processes that were there but not sampled, one line per reason. */
void session__print_refused(const struct session *s, FILE *out);

#endif /* KRAIT_SESSION_SESSION_H */
