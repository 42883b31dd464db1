/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/answer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "agent/export/answer.pb-c.h"

#define MS_PER_S 1000ULL
/* Longer waits are ignored; the caller has its own limit. */
#define RETRY_MAX_S (1000000LL)

enum grpc_code {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
};

static void set_text(struct answer *a, const char *text, size_t len)
{
	size_t n = strnlen(text, len);

	snprintf(a->text, sizeof(a->text), "%.*s", n < sizeof(a->text) ? (int)n : ANSWER_TEXT_MAX,
		 text);
}

static __u64 ms_of(__s64 seconds, __s32 nanos)
{
	if (seconds < 0 || nanos < 0)
		return 0;
	if (seconds > RETRY_MAX_S)
		seconds = RETRY_MAX_S;
	return (__u64)seconds * MS_PER_S + (__u64)nanos / 1000000;
}

/* ---- bodies ------------------------------------------------------------------------------------ */

/* A malformed body gives no information. */
static void take_response(struct answer *a, const void *body, size_t len)
{
	Krait__Answer__ExportProfilesServiceResponse *r =
		krait__answer__export_profiles_service_response__unpack(NULL, len, body);

	if (!r)
		return;
	if (r->partial_success) {
		if (r->partial_success->rejected_profiles > 0)
			a->partial_rejected = (__u64)r->partial_success->rejected_profiles;
		set_text(a, r->partial_success->error_message, ANSWER_MAX);
	}
	krait__answer__export_profiles_service_response__free_unpacked(r, NULL);
}

static void take_retry_info(struct answer *a, const Krait__Answer__Status__Any *any)
{
	Krait__Answer__RetryInfo *info;

	if (!any->type_url || !strstr(any->type_url, "google.rpc.RetryInfo"))
		return;
	info = krait__answer__retry_info__unpack(NULL, any->value.len, any->value.data);
	if (!info)
		return;
	/* "At once" still means that the server wants the batch again. */
	a->retry_after_ms = 1;
	if (info->retry_delay)
		a->retry_after_ms += ms_of(info->retry_delay->seconds, info->retry_delay->nanos);
	krait__answer__retry_info__free_unpacked(info, NULL);
}

static bool take_status(struct answer *a, const void *body, size_t len)
{
	Krait__Answer__Status *s = krait__answer__status__unpack(NULL, len, body);

	if (!s)
		return false;
	if (s->message && *s->message)
		set_text(a, s->message, ANSWER_MAX);
	for (size_t i = 0; i < s->n_details; i++)
		take_retry_info(a, s->details[i]);
	krait__answer__status__free_unpacked(s, NULL);
	return true;
}

/* Servers answer with text, HTML or JSON, or a proxy before them does. */
static void take_reason(struct answer *a, bool otlp, const void *body, size_t len)
{
	const char *text = body;

	if (!len || (otlp && *text < ' ' && take_status(a, body, len)))
		return;
	set_text(a, text, len);
}

/* ---- HTTP -------------------------------------------------------------------------------------- */

static bool may_try_again(long status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

void answer_http(struct answer *a, long status, __s64 retry_after_s, int otlp, const void *body,
		 size_t len)
{
	*a = (struct answer){ .status = (__s32)status };
	if (status >= 200 && status < 300) {
		a->verdict = ANSWER_DELIVERED;
		if (otlp && len)
			take_response(a, body, len);
		return;
	}
	a->verdict = may_try_again(status) ? ANSWER_RETRY : ANSWER_REJECTED;
	take_reason(a, otlp, body, len);
	a->retry_after_ms = 0; /* a header has it */
	if (a->verdict == ANSWER_RETRY)
		a->retry_after_ms = ms_of(retry_after_s, 0);
}

void answer_none(struct answer *a, const char *why)
{
	*a = (struct answer){ .verdict = ANSWER_RETRY };
	set_text(a, why, ANSWER_TEXT_MAX);
}

/* ---- gRPC -------------------------------------------------------------------------------------- */

/* The value of that header without surrounding blanks, or NULL. */
static const char *value_of(const char *line, size_t len, const char *name, size_t *ret_len)
{
	size_t n = strlen(name);

	if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
		return NULL;
	line += n + 1;
	len -= n + 1;
	while (len && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	while (len && strchr(" \t\r\n", line[len - 1]))
		len--;
	*ret_len = len;
	return line;
}

void answer_grpc_header(struct answer_grpc *g, const char *line, size_t len)
{
	size_t n;
	const char *value = value_of(line, len, "grpc-status", &n);

	if (value) {
		g->status = n && n < 3 ? 0 : GRPC_UNKNOWN;
		for (size_t i = 0; i < n && n < 3; i++)
			g->status = value[i] >= '0' && value[i] <= '9' ?
					    g->status * 10 + value[i] - '0' :
					    GRPC_UNKNOWN;
	}
	value = value_of(line, len, "grpc-message", &n);
	if (value)
		snprintf(g->message, sizeof(g->message), "%.*s",
			 (int)(n < sizeof(g->message) ? n : sizeof(g->message) - 1), value);
	value = value_of(line, len, "grpc-status-details-bin", &n);
	if (value && n < sizeof(g->details))
		snprintf(g->details, sizeof(g->details), "%.*s", (int)n, value);
}

static int digit_of(char c, const char *digits)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static void unescape(char *text)
{
	static const char hex[] = "0123456789abcdef";
	char *out = text;

	for (const char *in = text; *in; in++) {
		int high = *in == '%' && in[1] ? digit_of((char)(in[1] | 0x20), hex) : -1;
		int low = high >= 0 ? digit_of((char)(in[2] | 0x20), hex) : -1;

		if (low >= 0 && (high || low)) {
			*out++ = (char)(high << 4 | low);
			in += 2;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
}

/* base64, padded or not; in place. Returns its length. */
static size_t decode(char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	__u32 bits = 0;
	unsigned have = 0;
	size_t len = 0;

	for (const char *in = text; *in; in++) {
		int d = digit_of(*in, digits);

		if (d < 0)
			break;
		bits = bits << 6 | (__u32)d;
		have += 6;
		if (have >= 8) {
			have -= 8;
			text[len++] = (char)(bits >> have);
		}
	}
	return len;
}

/* For answers of a proxy, or of a server without gRPC (grpc/doc/http-grpc-status-mapping.md). */
static int grpc_of_http(long status)
{
	switch (status) {
	case 400:
		return GRPC_INTERNAL;
	case 401:
		return GRPC_UNAUTHENTICATED;
	case 403:
		return GRPC_PERMISSION_DENIED;
	case 404:
		return GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return GRPC_UNAVAILABLE;
	default:
		return GRPC_UNKNOWN;
	}
}

static enum answer_verdict grpc_verdict(int code, bool retry_info)
{
	switch (code) {
	case GRPC_OK:
		return ANSWER_DELIVERED;
	case GRPC_CANCELLED:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_ABORTED:
	case GRPC_OUT_OF_RANGE:
	case GRPC_UNAVAILABLE:
	case GRPC_DATA_LOSS:
		return ANSWER_RETRY;
	case GRPC_RESOURCE_EXHAUSTED:
		return retry_info ? ANSWER_RETRY : ANSWER_REJECTED;
	default:
		return ANSWER_REJECTED;
	}
}

/* Takes the single message of the answer, if it is complete and uncompressed. */
static void take_frame(struct answer *a, const __u8 *body, size_t len)
{
	__u32 size;

	if (len < 5 || body[0])
		return;
	size = (__u32)body[1] << 24 | (__u32)body[2] << 16 | (__u32)body[3] << 8 | body[4];
	if (size && size <= len - 5)
		take_response(a, body + 5, size);
}

void answer_grpc(struct answer *a, long http_status, const struct answer_grpc *g, const void *body,
		 size_t len)
{
	struct answer_grpc said = *g;
	int code = said.status >= 0 ? said.status : grpc_of_http(http_status);

	*a = (struct answer){ .status = ANSWER_GRPC + code };
	if (code == GRPC_OK) {
		a->verdict = ANSWER_DELIVERED;
		if (len)
			take_frame(a, body, len);
		return;
	}
	if (*said.details) {
		size_t n = decode(said.details);

		(void)take_status(a, said.details, n);
	}
	unescape(said.message);
	if (*said.message)
		set_text(a, said.message, sizeof(said.message));
	else if (said.status < 0 && !*a->text)
		snprintf(a->text, sizeof(a->text), "no gRPC: HTTP status %ld", http_status);
	a->verdict = grpc_verdict(code, a->retry_after_ms > 0);
	if (a->verdict != ANSWER_RETRY)
		a->retry_after_ms = 0;
}
