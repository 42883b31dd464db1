/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_clean.h - what recordings have left: copies of DSOs in perf's build-id cache (dso_store.h) whose originals are
 * gone, and the folder of a capture that is gone.
 *
 * Must hold: nothing is removed but files that krait has made, by their names, and folders that are empty then; no
 * link is followed. With the caller's rights.
 */
#ifndef KRAIT_DSO_DSO_CLEAN_H
#define KRAIT_DSO_DSO_CLEAN_H

#include <linux/types.h>
#include <stdbool.h>

struct dso_cleaned {
	bool dry; /* set by the caller: nothing is removed, only counted */
	__u64 files, bytes;
};

/* 0 also where there is no cache; else -errno of what could not be read or removed first. */
int dso_clean_cache(struct dso_cleaned *c) __attribute__((warn_unused_result));
/* Of the capture of that name. -EEXIST: it is there; -ENOENT: it has left nothing. */
int dso_clean_capture(struct dso_cleaned *c, const char *capture)
	__attribute__((warn_unused_result));

#endif /* KRAIT_DSO_DSO_CLEAN_H */
