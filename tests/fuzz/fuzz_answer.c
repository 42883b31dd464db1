/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a server's answer: header and trailer lines, then a body, for HTTP and gRPC.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/export/answer.h"
#include "agent/export/secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct answer *a)
{
	if (!memchr(a->text, 0, sizeof(a->text)) || a->verdict > ANSWER_REJECTED ||
	    (a->partial_rejected && a->verdict != ANSWER_DELIVERED) ||
	    (a->retry_after_ms && a->verdict != ANSWER_RETRY))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer_grpc g = { .status = -1 };
	struct secrets secrets = { .list = { "secret" }, .cnt = 1 };
	const char *text = (const char *)data;
	struct answer a;
	long status;

	if (size < 2)
		return 0;
	status = 100 + (data[0] << 8 | data[1]) % 500;
	text += 2;
	size -= 2;
	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t len = end ? (size_t)(end + 1 - text) : size;

		if (len <= 1)
			break; /* an empty line: the body follows */
		answer_grpc_header(&g, text, len);
		text += len;
		size -= len;
	}
	answer_http(&a, status, status - 300, 1, text, size);
	check(&a);
	answer_grpc(&a, status, &g, text, size);
	check(&a);
	secrets_hide(&secrets, a.text);
	if (strstr(a.text, "secret"))
		abort();
	return 0;
}
