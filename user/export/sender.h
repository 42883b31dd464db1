/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sender.h - one destination: the next record of its cursor, sent until the server has said what becomes of it.
 *
 * Must hold: one request at a time, so records arrive in their order. An answer is read up to ANSWER_MAX, and a try ends
 * after the destination's timeout, whatever the server does.
 */
#ifndef KRAIT_EXPORT_SENDER_H
#define KRAIT_EXPORT_SENDER_H

#include "export/setup.h"
#include "export/spool.h"
#include "util/log.h"
#include "worker/curl_library.h"

struct sender;

/* Where its log lines go: without secrets, as they come from elsewhere. */
struct sender_log {
	void (*say)(void *ctx, enum log_level level, const char *text);
	void *ctx;
};

/* All borrowed. NULL: out of memory, or of what libcurl needs. */
struct sender *sender__new(const struct curl_library *curl, CURLM *multi, struct spool *spool,
			   int cursor, const struct setup_destination *d,
			   const struct sender_log *log)
	__attribute__((warn_unused_result, nonnull));
void sender__free(struct sender *s);

/* The same destination with other credentials. Not while it is busy: later. -EBUSY, -ENOMEM. */
int sender__change(struct sender *s, const struct setup_destination *d)
	__attribute__((warn_unused_result, nonnull));

/* Begins a request if there is something to send and it is time to. */
void sender__step(struct sender *s, __u64 now_ns) __attribute__((nonnull));
/* libcurl says that the transfer of this handle has ended: is it this one's? */
bool sender__owns(const struct sender *s, CURL *easy) __attribute__((nonnull));
void sender__ended(struct sender *s, CURLcode code, __u64 now_ns) __attribute__((nonnull));

/* No try waits any longer; the first that fails is the last. */
void sender__hurry(struct sender *s) __attribute__((nonnull));
/* Nothing left that it would send now. */
bool sender__is_idle(const struct sender *s) __attribute__((nonnull));
/* When sender__step() has something to do; ~0: when something is appended, or the transfer has ended. */
__u64 sender__next_ns(const struct sender *s) __attribute__((nonnull));
void sender__stats(const struct sender *s, __u64 now_ns, struct exporter_destination_stats *ret)
	__attribute__((nonnull));

#endif /* KRAIT_EXPORT_SENDER_H */
