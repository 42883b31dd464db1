/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keep.h - an agent's memory of the last hours: its samples, as captures of about a minute each in
 * one folder. The oldest go when there are too many bytes or hours.
 *
 * Each is an ordinary capture (capture/perfdata/output.h), flushed every few seconds: if krait is killed,
 * only those seconds are lost. A capture ends with a window, when it is old or large enough, when
 * the rate has changed, when the dictionary wants to forget, or when somebody creates a file
 * SLICES_REQUEST there, which disappears when that is done.
 *
 * Must hold: a capture's accounts are those of its samples, so all captures together contain
 * everything that was sampled; what could not be written is counted; a full disk costs old
 * captures, never the agent.
 */
#ifndef KRAIT_AGENT_KEEP_KEEP_H
#define KRAIT_AGENT_KEEP_KEEP_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"
#include "profile/recording.h"

struct error;
struct keep;
struct window;

struct keep_config {
	const char *folder; /* created with 0700 if its parent exists */
	__u64 keep_ns; /* how far back; 0: as far as there is room */
	__u64 keep_bytes; /* on disk; at least KEEP_BYTES_MIN */
	__u64 slice_ns; /* length of one capture; 0: a minute */
	int compression; /* emitter.h */
	struct recording recording; /* host, kernel, command line: the samples provide the rest */
	int (*find_kernel)(void *ctx, __u64 *ret_start, __u64 *ret_size); /* emitter.h */
	void *find_kernel_ctx;
};

#define KEEP_BYTES_MIN (16U << 20)

struct keep_stats {
	__u64 captures, bytes; /* in the folder */
	__s64 oldest_unix_ms; /* 0: none */
	__u64 samples, samples_missed; /* written; and not written because of the disk */
	__u64 removed; /* captures, for age or room */
	__u64 failures; /* captures that ended with an error */
};

/*
 * *config is copied; what it points to must stay. NULL with *err filled: the folder is not
 * writable, or another agent uses it.
 */
struct keep *keep__new(const struct keep_config *config, struct error *err);
/* Ends the capture that is being written. */
void keep__free(struct keep *k);

/* As an agent's sink (agent/sink.h); the first argument is a struct keep. */
void keep__sample(void *keep, const struct profile *p, const struct profile_sample *s);
void keep__window(void *keep, const struct window *w);
void keep__step(void *keep, __u64 now_ns);
/* The dictionary is about to forget: nothing may keep its ids. */
void keep__forget(void *keep);
/* Ends the capture that is being written: all in the folder are finished then. */
void keep__cut(struct keep *k);

void keep__stats(const struct keep *k, struct keep_stats *ret);
/* The same as Prometheus text, metrics krait_memory_*. */
void keep_stats_write(const struct keep_stats *s, FILE *out);

#endif /* KRAIT_AGENT_KEEP_KEEP_H */
