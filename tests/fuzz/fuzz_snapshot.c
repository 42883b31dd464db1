/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_snapshot.c - any bytes as the kernel side's snapshot of a code object, in a valid record:
 * names are valid texts, and a line is valid or unknown.
 */
#include <errno.h>
#include <linux/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/sampler/record.h"
#include "kernel/sampler/sampler.h"
#include "python/code/symbolizer.h"
#include "python/layout/py_builtin_offsets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_nothing(void *ctx, __u64 addr, void *buf, size_t len)
{
	return -ESRCH;
}

static const struct memory nothing = { .read = read_nothing };

static void resolve(struct symbolizer *s, const struct record_code *record)
{
	const struct code_query query = { .code_addr = record->code_addr,
					  .fingerprint = record->fingerprint,
					  .instr_off = 4 };
	struct source_position position = { .line = -1 };
	struct code_symbol symbol;

	if (symbolizer__resolve(s, &query, &symbol, &position) != SYMBOL_OK)
		return;
	if (strlen(symbol.qualname) > CODE_DATA_SIZE * 4 ||
	    strlen(symbol.filename) > CODE_DATA_SIZE * 4)
		abort();
}

static void on_code(void *ctx, const struct record_code *record)
{
	struct symbolizer *s =
		symbolizer__new(py_builtin_offsets_find(*(const unsigned *)ctx), &nothing);

	if (!s)
		abort();
	symbolizer__define(s, record);
	resolve(s, record);
	symbolizer__free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned minor = size ? 8 + data[0] % 5 : 8;
	const struct sampler_handler handler = {
		.code = on_code,
		.ctx = &minor,
	};
	struct record_code *record = calloc(1, sizeof(*record));
	size_t len;

	if (size < 2 || size - 1 > sizeof(*record)) {
		free(record);
		return 0;
	}
	memcpy(record, data + 1, size - 1);
	len = size - 1 > CODE_RECORD_HEADER ? size - 1 : CODE_RECORD_HEADER;
	record->type = RECORD_CODE;
	record->size = (__u32)len;
	record->data_size = (__u32)(len - CODE_RECORD_HEADER);
	record->region_cnt %= CODE_REGIONS + 1;
	record_dispatch(&handler, record, len);
	free(record);
	return 0;
}
