/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nearest.h - "did you mean ...?": finds the known word closest to a mistyped one.
 *
 * The distance is the number of letters to insert, delete, replace, or swap with a neighbour. Must
 * hold: a suggestion changes at most a third of the letters, or one in a word of two.
 */
#ifndef KRAIT_BASE_TEXT_NEAREST_H
#define KRAIT_BASE_TEXT_NEAREST_H

struct nearest {
	const char *word;
	const char *best; /* borrowed from nearest_try(); NULL: nothing is close */
	unsigned distance; /* of best */
};

/* A word of more than 31 letters gets no suggestion. */
void nearest_begin(struct nearest *n, const char *word) __attribute__((nonnull));
/* Tries a known word; among equally close ones the first wins. */
void nearest_try(struct nearest *n, const char *known) __attribute__((nonnull));

#endif /* KRAIT_BASE_TEXT_NEAREST_H */
