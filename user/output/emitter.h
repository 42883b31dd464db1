/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * emitter.h - one interface for all outputs.
 *
 * An emitter writes to a FILE that it does not own. It knows nothing of processes, kernels or
 * options beyond struct emit_options. Streaming formats write in sample(); the others write
 * everything in finish(). Errors are -errno; the caller names the file in its message.
 */
#ifndef KRAIT_OUTPUT_EMITTER_H
#define KRAIT_OUTPUT_EMITTER_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"
#include "profile/recording.h"

struct emit_options {
	bool lines; /* one entry per line, not per function */
	bool threads; /* thread names as frames below the process */
	bool no_process; /* omit the process frames */
	const char *title;
	struct recording recording; /* what is known at open; finish() knows more */
	/*
	 * perf.data: opens a file for the perf map of a process (capture/perfmap/perf_map.h). NULL: no perf
	 * maps.
	 */
	FILE *(*open_map)(void *ctx, int pid);
	/* It could not be written and is empty. */
	void (*map_failed)(void *ctx, int pid, int err);
	void *open_map_ctx;
	/*
	 * perf.data: finds the running kernel's code. Returns 0 or -errno. NULL: the running kernel
	 * is not the recorded one.
	 */
	int (*find_kernel)(void *ctx, __u64 *ret_start, __u64 *ret_size);
	void *find_kernel_ctx;
	int compression; /* perf.data: zstd's level, 1 to 22; 0: none */
	__u64 flush_ns; /* perf.data: how often to update the file; 0: every second */
	/* perf.data: the agent is writing: print no hints and leave perf's build-id cache alone */
	bool unattended;
	/*
	 * html: reads a source file (a string id) into malloc'ed text, or returns -errno as
	 * source_lookup() does. NULL: no sources.
	 */
	int (*source)(void *ctx, const struct dict *dict, __u32 file, char **ret);
	void *source_ctx;
	/*
	 * pprof: who the process is: its user, and whether it has chosen the name of its service
	 * itself. NULL, or returns false: that is not said.
	 */
	bool (*whose)(void *ctx, int pid, __u32 *ret_uid, bool *ret_claimed);
	void *whose_ctx;
	const char *editor; /* html: template of links to source lines; NULL: none */
	bool wait_kernel; /* html: waits with the kernel's functions below them */
	bool charged; /* html: native threads that stay apart are no line's, or the input cannot tell */
	bool sources; /* html: place native code in its source files if they are known */
};

/* For formats that write several files: where they go and when they may appear. */
struct emit_place {
	const char *name; /* absolute path that the file will have; NULL: none, it is a pipe */
	/* new name for the file that has that name now; NULL: it is replaced */
	const char *kept_name;
	/* Renames the file into place. May be called early, once its first samples can be read. */
	int (*publish)(void *ctx);
	void *ctx;
	bool early;
};

/* Common to all emitters; a format with its own state has a struct that begins with this one. */
struct emitter {
	FILE *out;
	const struct emit_options *options;
};

struct emitter_ops {
	const char *name; /* for -f */
	const char *const *suffixes; /* NULL-terminated: ".html" */
	const char *about; /* for --help: "flame graph" */
	/* What to do with the file: texts with its name between them; NULL: no more. */
	const char *next[3];
	/* shows every event, each separately; other formats show the one passed to finish() */
	bool all_events;
	/* shows all times separately: on CPU, off CPU and their sum; other formats show one */
	bool all_times;
	bool sources; /* shows source lines of native code if known, even without --lines */
	bool addresses; /* wants native frames by address (profile_frame.address) */
	/* sample() only collects what finish() writes: the file stays empty until then */
	bool keeps;
	bool names; /* sample() needs the names of frames; otherwise they may come until finish() */
	/* *options stays valid and may change until finish(). */
	int (*open)(struct emitter **ret, FILE *out, const struct emit_options *options);
	/* NULL, or called after open(). *place stays valid until free(). */
	int (*place)(struct emitter *e, const struct emit_place *place);
	/* Streaming formats: called for each sample of every event. NULL for others. */
	int (*sample)(struct emitter *e, const struct profile *p, const struct profile_sample *s);
	/*
	 * NULL, or called regularly during a recording, even without samples, so that readers see
	 * all but the newest samples.
	 */
	int (*flush)(struct emitter *e, const struct profile *p, __u64 now_ns);
	/* NULL, or called once if sample() or finish() has failed: saves what it can. */
	void (*rescue)(struct emitter *e, const struct profile *p);
	/* event: the one to show, for formats that show only one. */
	int (*finish)(struct emitter *e, const struct profile *p, unsigned event);
	void (*free)(struct emitter *e);
};

/* For formats without state of their own. Returns 0 or -ENOMEM. */
int emitter_open(struct emitter **ret, FILE *out, const struct emit_options *options);
void emitter_free(struct emitter *e);

/* Returns the accounts of all events in one line, malloc'ed; NULL: out of memory. */
char *emitter_books(const struct profile *p);

#endif /* KRAIT_OUTPUT_EMITTER_H */
