/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/exporter_orders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/export/deflate.h"
#include "agent/export/export_kinds.h"
#include "agent/export/spool_format.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/worker/channel.h"

/* How often to fdatasync() appended data: a power cut costs no more than that. */
#define SYNC_EVERY_NS NS_PER_SEC
/* Work since the last report is not counted if the worker is killed. */
#define REPORT_EVERY_NS (NS_PER_SEC / 20)
#define SETUP_SIZE_MAX (32U << 20)

/* ---- words to krait ---------------------------------------------------------------------------- */

/*
 * Waits for room: krait reads when it can, and without that there is nothing to do. -EPIPE ends the
 * worker.
 */
static int tell(const struct exporter_worker *w, const struct export_word_message *m)
{
	return channel_send(w->channel, m, sizeof(*m), NULL, 0);
}

int exporter_tell(const struct exporter_worker *w, enum export_word word, int err, __u64 number)
{
	const struct export_word_message m = { .word = word, .err = err, .number = number };

	return tell(w, &m);
}

void exporter_say(void *ctx, enum log_level level, const char *text)
{
	struct export_word_message m = { .word = EXPORT_SAID, .level = level };

	snprintf(m.text, sizeof(m.text), "%s", text);
	(void)tell(ctx, &m); /* the main loop will see that nobody listens */
}

void exporter_report(struct exporter_worker *w, bool last)
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
		exporter_say(
			w, counts.disk_full ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
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
	return exporter_tell(w, EXPORT_TAKEN, 0, m->number);
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

int exporter_take_order(struct exporter_worker *w)
{
	struct export_order_message m;
	cleanup_close int fd = -1;
	int err = channel_take(w->channel, &m, sizeof(m), &fd, 0);

	if (err)
		return err == -ETIMEDOUT ? -EAGAIN : err;
	m.query[sizeof(m.query) - 1] = '\0';
	if (m.order == EXPORT_BATCH && fd >= 0)
		return take_batch(w, &m, fd);
	if (m.order == EXPORT_SETUP && fd >= 0)
		take_change(w, fd);
	else if (m.order == EXPORT_STOP)
		take_stop(w, &m);
	return 0;
}

/* ---- the first ones ---------------------------------------------------------------------------- */

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

int exporter_receive_setup(struct exporter_worker *w)
{
	struct export_order_message m;
	cleanup_close int fd = -1;
	int err = channel_take(w->channel, &m, sizeof(m), &fd, -1);

	if (err || m.order != EXPORT_SETUP || fd < 0)
		return -EPROTO;
	err = take_setup(&w->setup, fd);
	return err ? err : take_files(w);
}
