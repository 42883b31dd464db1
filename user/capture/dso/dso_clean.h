/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_clean.h - cleans up after recordings: copies of DSOs in perf's build-id cache (dso_store.h)
 * whose originals are gone, and the folder of a capture that is gone.
 *
 * Must hold: removes only files made by krait, recognised by name, and folders that are then empty;
 * follows no link. Uses the caller's rights.
 */
#ifndef KRAIT_CAPTURE_DSO_DSO_CLEAN_H
#define KRAIT_CAPTURE_DSO_DSO_CLEAN_H

#include <linux/types.h>
#include <stdbool.h>

struct dso_cleaned {
	bool dry; /* set by the caller: only count, remove nothing */
	__u64 files, bytes;
};

/* Returns 0 also if there is no cache; else the first error of reading or removing. */
int dso_clean_cache(struct dso_cleaned *c) __attribute__((warn_unused_result));
/* For the capture with that name. -EEXIST: it still exists; -ENOENT: it has left nothing. */
int dso_clean_capture(struct dso_cleaned *c, const char *capture)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_DSO_DSO_CLEAN_H */
