/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * request.h - one attempt at sending one batch: what libcurl is given, and what comes back.
 *
 * Must hold: redirects are not followed, as they could lead credentials elsewhere; only http and
 * https.
 */
#ifndef KRAIT_AGENT_EXPORT_REQUEST_H
#define KRAIT_AGENT_EXPORT_REQUEST_H

#include "agent/export/answer.h"
#include "agent/export/setup.h"
#include "agent/export/spool.h"
#include "base/worker/curl_library.h"

struct request {
	const struct curl_library *curl;
	const struct setup_destination *d;
	CURL *easy;
	struct curl_slist *plain, *gzip; /* headers for a plain or compressed body */
	char error[CURL_ERROR_SIZE];
	char *url; /* for this attempt */
	void *record; /* contains the body */
	struct bytes body; /* or the body is here */
	size_t sent; /* bytes of the body in this attempt */
	struct bytes answer;
	size_t header_bytes;
	bool too_long;
	struct answer_grpc grpc;
};

/* For an easy handle that is kept. Returns 0 or -ENOMEM; call request_free() either way. */
int request_init(struct request *r, const struct curl_library *curl,
		 const struct setup_destination *d) __attribute__((warn_unused_result, nonnull));
void request_free(struct request *r);

/*
 * Takes over record, into which b points. Returns 0; -ENOMEM; -EBADMSG: the body cannot be
 * unpacked.
 */
int request_prepare(struct request *r, const struct spool_batch *b, void *record)
	__attribute__((warn_unused_result, nonnull));
/* The transfer has ended with that code. Frees what was sent. */
void request_answer(struct request *r, CURLcode code, struct answer *ret) __attribute__((nonnull));

#endif /* KRAIT_AGENT_EXPORT_REQUEST_H */
