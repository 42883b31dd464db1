/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slice_file.h - one capture of an agent's memory while it is written.
 */
#ifndef KRAIT_AGENT_KEEP_SLICE_FILE_H
#define KRAIT_AGENT_KEEP_SLICE_FILE_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/profile.h"
#include "profile/recording.h"

struct keep_accounts;
struct slice;
struct slice_file;

struct slice_file_config {
	const char *folder;
	struct recording recording; /* host, kernel, command line */
	int (*find_kernel)(void *ctx, __u64 *ret_start, __u64 *ret_size);
	void *find_kernel_ctx;
	__u64 began_ns;
	int compression; /* emitter.h */
};

/*
 * p: the profile of the samples; it must outlive the file, and its dictionary must forget nothing
 * until then. Returns 0 or -errno.
 */
int slice_file__new(struct slice_file **ret, const struct slice_file_config *config,
		    const struct slice *slice, const struct profile *p)
	__attribute__((warn_unused_result));
void slice_file__free(struct slice_file *f);

const struct slice *slice_file__slice(const struct slice_file *f);
/* Has the rate of the profile's events changed? */
bool slice_file__has_other_rate(const struct slice_file *f, const struct profile *p);

/* Returns 0 or -errno; after an error only rescue and free may follow. */
int slice_file__sample(struct slice_file *f, const struct profile_sample *s)
	__attribute__((warn_unused_result));
int slice_file__flush(struct slice_file *f, __u64 now_ns) __attribute__((warn_unused_result));
/* Takes its accounts, and ends the file. */
int slice_file__finish(struct slice_file *f, struct keep_accounts *accounts)
	__attribute__((warn_unused_result));
/* Keeps what was written before an error readable, if possible. */
void slice_file__rescue(struct slice_file *f);

#endif /* KRAIT_AGENT_KEEP_SLICE_FILE_H */
