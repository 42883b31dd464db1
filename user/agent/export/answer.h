/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answer.h - what a server's answer means for the batch.
 *
 * As OTLP specifies: 2xx means delivered, 429, 502, 503 and 504 mean retry, everything else is a
 * final refusal. Over gRPC the status is in the trailers; RESOURCE_EXHAUSTED is retried only if the
 * server says when.
 *
 * Must hold: pure functions over untrusted bytes. The extracted text is one bounded line, which may
 * still contain secrets (secrets.h) and unprintable characters.
 */
#ifndef KRAIT_AGENT_EXPORT_ANSWER_H
#define KRAIT_AGENT_EXPORT_ANSWER_H

#include <linux/types.h>
#include <stddef.h>

/* Limit for an answer's body, and for its headers. */
#define ANSWER_MAX 65536U
#define ANSWER_TEXT_MAX 200
#define ANSWER_GRPC 1000

enum answer_verdict { ANSWER_DELIVERED, ANSWER_RETRY, ANSWER_REJECTED };

struct answer {
	enum answer_verdict verdict;
	__s32 status; /* HTTP's, or ANSWER_GRPC + grpc-status */
	__u64 partial_rejected; /* profiles that the server rejected */
	__u64 retry_after_ms; /* what it asks for, any number; 0: nothing */
	char text[ANSWER_TEXT_MAX]; /* its reason, or "" */
};

/* Headers and trailers about gRPC, as they come; the last one counts. */
struct answer_grpc {
	int status; /* -1: none yet */
	char message[ANSWER_TEXT_MAX * 3]; /* percent-encoded */
	char details[4096]; /* base64 */
};

/* Takes a line of the headers or the trailers, with or without its line end. */
void answer_grpc_header(struct answer_grpc *g, const char *line, size_t len)
	__attribute__((nonnull));

/*
 * retry_after_s: from the Retry-After header, 0: none. otlp: the body is an
 * ExportProfilesServiceResponse, or a Status.
 */
void answer_http(struct answer *a, long status, __s64 retry_after_s, int otlp, const void *body,
		 size_t len) __attribute__((nonnull(1)));
/* body: the frames of the answer. */
void answer_grpc(struct answer *a, long http_status, const struct answer_grpc *g, const void *body,
		 size_t len) __attribute__((nonnull(1, 3)));
/* There was no answer: why. */
void answer_none(struct answer *a, const char *why) __attribute__((nonnull));

#endif /* KRAIT_AGENT_EXPORT_ANSWER_H */
