/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge_python.h - maps addresses in the libraries of one capture (capture/dso/dso.h) to addresses in those
 * of the capture being made: the same place in the same function gets one address there, whichever
 * capture it comes from.
 *
 * Must hold: a place keeps its function, line and column; one whose library is missing or does not
 * know it becomes a mark, and is counted.
 */
#ifndef KRAIT_AGENT_KEEP_MERGE_PYTHON_H
#define KRAIT_AGENT_KEEP_MERGE_PYTHON_H

#include <linux/types.h>
#include <stdbool.h>

struct dict;
struct dso;
struct dso_reader;
struct merge_python;

/* The dictionary and the libraries of the result; both are borrowed. NULL: out of memory. */
struct merge_python *merge_python__new(struct dict *dict, struct dso *dso);
void merge_python__free(struct merge_python *m);

/* The next capture begins, with other libraries. */
void merge_python__clear(struct merge_python *m);
/*
 * Adds a library of it, identified by its address in every process; takes it over, and closes it if
 * it is already known. NULL: it is unreadable. Returns 0 or -EINVAL: krait has no library at that
 * address.
 */
int merge_python__add(struct merge_python *m, __u64 start, struct dso_reader *reader)
	__attribute__((warn_unused_result));
bool merge_python__has(const struct merge_python *m, __u64 start);
/* The notes of its newest library, with the accounts; NULL: none. */
const char *merge_python__notes(const struct merge_python *m);

/* Is it in the range of krait's libraries? */
bool merge_python__is(__u64 address);
/* Its address in the result; 0: out of memory. */
__u64 merge_python__address(struct merge_python *m, __u64 address);
/* Addresses without a name so far. */
__u64 merge_python__unnamed(const struct merge_python *m);

#endif /* KRAIT_AGENT_KEEP_MERGE_PYTHON_H */
