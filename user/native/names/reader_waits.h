/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader_waits.h - for whom and for how long krait waits while parsers read symbols.
 *
 * Must hold: an owner of files other than root, and all of them together, take no more than a share
 * of krait's time, and of a processor at krait's priority. A recording, which has to end in time,
 * spends no more than a share of it waiting for parsers that get no processor.
 */
#ifndef KRAIT_NATIVE_NAMES_READER_WAITS_H
#define KRAIT_NATIVE_NAMES_READER_WAITS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/share/time_share.h"

/* How often to check a parser's progress. */
#define READER_LOOK_MS 20U

struct reader_waits {
	bool hurries; /* it is a recording; set by the caller */
	__u64 begin_ns;
	struct time_share owners, urgent;
	__u64 starved_ns;
};

void reader_waits_begin(struct reader_waits *w, __u64 now_ns) __attribute__((nonnull));

/* Has that owner used up its share? */
bool reader_waits_refuse(struct reader_waits *w, uid_t owner, __u64 now_ns)
	__attribute__((nonnull));
/* krait has waited that long for a job with a file of that owner. */
void reader_waits_note(struct reader_waits *w, uid_t owner, __u64 ns) __attribute__((nonnull));

/* May a parser of that owner's files run at krait's priority? */
bool reader_waits_may_hurry(struct reader_waits *w, uid_t owner, __u64 now_ns)
	__attribute__((nonnull));
/* It has used so much of a processor. */
void reader_waits_note_urgent(struct reader_waits *w, uid_t owner, __u64 ns)
	__attribute__((nonnull));

/*
 * How long to wait for an answer at once: READER_LOOK_MS, and then check again. If less, wait no
 * longer than that: there has been too much waiting for parsers without a processor.
 */
unsigned reader_waits_ms(const struct reader_waits *w, __u64 now_ns) __attribute__((nonnull));
/* A parser that krait waited for got no processor for that long. */
void reader_waits_note_starved(struct reader_waits *w, __u64 ns) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_READER_WAITS_H */
