/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parts.h - what a session is made of: assembly.c makes and frees it, session.c runs it, looks.c asks it for threads
 * that wait, figures.c for what it has counted.
 */
#ifndef KRAIT_SESSION_PARTS_H
#define KRAIT_SESSION_PARTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "session/session.h"
#include "session/signals.h"

struct accounts;
struct anchor_thread;
struct census;
struct child;
struct collector;
struct descriptors;
struct input_writer;
struct mmap_events;
struct modules;
struct native_files;
struct native_places;
struct prober;
struct processes;
struct resting_memory;
struct sampler;
struct starting;

struct session {
	const struct session_config *config;
	struct modules *modules; /* NULL: no native frames are wanted */
	struct native_files *native_files; /* with them */
	struct native_places *places; /* NULL: no source lines are wanted */
	struct collector *collector;
	struct sampler *sampler;
	struct prober *prober;
	unsigned probers_alive; /* those of the anchors' thread, too */
	struct processes *processes;
	struct anchor_thread *anchors; /* NULL: none are wanted */
	struct unwinding *unwinding; /* NULL: no native stacks */
	struct mmap_events *mmap_events; /* NULL: the sampler says what is mapped, or nobody does */
	__u64 mapped_cnt; /* of our processes */
	__u64 mmap_ns, mmap_pause_ns; /* when they are looked at again; the pause before that */
	__u64 mmap_begun_ns; /* when a process was seen first, the last one */
	unsigned mmap_seen_cnt; /* how many had been by then */
	struct input_writer *inputs; /* NULL: not logged */
	struct child *child;
	struct signals signals;
	struct starting *starting;
	struct descriptors *descriptors;
	bool starving; /* session__starve() */
	int watched_fd; /* of the caller's; -1 none */
	struct rlimit old_files; /* before it was raised: the command gets it back */
	__u64 created_ns, started_ns, stopped_ns, upkept_ns, events_dropped, thread_steps;
	__u64 named_ns; /* when names of native code were asked for last */
	__u64 retry_ns; /* when a process is to be looked at again, 0 none */
	struct census *census; /* of suspended tasks; NULL none */
	struct resting_memory *waits; /* that lasted at the last look; NULL: there was none */
	__u64 open_waits; /* that lasted beyond the end */
	__u64 waits_refused, waits_missed_ns; /* as in struct session_stats */
	struct switches_cost switches_cost;
	__u64 end_ns; /* when no more is wanted; 0: when a signal or an end comes */
	bool unwanted; /* session__end() */
	bool signalled;
	int signal; /* that has ended it, 0 none */
	bool from_terminal; /* to the command as well */
	bool stopped_child;
};

/* What takes in the session's records. */
struct sampler_handler session_handler(struct session *s) __attribute__((nonnull));
/* Its parts stand: from now on they know each other. */
void session_connect(struct session *s) __attribute__((nonnull));

/* How many ticks of the event's clock were asked for, and came. */
void session_note_ticks(const struct session *s, unsigned event, struct accounts *a)
	__attribute__((nonnull));

#endif /* KRAIT_SESSION_PARTS_H */
