/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/exporter_serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "export/export_kinds.h"
#include "export/deflate.h"
#include "export/export_protocol.h"
#include "export/sender.h"
#include "export/spool_format.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "worker/channel.h"
#include "worker/sandbox.h"

/* How often to fdatasync() appended data: a power cut costs no more than that. */
#define SYNC_EVERY_NS NS_PER_SEC
/* Work since the last report is not counted if the worker is killed. */
#define REPORT_EVERY_NS (NS_PER_SEC / 20)
#define IDLE_MS 10000
#define SETUP_SIZE_MAX (32U << 20)

struct exporter_worker {
	int channel;
	struct setup setup, changed;
	unsigned to_change; /* a bit for each destination */
	struct spool_files files;
	struct spool *spool;
	struct curl_library curl;
	CURLM *multi;
	struct sender *senders[EXPORT_DESTINATIONS_MAX];
	bool gzip; /* some destination accepts it */
	bool stopping, disk_was_full, dirty;
	__u64 stop_at_ns, sync_at_ns, report_at_ns;
};

/* ---- words to krait ---------------------------------------------------------------------------- */

/*
 * Waits for room: krait reads when it can, and without that there is nothing to do. -EPIPE ends the
 * worker.
 */
static int tell(const struct exporter_worker *w, const struct export_word_message *m)
{
	return channel_send(w->channel, m, sizeof(*m), NULL, 0);
}

static int tell_word(const struct exporter_worker *w, enum export_word word, int err, __u64 number)
{
	const struct export_word_message m = { .word = word, .err = err, .number = number };

	return tell(w, &m);
}

static void say(void *ctx, enum log_level level, const char *text)
{
	struct export_word_message m = { .word = EXPORT_SAID, .level = level };

	snprintf(m.text, sizeof(m.text), "%s", text);
	(void)tell(ctx, &m); /* the main loop will see that nobody listens */
}

static void report(struct exporter_worker *w, bool last)
{
	struct export_word_message m = { .word = EXPORT_REPORT, .last = last };
	__u64 now_ns = clock_monotonic_ns();
	struct exporter_stats *s = &m.stats;
	struct spool_counts counts;
	struct rusage usage;

	spool__counts(w->spool, &counts);
	s->spool_bytes = counts.bytes;
	s->spool_memory_bytes = counts.memory_bytes;
	s->spool_torn = counts.torn;
	s->spool_spoilt = counts.spoilt;
	s->spool_errors = counts.errors;
	s->spool_disk_full = counts.disk_full;
	if (!getrusage(RUSAGE_SELF, &usage))
		s->worker_cpu_ns =
			(__u64)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC +
			(__u64)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	s->destination_cnt = w->setup.destination_cnt;
	for (unsigned i = 0; i < s->destination_cnt; i++)
		sender__stats(w->senders[i], now_ns, &s->destinations[i]);
	(void)tell(w, &m);
	w->dirty = false;
	w->report_at_ns = now_ns + REPORT_EVERY_NS;
	if (counts.disk_full != w->disk_was_full)
		say(w, counts.disk_full ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
		    counts.disk_full ?
			    "the spool's disk cannot be written (full?): batches stay in memory" :
			    "the spool's disk can be written again");
	w->disk_was_full = counts.disk_full;
}

/* ---- orders ------------------------------------------------------------------------------------ */

static int read_all(int fd, size_t len, void **ret)
{
	cleanup_free void *data = malloc(len + 1);
	int err = data ? spool_pread(fd, data, len, 0) : -ENOMEM;

	if (!err)
		*ret = take_ptr(&data);
	return err;
}

static int take_setup(struct setup *ret, int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	cleanup_free void *data = NULL;
	int err;

	if (len <= 0 || len > SETUP_SIZE_MAX)
		return -EPROTO;
	err = read_all(fd, (size_t)len, &data);
	if (err)
		return err;
	err = setup_unpack(ret, data, (size_t)len);
	explicit_bzero(data, (size_t)len);
	return err;
}

static int append(struct exporter_worker *w, const struct export_order_message *m, const void *body)
{
	struct spool_batch b = {
		.batch = { .kind = m->kind,
			   .from_unix_ns = m->from_unix_ns,
			   .to_unix_ns = m->to_unix_ns,
			   .samples = m->samples,
			   .query = *m->query ? m->query : NULL,
			   .body = body,
			   .len = m->len },
		.raw_len = (__u32)m->len,
	};
	cleanup_bytes struct bytes packed = { 0 };

	memcpy(b.batch.id, m->id, sizeof(m->id));
	if (w->gzip && export_kind_row(m->kind)->compresses &&
	    !deflate_gzip(&packed, body, m->len)) {
		b.batch.body = packed.data;
		b.batch.len = packed.len;
		b.gzip = true;
	}
	return spool__append(w->spool, &b);
}

/* The spool counts what it cannot hold: for krait the batch is taken in any case. */
static int take_batch(struct exporter_worker *w, const struct export_order_message *m, int fd)
{
	cleanup_free void *body = NULL;
	__u64 now_ns = clock_monotonic_ns();
	int err;

	if (m->len > EXPORT_BODY_MAX || m->kind >= EXPORT_KIND_CNT)
		return -EPROTO;
	err = read_all(fd, m->len, &body);
	if (err)
		return err;
	(void)append(w, m, body);
	w->dirty = true;
	if (!w->sync_at_ns)
		w->sync_at_ns = now_ns + SYNC_EVERY_NS;
	return tell_word(w, EXPORT_TAKEN, 0, m->number);
}

static void take_stop(struct exporter_worker *w, const struct export_order_message *m)
{
	w->stopping = true;
	w->stop_at_ns = clock_monotonic_ns() + m->timeout_ns;
	for (unsigned i = 0; i < w->setup.destination_cnt; i++)
		sender__hurry(w->senders[i]);
}

/* The same destinations with other credentials; each changes once its request is over. */
static void take_change(struct exporter_worker *w, int fd)
{
	bool same;

	setup_free(&w->changed);
	same = !take_setup(&w->changed, fd) &&
	       w->changed.destination_cnt == w->setup.destination_cnt;

	for (unsigned i = 0; i < w->setup.destination_cnt && same; i++)
		same = w->changed.destinations[i].key_of_cursor ==
		       w->setup.destinations[i].key_of_cursor;
	w->to_change = same ? (1U << w->setup.destination_cnt) - 1 : 0;
	if (!same)
		setup_free(&w->changed);
}

/* Takes one order. Returns -EAGAIN: there is none; other errors end the worker. */
static int take_order(struct exporter_worker *w)
{
	struct export_order_message m;
	unsigned fd_cnt = 1;
	int fd = -1, err = 0;
	ssize_t n = channel_recv(w->channel, &m, sizeof(m), &fd, &fd_cnt, 0);

	if (n == -ETIMEDOUT)
		return -EAGAIN;
	if (n < 0)
		return (int)n;
	m.query[sizeof(m.query) - 1] = '\0';
	if (n != sizeof(m))
		err = -EPROTO;
	else if (m.order == EXPORT_BATCH && fd_cnt)
		err = take_batch(w, &m, fd);
	else if (m.order == EXPORT_SETUP && fd_cnt)
		take_change(w, fd);
	else if (m.order == EXPORT_STOP)
		take_stop(w, &m);
	if (fd_cnt)
		close(fd);
	return err;
}

/* ---- how it begins ----------------------------------------------------------------------------- */

static int *file_at(struct spool_files *f, __u64 i)
{
	return i < SPOOL_SEGMENTS     ? &f->disk[i] :
	       i < 2 * SPOOL_SEGMENTS ? &f->memory[i - SPOOL_SEGMENTS] :
					&f->cursors;
}

static int take_files(struct exporter_worker *w)
{
	for (__u64 i = 0; i < EXPORT_FILES; i++)
		*file_at(&w->files, i) = -1;
	while (w->files.cursors < 0) {
		struct export_order_message m;
		unsigned fd_cnt = CHANNEL_FDS_MAX;
		int fds[CHANNEL_FDS_MAX];
		ssize_t n = channel_recv(w->channel, &m, sizeof(m), fds, &fd_cnt, -1);

		if (n != sizeof(m) || m.order != EXPORT_FILE || m.number > EXPORT_FILES ||
		    fd_cnt > EXPORT_FILES - m.number)
			return -EPROTO;
		for (unsigned i = 0; i < fd_cnt; i++)
			*file_at(&w->files, m.number + i) = fds[i];
	}
	return 0;
}

static int receive_setup(struct exporter_worker *w)
{
	struct export_order_message m;
	unsigned fd_cnt = 1;
	int fd = -1, err;
	ssize_t n = channel_recv(w->channel, &m, sizeof(m), &fd, &fd_cnt, -1);

	if (n != sizeof(m) || m.order != EXPORT_SETUP || !fd_cnt)
		return -EPROTO;
	err = take_setup(&w->setup, fd);
	close(fd);
	return err ? err : take_files(w);
}

static int give_up_rights(const struct exporter_worker *w)
{
	__u64 file = w->setup.disk_limit > w->setup.memory_limit ? w->setup.disk_limit :
								   w->setup.memory_limit;
	const struct sandbox_limits limits = {
		.memory = 1ULL << 30,
		.cpu_seconds = ~0U, /* it lives as long as krait */
		.fds = 256,
		.file = file + (1 << 20),
	};

	signal(SIGXFSZ, SIG_IGN);
	return sandbox_enter_network(&limits, curl_library_reads, curl_library_reads_cnt);
}

static int open_spool(struct exporter_worker *w)
{
	__u64 keys[EXPORT_DESTINATIONS_MAX];
	const struct sender_log log = { .say = say, .ctx = w };

	w->files.disk_limit = w->setup.disk_limit;
	w->files.memory_limit = w->setup.memory_limit;
	w->spool = spool__open(&w->files);
	if (!w->spool)
		return -ENOMEM;
	for (unsigned i = 0; i < w->setup.destination_cnt; i++) {
		keys[i] = w->setup.destinations[i].key_of_cursor;
		w->gzip |= w->setup.destinations[i].compression == EXPORT_GZIP;
	}
	for (unsigned i = 0; i < w->setup.destination_cnt; i++) {
		const struct setup_destination *d = &w->setup.destinations[i];
		int cursor = spool__cursor(w->spool, d->key_of_cursor, d->kind, keys,
					   w->setup.destination_cnt);

		if (cursor < 0)
			return cursor;
		w->senders[i] = sender__new(&w->curl, w->multi, w->spool, cursor, d, &log);
		if (!w->senders[i])
			return -ENOMEM;
	}
	return 0;
}

static int begin(struct exporter_worker *w)
{
	int err = receive_setup(w);

	if (!err)
		err = curl_library_load(&w->curl);
	if (!err)
		err = give_up_rights(w);
	if (!err) {
		w->multi = w->curl.multi_init();
		err = w->multi ? open_spool(w) : -ENOMEM;
	}
	return err;
}

/* ---- how it goes on ---------------------------------------------------------------------------- */

static void change(struct exporter_worker *w)
{
	for (unsigned i = 0; i < w->setup.destination_cnt; i++) {
		struct setup_destination old = w->setup.destinations[i];

		if (!(w->to_change & 1U << i))
			continue;
		w->setup.destinations[i] = w->changed.destinations[i];
		if (sender__change(w->senders[i], &w->setup.destinations[i])) {
			w->setup.destinations[i] = old;
			continue;
		}
		w->changed.destinations[i] = old;
		w->to_change &= ~(1U << i);
	}
	if (!w->to_change)
		setup_free(&w->changed);
}

static void finish_transfers(struct exporter_worker *w)
{
	CURLMsg *m;
	int left;

	while ((m = w->curl.multi_info_read(w->multi, &left))) {
		CURL *easy = m->easy_handle;
		CURLcode code = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		for (unsigned i = 0; i < w->setup.destination_cnt; i++) {
			if (sender__owns(w->senders[i], easy)) {
				sender__ended(w->senders[i], code, clock_monotonic_ns());
				break;
			}
		}
		w->dirty = true;
	}
}

static int pause_ms(const struct exporter_worker *w, __u64 now_ns)
{
	__u64 next_ns = now_ns + IDLE_MS * 1000000ULL;

	for (unsigned i = 0; i < w->setup.destination_cnt; i++) {
		__u64 at_ns = sender__next_ns(w->senders[i]);

		if (at_ns < next_ns)
			next_ns = at_ns;
	}
	if (w->sync_at_ns && w->sync_at_ns < next_ns)
		next_ns = w->sync_at_ns;
	if (w->dirty && w->report_at_ns < next_ns)
		next_ns = w->report_at_ns;
	if (w->stopping && w->stop_at_ns < next_ns)
		next_ns = w->stop_at_ns;
	return next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / 1000000) + 1;
}

static bool is_done(const struct exporter_worker *w, __u64 now_ns)
{
	if (!w->stopping)
		return false;
	for (unsigned i = 0; i < w->setup.destination_cnt; i++)
		if (!sender__is_idle(w->senders[i]) && now_ns < w->stop_at_ns)
			return false;
	return true;
}

static int round_of(struct exporter_worker *w)
{
	struct curl_waitfd channel = { .fd = w->channel, .events = CURL_WAIT_POLLIN };
	__u64 now_ns = clock_monotonic_ns();
	int err = 0, running;

	if (w->to_change)
		change(w);
	for (unsigned i = 0; i < w->setup.destination_cnt; i++)
		sender__step(w->senders[i], now_ns);
	w->curl.multi_perform(w->multi, &running);
	finish_transfers(w);
	now_ns = clock_monotonic_ns();
	if (w->sync_at_ns && now_ns >= w->sync_at_ns) {
		spool__sync(w->spool);
		w->sync_at_ns = 0;
	}
	if (w->dirty && now_ns >= w->report_at_ns)
		report(w, false);
	w->curl.multi_poll(w->multi, &channel, 1, pause_ms(w, now_ns), &running);
	/* Only a few, so that requests are not kept waiting. */
	for (unsigned i = 0; i < 8 && !err; i++)
		err = take_order(w);
	return err == -EAGAIN ? 0 : err;
}

static int run(struct exporter_worker *w)
{
	int err = 0;

	report(w, false);
	while (!err && !is_done(w, clock_monotonic_ns()))
		err = round_of(w);
	spool__sync(w->spool);
	if (!err)
		report(w, true);
	return err && err != -EPIPE;
}

int exporter_serve(int channel_fd)
{
	struct exporter_worker *w = calloc(1, sizeof(*w));
	int err, code = 1;

	if (!w)
		return 1;
	w->channel = channel_fd;
	err = begin(w);
	if (!tell_word(w, EXPORT_READY, err, 0) && !err)
		code = run(w);
	for (unsigned i = 0; i < EXPORT_DESTINATIONS_MAX; i++)
		sender__free(w->senders[i]);
	spool__close(w->spool);
	if (w->multi)
		w->curl.multi_cleanup(w->multi);
	setup_free(&w->setup);
	setup_free(&w->changed);
	free(w);
	return code;
}
