/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge_python.h - addresses in the libraries of one capture (dso/dso.h) as addresses in those of another one that
 * is being made: the same place in the same function has one address there, whichever capture it comes from.
 *
 * Must hold: a place keeps its function, line and column; one whose library is missing or does not know it becomes a
 * mark, and is counted.
 */
#ifndef KRAIT_KEEP_MERGE_PYTHON_H
#define KRAIT_KEEP_MERGE_PYTHON_H

#include <linux/types.h>
#include <stdbool.h>

struct dict;
struct dso;
struct dso_reader;
struct merge_python;

/* What is made; both are borrowed. NULL when out of memory. */
struct merge_python *merge_python__new(struct dict *dict, struct dso *dso);
void merge_python__free(struct merge_python *m);

/* The next capture: its libraries are others. */
void merge_python__clear(struct merge_python *m);
/*
 * A library of it, which then belongs to *m, by the address at which it is in every process; one that is known is
 * closed. NULL: it cannot be read. 0 or -EINVAL: nothing of krait's is there.
 */
int merge_python__add(struct merge_python *m, __u64 start, struct dso_reader *reader)
	__attribute__((warn_unused_result));
bool merge_python__has(const struct merge_python *m, __u64 start);
/* The text of its newest library, with the accounts; NULL none. */
const char *merge_python__notes(const struct merge_python *m);

/* Does it lie where krait's libraries are? */
bool merge_python__is(__u64 address);
/* Where it is now; 0 when out of memory. */
__u64 merge_python__address(struct merge_python *m, __u64 address);
/* Addresses so far that had no name. */
__u64 merge_python__unnamed(const struct merge_python *m);

#endif /* KRAIT_KEEP_MERGE_PYTHON_H */
