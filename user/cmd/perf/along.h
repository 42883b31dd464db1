/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * along.h - a session that rides along with a perf (kernel/sampler/ride.h), keeps the stacks in a file of its own
 * (capture/import/taken_stacks.h), and puts them into perf's data when perf has ended (capture/import/inject.h).
 *
 * Life: open -> run, until perf or the session has ended -> close -> put, if that is wanted -> free.
 *
 * perf's data is a foreign file: a process that was forked before krait samples reads and writes it, as krait inject does.
 */
#ifndef KRAIT_CMD_PERF_ALONG_H
#define KRAIT_CMD_PERF_ALONG_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct along;
struct error;

struct along_config {
	pid_t perf;
	const char *stacks; /* where they go; NULL: a temporary file */
	FILE *data; /* perf's data, complete when perf has ended; NULL: krait keeps the stacks */
	const char *out; /* the file that gets it with the stacks; NULL: the standard output */
	int level; /* of zstd's compression, 0: as it was */
	bool quiet;
	int (*inject)(int argc,
		      char **argv); /* krait inject, with perf's data as its standard input */
	/* As session_config's. */
	bool (*on_signal)(void *ctx, int signal, bool from_terminal);
	/* NULL, or called when along_config.watched is readable; false: it will be no more. */
	bool (*on_readable)(void *ctx);
	int watched;
	void *ctx;
};

/* Attaches to perf's events, enabled or not. NULL with *err filled. */
struct along *along__open(const struct along_config *config, struct error *err);
/* Takes stacks until perf has ended, or on_signal() wants no more. Returns whether perf has ended. */
bool along__run(struct along *a);
/* Ends taking stacks. Returns 0, or a negative result with *err filled. */
int along__close(struct along *a, struct error *err) __attribute__((warn_unused_result));
/* After along__close(): how many there are. */
__u64 along__cnt(const struct along *a);
/* Puts them into perf's data, and says how many samples have them. Returns an exit code, after a message. */
int along__put(struct along *a);
/* Keeps the temporary file, and returns its name. */
const char *along__keep(struct along *a);
void along__free(struct along *a);

/*
 * The data file that the process writes; *ret_name: its name here, for the caller to free. NULL with *err filled: there is
 * none, or none that krait can replace.
 */
FILE *along_data(pid_t perf, char **ret_name, struct error *err);

/*
 * For stacks that were kept: puts them into a copy of *in. path: of the stacks, NULL: none, a mere copy. in_name NULL:
 * standard input; out NULL: standard output. level: of zstd's compression, 0: as it was.
 */
int along_put(const char *path, FILE *in, const char *in_name, const char *out, int level,
	      struct error *err) __attribute__((warn_unused_result));

#endif /* KRAIT_CMD_PERF_ALONG_H */
