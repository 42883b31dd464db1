/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sender.h - one destination: sends the next record of its cursor until the server has decided
 * about it.
 *
 * Must hold: one request at a time, so records arrive in order. An answer is read up to ANSWER_MAX,
 * and an attempt ends after the destination's timeout, whatever the server does.
 */
#ifndef KRAIT_AGENT_EXPORT_SENDER_H
#define KRAIT_AGENT_EXPORT_SENDER_H

#include "agent/export/setup.h"
#include "agent/export/spool.h"
#include "base/text/log.h"
#include "base/worker/curl_library.h"

struct sender;

/* Where its log lines go; secrets are removed, because texts come from elsewhere. */
struct sender_log {
	void (*say)(void *ctx, enum log_level level, const char *text);
	void *ctx;
};

/* All are borrowed. NULL: out of memory, or libcurl lacks something. */
struct sender *sender__new(const struct curl_library *curl, CURLM *multi, struct spool *spool,
			   int cursor, const struct setup_destination *d,
			   const struct sender_log *log)
	__attribute__((warn_unused_result, nonnull));
void sender__free(struct sender *s);

/* Changes the destination's credentials. -EBUSY: a request is running, try later; -ENOMEM. */
int sender__change(struct sender *s, const struct setup_destination *d)
	__attribute__((warn_unused_result, nonnull));

/* Begins a request if there is something to send and it is time. */
void sender__step(struct sender *s, __u64 now_ns) __attribute__((nonnull));
/* libcurl says that the transfer of this handle has ended: is it ours? */
bool sender__owns(const struct sender *s, CURL *easy) __attribute__((nonnull));
void sender__ended(struct sender *s, CURLcode code, __u64 now_ns) __attribute__((nonnull));

/* From now on no attempt waits, and the first that fails is the last. */
void sender__hurry(struct sender *s) __attribute__((nonnull));
/* Is there nothing that it would send now? */
bool sender__is_idle(const struct sender *s) __attribute__((nonnull));
/* When sender__step() has something to do; ~0: when something is appended, or the transfer ends. */
__u64 sender__next_ns(const struct sender *s) __attribute__((nonnull));
void sender__stats(const struct sender *s, __u64 now_ns, struct exporter_destination_stats *ret)
	__attribute__((nonnull));

#endif /* KRAIT_AGENT_EXPORT_SENDER_H */
