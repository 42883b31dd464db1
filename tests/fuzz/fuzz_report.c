/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_report.c - any bytes as a process's report on a script: texts lie within them, and their
 * size is bounded.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "look/exec/report.h"

static void on_text(void *ctx, bool is_stderr, const char *text, size_t len)
{
	volatile char sum = 0;

	if (len > REPORT_TEXT_MAX)
		abort();
	for (size_t i = 0; i < len; i++)
		sum = (char)(sum + text[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r || !size)
		return free(r), 0;
	r->text = on_text;
	/* In two parts, split where the input says. */
	report_take(r, (const char *)data + 1, data[0] % size);
	report_take(r, (const char *)data + 1 + data[0] % size, size - 1 - data[0] % size);
	report_end(r);
	if (!r->over || strlen(r->error) >= REPORT_ERROR_MAX)
		abort();
	free(r);
	return 0;
}
