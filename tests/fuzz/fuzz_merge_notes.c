/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_merge_notes.c - any texts as the notes of two captures: merged, they give the same when
 * merged again, with nothing twice.
 */
#include <linux/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/keep/merge_notes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct totals {
	__u64 interrupts, lost;
};

static char *text_of(const struct merge_notes *n, struct totals *ret)
{
	char *text = merge_notes__text(n);
	const char *why;

	if (!text)
		abort();
	merge_notes__totals(n, &ret->interrupts, &ret->lost, &why);
	return text;
}

static struct merge_notes *merged(const char *notes)
{
	struct merge_notes *n = merge_notes__new();

	if (!n || merge_notes__add(n, notes))
		abort();
	return n;
}

/*
 * The first byte chooses whether only the names of the second capture are wanted. A NUL separates
 * the two.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct merge_notes *n, *again, *third;
	struct totals totals, totals_again;
	char *texts, *second, *text, *text_again;

	if (!size)
		return 0;
	texts = calloc(1, size + 2);
	if (!texts)
		abort();
	memcpy(texts, data + 1, size - 1);
	second = texts + strlen(texts) + 1;
	n = merged(texts);
	if (*data & 1 ? merge_notes__add_names(n, second) : merge_notes__add(n, second))
		abort();
	text = text_of(n, &totals);
	/* A line that is a number's name is gone after the next round. */
	again = merged(text);
	free(text);
	text = text_of(again, &totals_again);
	if (totals.interrupts != totals_again.interrupts || totals.lost != totals_again.lost)
		abort();
	third = merged(text);
	text_again = text_of(third, &totals_again);
	if (strcmp(text, text_again))
		abort();
	/* All of its names are known. */
	if (merge_notes__add_names(third, text))
		abort();
	free(text_again);
	text_again = text_of(third, &totals_again);
	if (strcmp(text, text_again))
		abort();
	merge_notes__free(third);
	merge_notes__free(n);
	merge_notes__free(again);
	free(text);
	free(text_again);
	free(texts);
	return 0;
}
