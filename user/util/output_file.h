/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output_file.h - a file that the user has named for krait to write.
 *
 * An ordinary file is written beside that name and takes it when it is published: a command that fails
 * leaves what was there, and nothing of its own. A device, a FIFO or the standard output ("-") is
 * written in place and never replaced.
 *
 * Must hold: all of it happens with the caller's rights (util/sudo_user.h), mode 0600; nothing is written
 * through a symbolic link that leads to an ordinary file, and nothing that was there is given away.
 */
#ifndef KRAIT_UTIL_OUTPUT_FILE_H
#define KRAIT_UTIL_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct output_file;

/* keep_old: what has that name then becomes NAME.old. 0; -ELOOP: a link to a file; -errno. */
int output_file__open(struct output_file **ret, const char *path, bool keep_old)
	__attribute__((warn_unused_result));
/* One that was not published is removed. */
void output_file__free(struct output_file *f);
/* What such an error means for a file that is to be written. */
const char *output_file_strerror(int err);

static inline void cleanup_output_file_(struct output_file **f)
{
	output_file__free(*f);
}
#define cleanup_output_file __attribute__((cleanup(cleanup_output_file_)))

/* Owned by *f: no more after output_file__finish(), so whoever holds it ends before. */
FILE *output_file__stream(struct output_file *f);
bool output_file__is_stdout(const struct output_file *f);
/* The absolute name that it will have, and that of what it replaces and keeps; NULL: in place, none. */
const char *output_file__name(const struct output_file *f);
const char *output_file__kept_name(const struct output_file *f);

/* It takes its name, also while it is still being written. Again is nothing. 0 or -errno. */
int output_file__publish(struct output_file *f) __attribute__((warn_unused_result));
bool output_file__is_published(const struct output_file *f);
/* Writes what is buffered, publishes and closes. The first failure, or 0. */
int output_file__finish(struct output_file *f) __attribute__((warn_unused_result));
/* The reader at the other end of a pipe has gone. */
bool output_file__is_deserted(const struct output_file *f);

#endif /* KRAIT_UTIL_OUTPUT_FILE_H */
