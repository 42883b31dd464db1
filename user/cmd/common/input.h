/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.h - the profile that a command works on: a perf.data capture or folded stacks.
 *
 * The file's content decides which, not its name. All commands that read one have the same options:
 * input_children is their table, for struct argp.
 */
#ifndef KRAIT_CMD_COMMON_INPUT_H
#define KRAIT_CMD_COMMON_INPUT_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "capture/import/perf_import.h"
#include "output/emitter.h"
#include "profile/profile.h"

#define INPUT_DEFAULT "perf.data"

struct input_options {
	const char *path; /* NULL: INPUT_DEFAULT; "-": the standard input */
	FILE *file; /* that, already open; NULL: input__load() opens it */
	struct perf_filter filter;
	bool quiet; /* says nothing of what --charge-waiters has done */
	bool may_fold; /* ignore no_native and no_kernel for folded stacks */
	bool wall; /* time on and off the CPU as one event */
	char given[128]; /* options that choose samples, as typed: " --pid 12 --comm x" */
};

struct input {
	struct profile *profile;
	struct profile *wall; /* also this one, if it is shown; else NULL */
	unsigned event; /* index of the event shown by what shows only one */
	bool is_capture;
	struct perf_import_stats stats; /* for a capture */
};

/*
 * -i, --pid, --tid, --comm, --function, --event, --time, and FILE if the command leaves arguments
 * to it. At ARGP_KEY_INIT the command's parser sets child_inputs[0] to a struct input_options.
 */
extern const struct argp_child input_children[];
/* Likewise without -i, for a command whose arguments are its files. */
extern const struct argp_child input_filters[];

typedef void (*input_sample_fn)(void *ctx, const struct profile *p, const struct profile_sample *s);

/* Opens a file that the command line names. NULL and errno on failure. */
FILE *input_open(const char *path);
/* Does it lead to something? The caller's rights decide, as for all that the command line names. */
bool input_stat(const char *path, struct stat *ret);
/* Tells whether the file is a perf capture with samples. */
bool input_is_capture(const char *path);
/* Likewise; the stream stays where it is, also if it is a pipe. */
bool input_stream_is_capture(FILE *file);

/*
 * Reads the whole file, into beside's dictionary if that is not NULL, and calls fn (may be NULL)
 * for each sample of a capture. Prints warnings about the file on stderr. Returns EXIT_CODE_OK, or
 * another code after an error message.
 */
int input__load(struct input *ret, const struct input_options *o, const struct input *beside,
		input_sample_fn fn, void *ctx) __attribute__((warn_unused_result));
void input__free(struct input *in);

/* Is time on and off the CPU shown as one? Known with the first sample. */
bool input_joins_time(const struct input_options *o, const struct profile *p);
/* Returns the counts of the shown event. */
const struct counts *input__shown(const struct input *in);
/* For commands that show only one of several events: which, and how much is left out; "": there are no others. */
void input_event_text(const struct input *in, char *ret, size_t size);
/* Says so. */
void input__say_event(const struct input *in);

#endif /* KRAIT_CMD_COMMON_INPUT_H */
