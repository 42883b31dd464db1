/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_snapshot.c - any bytes as what the kernel saw of a code object, as a record that has been found
 * sane: names are texts, and a line is none or one.
 */
#include <errno.h>
#include <linux/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/record.h"
#include "sampler/sampler.h"
#include "symbol/symbolizer.h"
#include "target/py_tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_nothing(void *ctx, __u64 addr, void *buf, size_t len)
{
	return -ESRCH;
}

static const struct memory nothing = { .read = read_nothing };

static void resolve(struct symbolizer *s, const struct event_code *event)
{
	const struct code_query query = { .code_addr = event->code_addr,
					  .fingerprint = event->fingerprint,
					  .instr_off = 4 };
	struct source_position position = { .line = -1 };
	struct code_symbol symbol;

	if (symbolizer__resolve(s, &query, &symbol, &position) != SYMBOL_OK)
		return;
	if (strlen(symbol.qualname) > CODE_DATA_SIZE * 4 ||
	    strlen(symbol.filename) > CODE_DATA_SIZE * 4)
		abort();
}

static void on_code(void *ctx, const struct event_code *event)
{
	struct symbolizer *s = symbolizer__new(py_tables_find(*(const unsigned *)ctx), &nothing);

	if (!s)
		abort();
	symbolizer__define(s, event);
	resolve(s, event);
	symbolizer__free(s);
}

static void on_bad(void *ctx)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned minor = size ? 8 + data[0] % 5 : 8;
	const struct sampler_handler handler = {
		.code = on_code,
		.bad_record = on_bad,
		.ctx = &minor,
	};
	struct event_code *event = calloc(1, sizeof(*event));
	size_t len;

	if (size < 2 || size - 1 > sizeof(*event)) {
		free(event);
		return 0;
	}
	memcpy(event, data + 1, size - 1);
	len = size - 1 > CODE_EVENT_HEADER ? size - 1 : CODE_EVENT_HEADER;
	event->type = EVENT_CODE;
	event->size = (__u32)len;
	event->data_size = (__u32)(len - CODE_EVENT_HEADER);
	event->region_cnt %= CODE_REGIONS + 1;
	record_dispatch(&handler, event, len);
	free(event);
	return 0;
}
