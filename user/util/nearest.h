/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nearest.h - "did you mean ...?": the known word that a mistyped one is closest to.
 *
 * Distance is the number of letters to insert, delete, replace, or swap with their neighbour. Must hold: a
 * word that needs more than a third of its letters changed is suggested to nobody.
 */
#ifndef KRAIT_UTIL_NEAREST_H
#define KRAIT_UTIL_NEAREST_H

struct nearest {
	const char *word;
	const char *best; /* borrowed from nearest_try(); NULL: nothing is close */
	unsigned distance; /* of best */
};

/* A word of more than 31 letters has no nearest one. */
void nearest_begin(struct nearest *n, const char *word) __attribute__((nonnull));
/* One of the known words; of equally close ones the first wins. */
void nearest_try(struct nearest *n, const char *known) __attribute__((nonnull));

#endif /* KRAIT_UTIL_NEAREST_H */
