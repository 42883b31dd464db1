/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a log of inputs: what is handed out lies within it, and the reader comes to an end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/replay/input_log.h"

/* More than a log's header. */
#define HEADER_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *log = malloc(HEADER_MAX + size);
	FILE *out = log ? fmemopen(log, HEADER_MAX, "w") : NULL;
	size_t header;
	struct input_reader reader;
	struct input_entry e;
	size_t entries = 0;

	if (!out || input_log_begin(out) || fflush(out))
		abort();
	header = (size_t)ftell(out);
	fclose(out);
	memcpy(log + header, data, size);
	if (input_reader_begin(&reader, log, header + size))
		abort();
	while (input_reader_next(&reader, &e) > 0) {
		const char *key = e.key, *value = e.value;

		if (key < log + header || value < key + e.key_size ||
		    value + e.value_size > log + header + size || ++entries > size)
			abort();
	}
	free(log);
	return 0;
}
