/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * request.h - one try at one batch: what libcurl is told of it, and what has come back.
 *
 * Must hold: redirects are not followed, as they would lead credentials elsewhere; only http and https.
 */
#ifndef KRAIT_EXPORT_REQUEST_H
#define KRAIT_EXPORT_REQUEST_H

#include "export/answer.h"
#include "export/setup.h"
#include "export/spool.h"
#include "worker/curl_library.h"

struct request {
	const struct curl_library *curl;
	const struct setup_destination *d;
	CURL *easy;
	struct curl_slist *plain, *gzip; /* headers of a request whose body is so */
	char error[CURL_ERROR_SIZE];
	char *url; /* of this try */
	void *record; /* that the body is in */
	struct bytes body; /* or here */
	size_t sent; /* bytes of the body of this try */
	struct bytes answer;
	size_t header_bytes;
	bool too_long;
	struct answer_grpc grpc;
};

/* Of an easy handle that stays. 0 or -ENOMEM; request_free() either way. */
int request_init(struct request *r, const struct curl_library *curl,
		 const struct setup_destination *d) __attribute__((warn_unused_result, nonnull));
void request_free(struct request *r);

/* Takes record, which b points into. 0; -ENOMEM; -EBADMSG: the body cannot be unpacked. */
int request_prepare(struct request *r, const struct spool_batch *b, void *record)
	__attribute__((warn_unused_result, nonnull));
/* The transfer has ended with that code. What was sent is freed. */
void request_answer(struct request *r, CURLcode code, struct answer *ret) __attribute__((nonnull));

#endif /* KRAIT_EXPORT_REQUEST_H */
