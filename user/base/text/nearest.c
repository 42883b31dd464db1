/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text/nearest.h"

#include <stddef.h>
#include <string.h>

#define LETTERS_MAX 31

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* A missing hyphen costs little: --offcpu. */
static unsigned cost_of(char letter)
{
	return letter != '-';
}

/* Optimal string alignment distance; both have at most LETTERS_MAX letters. */
static unsigned distance_of(const char *a, const char *b)
{
	unsigned rows[3][LETTERS_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2],
					   *free;
	size_t a_len = strlen(a), b_len = strlen(b);

	last[0] = 0;
	for (size_t j = 1; j <= b_len; j++)
		last[j] = last[j - 1] + cost_of(b[j - 1]);
	for (size_t i = 1; i <= a_len; i++) {
		row[0] = last[0] + cost_of(a[i - 1]);
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = min3(last[j] + cost_of(a[i - 1]), row[j - 1] + cost_of(b[j - 1]),
				      last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		free = before;
		before = last;
		last = row;
		row = free;
	}
	return last[b_len];
}

void nearest_begin(struct nearest *n, const char *word)
{
	size_t len = strlen(word);

	*n = (struct nearest){ .word = word };
	/* Only a smaller distance counts as close. */
	n->distance = len > LETTERS_MAX || len < 2 ? 0 : (unsigned)(len < 4 ? 1 : len / 3) + 1;
}

void nearest_try(struct nearest *n, const char *known)
{
	unsigned distance;

	if (!n->distance || strlen(known) > LETTERS_MAX)
		return;
	distance = distance_of(n->word, known);
	if (distance >= n->distance)
		return;
	n->distance = distance;
	n->best = known;
}
