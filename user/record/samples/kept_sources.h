/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kept_sources.h - keeps the lines of sampled functions with the recording (profile/sources.h) where whoever reads it would
 * find no file, or another one: of processes with another root folder or mounts than krait's, and of code that is in no file
 * (cells, exec()), from linecache.
 *
 * A prober reads the text when a function of the file is first met (process/probe/probe_source.h). A text in which the
 * function is not where its code object says, or of a file that was changed after its process began, is not what ran.
 *
 * Must hold: costs nothing for other code than a comparison of names, when a code object is first met.
 */
#ifndef KRAIT_RECORD_SAMPLES_KEPT_SOURCES_H
#define KRAIT_RECORD_SAMPLES_KEPT_SOURCES_H

#include <linux/types.h>

struct dict;
struct kept_sources;
struct process;
struct process_own;
struct prober;

/* All are borrowed. NULL: out of memory. */
struct kept_sources *kept_sources__new(struct dict *dict, struct prober *prober)
	__attribute__((warn_unused_result, nonnull));
/* After the processes are gone. */
void kept_sources__free(struct kept_sources *k);

/* A code object of the dictionary was met in the process. */
void kept_sources__met(struct kept_sources *k, struct process *p, __u32 code)
	__attribute__((nonnull));
/* The process goes, or executes another image. */
void kept_sources__process_gone(struct kept_sources *k, struct process_own *own)
	__attribute__((nonnull));
/* Waits for the last texts. */
void kept_sources__finish(struct kept_sources *k, int wait_ms) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_KEPT_SOURCES_H */
