/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.h - the profile that a command is to work on: a perf.data capture, or folded stacks.
 *
 * What the file is decides its content, not its name. The options are the same for all commands
 * that read one: input_children is their table, for struct argp.
 */
#ifndef KRAIT_CMD_INPUT_H
#define KRAIT_CMD_INPUT_H

#include <argp.h>
#include <stdbool.h>

#include "import/perf_import.h"
#include "emit/emitter.h"
#include "profile/profile.h"

#define INPUT_DEFAULT "perf.data"

struct input_options {
	const char *path; /* NULL: INPUT_DEFAULT; "-": the standard input */
	struct perf_filter filter;
	bool may_fold; /* no_native and no_kernel are no matter of folded stacks, which stay as they are */
	bool path_given;
	bool wall; /* time on and off the CPU as one event */
	char given[128]; /* what chooses among samples, as it was typed: " --pid 12 --comm x" */
};

struct input {
	struct profile *profile;
	struct profile *wall; /* beside it, where that is what is shown; else NULL */
	unsigned event; /* number of the one that is shown where only one is */
	bool is_capture;
	struct perf_import_stats stats; /* of a capture */
};

/*
 * -i, --pid, --tid, --comm, --function, --event, --time, and FILE where the command leaves arguments to
 * it. The command's parser sets child_inputs[0] to a struct input_options, at ARGP_KEY_INIT.
 */
extern const struct argp_child input_children[];

typedef void (*input_sample_fn)(void *ctx, const struct profile *p, const struct profile_sample *s);

/* Whether that is a file with samples in perf's format. */
bool input_is_capture(const char *path);

/*
 * Reads it all, over the dictionary of beside where that is not NULL, with fn (may be NULL) called for each sample of a
 * capture. What is odd about the file is said on stderr. EXIT_CODE_OK, or another one after an error message.
 */
int input__load(struct input *ret, const struct input_options *o, const struct input *beside,
		input_sample_fn fn, void *ctx) __attribute__((warn_unused_result));
void input__free(struct input *in);

/* Of the event that is shown. */
const struct counts *input__shown(const struct input *in);
/* Says which event is shown, for what shows only one of several. */
void input__say_event(const struct input *in);

#endif /* KRAIT_CMD_INPUT_H */
