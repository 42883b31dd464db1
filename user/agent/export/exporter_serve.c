/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/exporter_serve.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "agent/export/exporter_orders.h"
#include "base/system/clock.h"
#include "base/worker/sandbox.h"

/* Longest wait, however little there is to do. */
#define IDLE_MS 10000

/* ---- how it begins ----------------------------------------------------------------------------- */

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
	const struct sender_log log = { .say = exporter_say, .ctx = w };

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
	int err = exporter_receive_setup(w);

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
		exporter_report(w, false);
	w->curl.multi_poll(w->multi, &channel, 1, pause_ms(w, now_ns), &running);
	/* Only a few, so that requests are not kept waiting. */
	for (unsigned i = 0; i < 8 && !err; i++)
		err = exporter_take_order(w);
	return err == -EAGAIN ? 0 : err;
}

static int run(struct exporter_worker *w)
{
	int err = 0;

	exporter_report(w, false);
	while (!err && !is_done(w, clock_monotonic_ns()))
		err = round_of(w);
	spool__sync(w->spool);
	if (!err)
		exporter_report(w, true);
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
	if (!exporter_tell(w, EXPORT_READY, err, 0) && !err)
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
