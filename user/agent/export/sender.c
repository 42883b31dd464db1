/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "agent/export/backoff.h"
#include "agent/export/request.h"
#include "agent/export/secrets.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/text/printable.h"

/* How often to log something that keeps happening. */
#define SAY_EVERY_NS (60 * NS_PER_SEC)

struct sender {
	struct spool *spool;
	CURLM *multi;
	const struct curl_library *curl;
	const struct setup_destination *d;
	struct sender_log log;
	struct secrets secrets;
	char *user_info, *headers; /* secrets: from the URL and the headers */
	struct request request;
	int cursor;
	bool busy, hurried, given_up;
	struct spool_entry entry; /* being sent */
	__u64 began_ns;
	struct backoff backoff;
	__u64 said_failure_ns, said_rejected_ns, said_partial_ns, said_dropped_ns;
	__u64 dropped_said;
	struct exporter_destination_stats stats;
};

/* ---- what it says ------------------------------------------------------------------------------ */

static void __attribute__((format(printf, 3, 4)))
say(const struct sender *s, enum log_level level, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->log.say(s->log.ctx, level, text);
}

static bool time_to_say(__u64 *said_ns, __u64 now_ns)
{
	if (*said_ns && now_ns - *said_ns < SAY_EVERY_NS)
		return false;
	*said_ns = now_ns;
	return true;
}

/* The server's reason, made fit for a log line. */
static void make_reason(const struct sender *s, const struct answer *a, char *buf, size_t size)
{
	char text[ANSWER_TEXT_MAX], status[32] = "";

	snprintf(text, sizeof(text), "%s", a->text);
	secrets_hide(&s->secrets, text);
	if (a->status >= ANSWER_GRPC)
		snprintf(status, sizeof(status), "grpc-status %d", a->status - ANSWER_GRPC);
	else if (a->status)
		snprintf(status, sizeof(status), "HTTP %d", a->status);
	snprintf(buf, size, "%s%s", status, *status && *text ? ": " : "");
	printable_into(buf + strlen(buf), size - strlen(buf), text);
}

void sender__stats(const struct sender *s, __u64 now_ns, struct exporter_destination_stats *ret)
{
	const struct spool_cursor *c = spool__cursor_at(s->spool, s->cursor);
	const struct spool_entry *oldest = spool__next(s->spool, s->cursor);

	*ret = s->stats;
	ret->dropped = c->dropped;
	ret->dropped_samples = c->dropped_samples;
	ret->pending = c->pending;
	ret->pending_samples = c->pending_samples;
	ret->pending_bytes = c->pending_bytes;
	spool__in_memory(s->spool, s->cursor, &ret->in_memory, &ret->in_memory_samples);
	ret->oldest_pending_unix_ns = oldest ? oldest->from_unix_ns : 0;
	ret->wait_ms = 0;
	if (!s->busy && c->pending && s->backoff.next_ns > now_ns)
		ret->wait_ms = (__u32)((s->backoff.next_ns - now_ns) / BACKOFF_MS);
}

static void say_dropped(struct sender *s, __u64 now_ns)
{
	const struct spool_cursor *c = spool__cursor_at(s->spool, s->cursor);

	if (c->dropped <= s->dropped_said || !time_to_say(&s->said_dropped_ns, now_ns))
		return;
	say(s, LOG_LEVEL_WARN,
	    "%s: the spool is full: %" PRIu64 " batches with %" PRIu64 " samples lost so far",
	    s->d->name, (uint64_t)c->dropped, (uint64_t)c->dropped_samples);
	s->dropped_said = c->dropped;
}

/* ---- its life ---------------------------------------------------------------------------------- */

static void add_secrets(struct sender *s)
{
	const char *host = strstr(s->d->url, "://") + 3;
	const char *at = memrchr(host, '@', strcspn(host, "/?#"));
	char *next = NULL;

	secrets_add(&s->secrets, s->d->token);
	secrets_add(&s->secrets, s->d->proxy);
	if (at)
		s->user_info = strndup(host, (size_t)(at - host));
	secrets_add(&s->secrets, s->user_info);
	for (char *l = s->headers ? strtok_r(s->headers, "\n", &next) : NULL; l;
	     l = strtok_r(NULL, "\n", &next)) {
		const char *value = strchr(l, ':');

		while (value && (*value == ':' || *value == ' '))
			value++;
		secrets_add(&s->secrets, value);
	}
}

static void forget_secrets(struct sender *s)
{
	free(s->user_info);
	free(s->headers);
	s->user_info = s->headers = NULL;
	s->secrets.cnt = 0;
}

static int equip(struct sender *s, const struct setup_destination *d)
{
	s->d = d;
	forget_secrets(s);
	s->headers = d->headers ? strdup(d->headers) : NULL;
	add_secrets(s);
	return request_init(&s->request, s->curl, d);
}

struct sender *sender__new(const struct curl_library *curl, CURLM *multi, struct spool *spool,
			   int cursor, const struct setup_destination *d,
			   const struct sender_log *log)
{
	struct sender *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->curl = curl;
	s->multi = multi;
	s->spool = spool;
	s->cursor = cursor;
	s->log = *log;
	snprintf(s->stats.name, sizeof(s->stats.name), "%s", d->name);
	if (equip(s, d)) {
		sender__free(s);
		return NULL;
	}
	return s;
}

void sender__free(struct sender *s)
{
	if (!s)
		return;
	if (s->busy)
		s->curl->multi_remove_handle(s->multi, s->request.easy);
	request_free(&s->request);
	forget_secrets(s);
	free(s);
}

int sender__change(struct sender *s, const struct setup_destination *d)
{
	if (s->busy)
		return -EBUSY;
	request_free(&s->request);
	return equip(s, d);
}

/* ---- sending ----------------------------------------------------------------------------------- */

static __u64 by_chance(void)
{
	__u64 value = 0;

	return getrandom(&value, sizeof(value), GRND_NONBLOCK) == sizeof(value) ?
		       value :
		       clock_monotonic_ns() / 1000;
}

static void wait_longer(struct sender *s, __u64 now_ns, __u64 asked_ms)
{
	backoff_failed(&s->backoff, s->began_ns, now_ns, asked_ms, by_chance());
	s->given_up = s->hurried;
}

/* Reads the record and prepares the request. -EBADMSG: the record no longer exists, take the next. */
static int load(struct sender *s)
{
	struct spool_batch b;
	void *record = NULL;
	int err = spool__read(s->spool, &s->entry, &b, &record);

	if (!err)
		err = request_prepare(&s->request, &b, record);
	if (err != -EBADMSG)
		return err;
	spool__spoilt(s->spool, s->cursor, &s->entry);
	say(s, LOG_LEVEL_WARN,
	    "%s: a batch of %" PRIu64 " samples is damaged on the disk and was left out",
	    s->d->name, (uint64_t)s->entry.samples);
	return err;
}

static void begin(struct sender *s, __u64 now_ns)
{
	const struct spool_entry *e;
	int err = -EBADMSG;

	while (err == -EBADMSG) {
		e = spool__next(s->spool, s->cursor);
		if (!e)
			return;
		s->entry = *e;
		err = load(s);
	}
	s->began_ns = now_ns;
	if (!err && s->curl->multi_add_handle(s->multi, s->request.easy) != CURLM_OK)
		err = -EIO;
	if (err) {
		wait_longer(s, now_ns, 0);
		return;
	}
	s->busy = true;
	s->stats.tries++;
}

void sender__step(struct sender *s, __u64 now_ns)
{
	say_dropped(s, now_ns);
	if (!s->busy && !s->given_up && (s->hurried || now_ns >= s->backoff.next_ns))
		begin(s, now_ns);
}

/* ---- what has become of it --------------------------------------------------------------------- */

static __u64 unix_now_ns(void)
{
	return clock_monotonic_ns() + (__u64)clock_wall_offset_ns();
}

static void delivered(struct sender *s, const struct answer *a, __u64 now_ns)
{
	char reason[sizeof(s->stats.last_error)];

	s->stats.delivered++;
	s->stats.delivered_samples += s->entry.samples;
	s->stats.delivered_bytes += s->request.sent;
	s->stats.partial_rejected += a->partial_rejected;
	s->stats.last_success_unix_ns = unix_now_ns();
	*s->stats.last_error = '\0';
	if (s->backoff.failures)
		say(s, LOG_LEVEL_INFO,
		    "%s: accepts profiles again after %" PRIu64 " s and %u tries", s->d->name,
		    (uint64_t)((now_ns - s->backoff.since_ns) / NS_PER_SEC),
		    s->backoff.failures + 1);
	s->said_failure_ns = 0;
	backoff_succeeded(&s->backoff);
	if ((!a->partial_rejected && !*a->text) || !time_to_say(&s->said_partial_ns, now_ns))
		return;
	make_reason(s, a, reason, sizeof(reason));
	say(s, LOG_LEVEL_WARN, "%s: accepted a batch except for %" PRIu64 " profiles: %s",
	    s->d->name, (uint64_t)a->partial_rejected, reason);
}

static void rejected(struct sender *s, const struct answer *a, __u64 now_ns)
{
	s->stats.rejected++;
	s->stats.rejected_samples += s->entry.samples;
	make_reason(s, a, s->stats.last_error, sizeof(s->stats.last_error));
	backoff_succeeded(&s->backoff); /* it answers, and may accept the next batch */
	s->said_failure_ns = 0;
	if (time_to_say(&s->said_rejected_ns, now_ns))
		say(s, LOG_LEVEL_ERROR,
		    "%s: refuses profiles: %s (%" PRIu64 " batches with %" PRIu64
		    " samples lost so far)",
		    s->d->name, s->stats.last_error, (uint64_t)s->stats.rejected,
		    (uint64_t)s->stats.rejected_samples);
}

static void failed(struct sender *s, const struct answer *a, __u64 now_ns)
{
	s->stats.failed_tries++;
	make_reason(s, a, s->stats.last_error, sizeof(s->stats.last_error));
	wait_longer(s, now_ns, a->retry_after_ms);
	if (time_to_say(&s->said_failure_ns, now_ns))
		say(s, LOG_LEVEL_WARN, "%s: %s; %" PRIu64 " batches wait, next try in %.1f s",
		    s->d->name, s->stats.last_error,
		    (uint64_t)spool__cursor_at(s->spool, s->cursor)->pending,
		    (double)(s->backoff.next_ns - now_ns) / (double)NS_PER_SEC);
}

void sender__ended(struct sender *s, CURLcode code, __u64 now_ns)
{
	struct answer a;

	s->curl->multi_remove_handle(s->multi, s->request.easy);
	s->busy = false;
	request_answer(&s->request, code, &a);
	s->stats.last_status = a.status;
	switch (a.verdict) {
	case ANSWER_DELIVERED:
		delivered(s, &a, now_ns);
		break;
	case ANSWER_REJECTED:
		rejected(s, &a, now_ns);
		break;
	case ANSWER_RETRY:
		failed(s, &a, now_ns);
		return;
	}
	spool__done(s->spool, s->cursor, &s->entry);
}

bool sender__owns(const struct sender *s, CURL *easy)
{
	return s->busy && s->request.easy == easy;
}

void sender__hurry(struct sender *s)
{
	s->hurried = true;
}

bool sender__is_idle(const struct sender *s)
{
	return !s->busy && (s->given_up || !spool__next(s->spool, s->cursor));
}

__u64 sender__next_ns(const struct sender *s)
{
	if (s->busy || s->given_up || !spool__next(s->spool, s->cursor))
		return ~0ULL;
	return s->hurried ? 0 : s->backoff.next_ns;
}
