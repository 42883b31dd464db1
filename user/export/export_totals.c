/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/export_totals.h"

#include <stdio.h>
#include <string.h>

#include "export/exporter.h"

static void add_counts(struct exporter_destination_stats *total,
		       const struct exporter_destination_stats *d)
{
	total->delivered += d->delivered;
	total->delivered_samples += d->delivered_samples;
	total->delivered_bytes += d->delivered_bytes;
	total->rejected += d->rejected;
	total->rejected_samples += d->rejected_samples;
	total->partial_rejected += d->partial_rejected;
	total->dropped += d->dropped;
	total->dropped_samples += d->dropped_samples;
	total->tries += d->tries;
	total->failed_tries += d->failed_tries;
	if (d->last_success_unix_ns)
		total->last_success_unix_ns = d->last_success_unix_ns;
}

/* Takes a destination's current state. */
static void take_state(struct exporter_destination_stats *ret,
		       const struct exporter_destination_stats *d)
{
	ret->pending = d->pending;
	ret->pending_samples = d->pending_samples;
	ret->pending_bytes = d->pending_bytes;
	ret->in_memory = d->in_memory;
	ret->in_memory_samples = d->in_memory_samples;
	ret->oldest_pending_unix_ns = d->oldest_pending_unix_ns;
	ret->wait_ms = d->wait_ms;
	ret->last_status = d->last_status;
	memcpy(ret->last_error, d->last_error, sizeof(ret->last_error));
	ret->last_error[sizeof(ret->last_error) - 1] = '\0';
}

void export_totals_add(struct exporter_stats *total, const struct exporter_stats *last)
{
	total->spool_torn += last->spool_torn;
	total->spool_spoilt += last->spool_spoilt;
	total->spool_errors += last->spool_errors;
	total->worker_cpu_ns += last->worker_cpu_ns;
	if (last->destination_cnt) {
		total->spool_bytes = last->spool_bytes;
		total->spool_memory_bytes = last->spool_memory_bytes;
		total->spool_disk_full = last->spool_disk_full;
	}
	for (unsigned i = 0; i < last->destination_cnt; i++) {
		add_counts(&total->destinations[i], &last->destinations[i]);
		take_state(&total->destinations[i], &last->destinations[i]);
	}
	if (last->destination_cnt > total->destination_cnt)
		total->destination_cnt = last->destination_cnt;
}

void export_totals_merge(struct exporter_stats *ret, const struct exporter_stats *before,
			 const struct exporter_stats *said)
{
	export_totals_add(ret, before);
	export_totals_add(ret, said);
}
