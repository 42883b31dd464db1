/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/export/export_kinds.h"
#include "agent/export/deflate.h"
#include "base/data/cleanup.h"

#define GRPC_FRAME 5U
/* The caller chooses the bodies' OTLP version; servers' logs should show who sent them. */
#define USER_AGENT "krait/" KRAIT_VERSION " (OTLP profiles v1development, proto 1.10)"

/* ---- what comes back --------------------------------------------------------------------------- */

static size_t take_body(char *data, size_t size, size_t cnt, void *ctx)
{
	struct request *r = ctx;
	size_t len = size * cnt;

	if (len > ANSWER_MAX - r->answer.len) {
		r->too_long = true;
		return 0;
	}
	bytes_put(&r->answer, data, len);
	return len;
}

static size_t take_header(char *data, size_t size, size_t cnt, void *ctx)
{
	struct request *r = ctx;
	size_t len = size * cnt;

	r->header_bytes += len;
	if (r->header_bytes > ANSWER_MAX)
		return 0;
	/* A new head: that of the answer after "100 Continue", or after a proxy's. */
	if (len > 5 && !memcmp(data, "HTTP/", 5))
		r->grpc = (struct answer_grpc){ .status = -1 };
	answer_grpc_header(&r->grpc, data, len);
	return len;
}

/* ---- headers ----------------------------------------------------------------------------------- */

static int add(struct request *r, struct curl_slist **list, const char *text)
{
	struct curl_slist *longer = r->curl->slist_append(*list, text);

	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

static int add_format(struct request *r, struct curl_slist **list, const char *format,
		      const char *value)
{
	cleanup_free char *text = NULL;
	int err;

	if (asprintf(&text, format, value) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	err = add(r, list, text);
	explicit_bzero(text, strlen(text));
	return err;
}

static int add_own(struct request *r, struct curl_slist **list)
{
	cleanup_free char *lines = r->d->headers ? strdup(r->d->headers) : NULL;
	char *next = NULL;
	int err = r->d->headers && !lines ? -ENOMEM : 0;

	for (char *l = lines ? strtok_r(lines, "\n", &next) : NULL; l && !err;
	     l = strtok_r(NULL, "\n", &next))
		err = add(r, list, l);
	return err;
}

static int make_headers(struct request *r, struct curl_slist **list, bool gzip)
{
	const struct setup_destination *d = r->d;
	char timeout[32];
	int err = add(r, list, "Expect:"); /* otherwise libcurl waits for permission to send */

	snprintf(timeout, sizeof(timeout), "%u", d->timeout_ms);
	if (!err && d->protocol == EXPORT_GRPC) {
		err = add(r, list, "Content-Type: application/grpc");
		err = err ? err : add(r, list, "TE: trailers");
		err = err ? err : add_format(r, list, "grpc-timeout: %sm", timeout);
		if (!err && gzip)
			err = add(r, list, "grpc-encoding: gzip");
	} else if (!err) {
		err = add_format(r, list, "Content-Type: %s", export_kind_row(d->kind)->http_type);
		if (!err && gzip)
			err = add(r, list, "Content-Encoding: gzip");
	}
	if (!err && d->token)
		err = add_format(r, list, "Authorization: Bearer %s", d->token);
	return err ? err : add_own(r, list);
}

/* ---- the handle -------------------------------------------------------------------------------- */

static void set_blob(struct request *r, CURLoption option, const char *text)
{
	struct curl_blob blob = { (void *)text, text ? strlen(text) : 0, CURL_BLOB_COPY };

	if (text)
		r->curl->easy_setopt(r->easy, option, &blob);
}

static void set_tls(struct request *r)
{
	curl_library_trust(r->curl, r->easy);
	set_blob(r, CURLOPT_CAINFO_BLOB, r->d->ca);
	set_blob(r, CURLOPT_SSLCERT_BLOB, r->d->cert);
	set_blob(r, CURLOPT_SSLKEY_BLOB, r->d->key);
}

static void set_http_version(struct request *r)
{
	bool tls = !strncmp(r->d->url, "https:", 6);
	long version = CURL_HTTP_VERSION_1_1;

	if (r->d->protocol == EXPORT_GRPC)
		version = tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	r->curl->easy_setopt(r->easy, CURLOPT_HTTP_VERSION, version);
	/*
	 * libcurl 7.88, Debian 12's, fails on the second request of such a connection (curl issue
	 * 10634).
	 */
	if (version == CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
		r->curl->easy_setopt(r->easy, CURLOPT_FORBID_REUSE, 1L);
}

int request_init(struct request *r, const struct curl_library *curl,
		 const struct setup_destination *d)
{
	*r = (struct request){ .curl = curl, .d = d, .easy = curl->easy_init() };
	if (!r->easy || make_headers(r, &r->plain, false) || make_headers(r, &r->gzip, true))
		return -ENOMEM;
	curl->easy_setopt(r->easy, CURLOPT_POST, 1L);
	curl->easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, take_body);
	curl->easy_setopt(r->easy, CURLOPT_WRITEDATA, r);
	curl->easy_setopt(r->easy, CURLOPT_HEADERFUNCTION, take_header);
	curl->easy_setopt(r->easy, CURLOPT_HEADERDATA, r);
	curl->easy_setopt(r->easy, CURLOPT_ERRORBUFFER, r->error);
	curl->easy_setopt(r->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl->easy_setopt(r->easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl->easy_setopt(r->easy, CURLOPT_NOSIGNAL, 1L);
	curl->easy_setopt(r->easy, CURLOPT_TIMEOUT_MS, (long)d->timeout_ms);
	curl->easy_setopt(r->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)d->timeout_ms);
	curl->easy_setopt(r->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl->easy_setopt(r->easy, CURLOPT_USERAGENT, USER_AGENT);
	curl->easy_setopt(r->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	if (d->proxy)
		curl->easy_setopt(r->easy, CURLOPT_PROXY, d->proxy);
	set_http_version(r);
	set_tls(r);
	return 0;
}

static void forget_try(struct request *r)
{
	free(r->url);
	free(r->record);
	bytes_free(&r->body);
	bytes_free(&r->answer);
	r->url = NULL;
	r->record = NULL;
	r->header_bytes = 0;
	r->too_long = false;
	r->grpc = (struct answer_grpc){ .status = -1 };
	*r->error = '\0';
}

void request_free(struct request *r)
{
	if (r->easy)
		r->curl->easy_cleanup(r->easy);
	r->curl->slist_free_all(r->plain);
	r->curl->slist_free_all(r->gzip);
	forget_try(r);
	*r = (struct request){ .curl = r->curl };
}

/* ---- one try ----------------------------------------------------------------------------------- */

static int make_url(struct request *r, const char *query)
{
	const char *sign = !query ? "" : strchr(r->d->url, '?') ? "&" : "?";

	if (asprintf(&r->url, "%s%s%s", r->d->url, sign, query ? query : "") >= 0)
		return 0;
	r->url = NULL;
	return -ENOMEM;
}

/* Makes the body to send, in r->body unless the record's can be used directly. */
static int make_body(struct request *r, const struct spool_batch *b, bool gzip)
{
	int err = 0;

	if (r->d->protocol == EXPORT_GRPC) {
		size_t len = gzip ? b->batch.len : b->raw_len;
		const __u8 frame[GRPC_FRAME] = { gzip, (__u8)(len >> 24), (__u8)(len >> 16),
						 (__u8)(len >> 8), (__u8)len };

		bytes_put(&r->body, frame, sizeof(frame));
	}
	if (b->gzip && !gzip)
		err = inflate_gzip(&r->body, b->batch.body, b->batch.len, b->raw_len);
	else if (r->d->protocol == EXPORT_GRPC)
		bytes_put(&r->body, b->batch.body, b->batch.len);
	return err ? err : r->body.failed ? -ENOMEM : 0;
}

int request_prepare(struct request *r, const struct spool_batch *b, void *record)
{
	bool gzip = b->gzip && r->d->compression == EXPORT_GZIP;
	const void *data = b->batch.body;
	int err;

	forget_try(r);
	r->record = record;
	r->sent = b->batch.len;
	err = make_url(r, b->batch.query);
	if (!err)
		err = make_body(r, b, gzip);
	if (err) {
		forget_try(r);
		return err;
	}
	if (r->body.len || (b->gzip && !gzip)) {
		data = r->body.data;
		r->sent = r->body.len;
	}
	r->curl->easy_setopt(r->easy, CURLOPT_URL, r->url);
	r->curl->easy_setopt(r->easy, CURLOPT_HTTPHEADER, gzip ? r->gzip : r->plain);
	r->curl->easy_setopt(r->easy, CURLOPT_POSTFIELDS, data);
	r->curl->easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->sent);
	return 0;
}

void request_answer(struct request *r, CURLcode code, struct answer *ret)
{
	const void *body = r->answer.data;
	curl_off_t after = 0;
	long status = 0;

	r->curl->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
	r->curl->easy_getinfo(r->easy, CURLINFO_RETRY_AFTER, &after);
	if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && r->too_long && status)) {
		if (r->d->protocol == EXPORT_GRPC)
			answer_grpc(ret, status, &r->grpc, body, r->answer.len);
		else
			answer_http(ret, status, after, export_kind_row(r->d->kind)->answers, body,
				    r->answer.len);
	} else {
		answer_none(ret, *r->error ? r->error : r->curl->easy_strerror(code));
	}
	forget_try(r);
}
