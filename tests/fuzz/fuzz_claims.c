/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_claims.c - any bytes as an environment, in pieces: its claims, and its control group.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc/cgroup.h"
#include "process/proc/claims.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *ctx, const char *key, const char *value)
{
	if (!*key || strlen(key) >= CLAIMS_KEY_MAX || strlen(value) >= CLAIMS_VALUE_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct claims_scan scan = { 0 };
	struct claims claims = { 0 };
	size_t piece = size ? data[0] % 64 + 1U : 1;
	char unit[128], pod[40];
	char *text;

	for (size_t at = 0; at < size; at += piece)
		claims_scan(&scan, &claims, (const char *)data + at,
			    size - at < piece ? size - at : piece);
	claims_scan_end(&scan, &claims);
	if (!memchr(claims.service_name, '\0', sizeof(claims.service_name)) ||
	    !memchr(claims.attributes, '\0', sizeof(claims.attributes)))
		abort();
	claims_each(claims.attributes, take, NULL);
	text = strndup((const char *)data, size);
	if (!text)
		return 0;
	claims_each(text, take, NULL);
	unit_of_cgroup(text, unit, sizeof(unit));
	pod_of_cgroup(text, pod, sizeof(pod));
	if (strlen(unit) >= sizeof(unit) || strlen(pod) >= sizeof(pod))
		abort();
	free(text);
	return 0;
}
