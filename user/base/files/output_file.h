/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output_file.h - a file that the user names for krait to write.
 *
 * A regular file is written beside its name and takes the name when published: a command that fails
 * leaves the old file alone and no new one behind. A device, a FIFO or standard output ("-") is
 * written in place and never replaced.
 *
 * Must hold: everything happens with the caller's rights (base/files/sudo_user.h), mode 0600. Nothing is
 * written through a symbolic link to a regular file, and no existing file changes its owner. A
 * reader's outputs are its keeper's (base/worker/keeper.h).
 */
#ifndef KRAIT_BASE_FILES_OUTPUT_FILE_H
#define KRAIT_BASE_FILES_OUTPUT_FILE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

struct output_file;

/* How it is opened. */
enum {
	OUTPUT_FILE_REPLACE,
	OUTPUT_FILE_KEEP_OLD, /* an old file of that name becomes NAME.old */
	/* Plus n: not there but as krait-aB3x9Z-NAME in the n-th place for temporary files. */
	OUTPUT_FILE_ELSEWHERE,
};
#define OUTPUT_FILE_PLACES 4

/* Returns 0, -ELOOP (a link to a file) or another -errno. */
int output_file__open(struct output_file **ret, const char *path, unsigned how)
	__attribute__((warn_unused_result));
/* Removes a file that was not published. */
void output_file__free(struct output_file *f);
/* Describes such an error for a file to be written. */
const char *output_file_strerror(int err);

static inline void cleanup_output_file_(struct output_file **f)
{
	output_file__free(*f);
}
#define cleanup_output_file __attribute__((cleanup(cleanup_output_file_)))

/* Owned by *f and invalid after output_file__finish(): users of the stream must end before. */
FILE *output_file__stream(struct output_file *f);
bool output_file__is_stdout(const struct output_file *f);
/*
 * Returns its future absolute name, and the name under which the replaced file is kept; NULL:
 * written in place, or nothing kept.
 */
const char *output_file__name(const struct output_file *f);
const char *output_file__kept_name(const struct output_file *f);

/*
 * Gives the file its name, possibly while it is still being written. Further calls do nothing.
 * Returns 0 or -errno.
 */
int output_file__publish(struct output_file *f) __attribute__((warn_unused_result));
bool output_file__is_published(const struct output_file *f);
/* In bytes, once it is finished. */
__u64 output_file__size(const struct output_file *f);
/* Flushes, publishes and closes. Returns the first error, or 0. */
int output_file__finish(struct output_file *f) __attribute__((warn_unused_result));
/* Tells whether the reader of a pipe has left. */
bool output_file__is_deserted(const struct output_file *f);

#endif /* KRAIT_BASE_FILES_OUTPUT_FILE_H */
