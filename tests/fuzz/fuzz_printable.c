/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_printable.c - any text: no control byte comes out, and the cut form is a prefix.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/printable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *shown, *cut;
	size_t len = size ? data[0] : 1;

	shown = text ? printable(text) : NULL;
	cut = malloc(len + 1);
	if (shown && cut && len) {
		printable_into(cut, len, text);
		for (const char *p = shown; *p; p++) {
			if ((unsigned char)*p < 0x20 || *p == 0x7f)
				abort();
		}
		if (strlen(cut) >= len || strncmp(cut, shown, strlen(cut)))
			abort();
	}
	free(text);
	free(shown);
	free(cut);
	return 0;
}
