/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * emitter.h - one interface for all outputs.
 *
 * An emitter writes what it is given to a FILE that it does not own; it knows nothing of processes,
 * kernels or options beyond struct emit_options. Streaming formats write in sample(); the others do
 * all in finish(). Errors are -errno; the caller names the file in its message.
 */
#ifndef KRAIT_EMIT_EMITTER_H
#define KRAIT_EMIT_EMITTER_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"
#include "profile/recording.h"

struct emit_options {
	bool lines; /* one entry per line, not per function */
	bool threads; /* thread names as frames below the process */
	bool no_process; /* leave the process frames out */
	const char *title;
	struct recording recording; /* what is known of it at open, and more at finish */
	/* perf.data: gives a file for the perf map of a process (perfmap/perf_map.h); NULL not wanted */
	FILE *(*open_map)(void *ctx, int pid);
	void *open_map_ctx;
	/* perf.data: where the running kernel's code is, 0 or -errno; NULL: it is not what was recorded */
	int (*find_kernel)(void *ctx, __u64 *ret_start, __u64 *ret_size);
	void *find_kernel_ctx;
	__u64 flush_ns; /* perf.data: how often the file is brought up to date; 0: each second */
	bool unattended; /* perf.data: of an agent: no hints, and nothing in perf's build-id cache */
	/* html: the text of a source file (a string id), malloc'ed, or -errno as source_lookup(); NULL: none is wanted */
	int (*source)(void *ctx, const struct dict *dict, __u32 file, char **ret);
	void *source_ctx;
	bool sources; /* html: native code in its source files, where they are known */
};

/* For a format that has more files than one: where they belong, and when they may be seen. */
struct emit_place {
	const char *name; /* the absolute path that the file will have; NULL it has none: a pipe */
	const char *kept_name; /* what had that name gets this one; NULL it goes */
	/* The file takes its name; early: may be called when the first samples can be read from it. */
	int (*publish)(void *ctx);
	void *ctx;
	bool early;
};

/* What all have; a format that keeps more between its calls has a struct that begins with this one. */
struct emitter {
	FILE *out;
	const struct emit_options *options;
};

struct emitter_ops {
	const char *name; /* for -f */
	const char *const *suffixes; /* NULL-terminated: ".html" */
	const char *about; /* for --help: "flame graph" */
	bool all_events; /* shows all events, each apart; others the one that finish is given */
	bool all_times; /* shows all times: on a CPU, off it, and their sum, each apart; of others one */
	bool sources; /* shows source lines of native code where they are known, without --lines */
	bool addresses; /* wants native frames by address (profile_frame.address) */
	/* sample() only keeps what finish() writes: nothing is in the file before, and it may be called without */
	bool keeps;
	bool names; /* sample() needs the names of frames; else they may come until finish() */
	/* *options stays valid, and may change until finish. */
	int (*open)(struct emitter **ret, FILE *out, const struct emit_options *options);
	/* NULL, or called after open, with what stays valid until free. */
	int (*place)(struct emitter *e, const struct emit_place *place);
	/* Streaming formats: called for each sample of every event. NULL otherwise. */
	int (*sample)(struct emitter *e, const struct profile *p, const struct profile_sample *s);
	/*
	 * NULL, or called regularly during a recording, even without samples, so that what was written a while ago
	 * can be read.
	 */
	int (*flush)(struct emitter *e, const struct profile *p, __u64 now_ns);
	/* NULL, or called once when sample or finish has failed: makes the best of what is there. */
	void (*rescue)(struct emitter *e, const struct profile *p);
	/* event: the number of the one to show, for formats that show only one. */
	int (*finish)(struct emitter *e, const struct profile *p, unsigned event);
	void (*free)(struct emitter *e);
};

/* For formats that keep nothing else. 0 or -ENOMEM. */
int emitter_open(struct emitter **ret, FILE *out, const struct emit_options *options);
void emitter_free(struct emitter *e);

/* The accounts of all events in one line. malloc'ed, NULL if out of memory. */
char *emitter_books(const struct profile *p);

#endif /* KRAIT_EMIT_EMITTER_H */
