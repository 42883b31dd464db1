/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/exporter.h"

#include <stdbool.h>

#include "base/text/metrics_text.h"

/* A member of every destination's stats, under one name. */
struct metric {
	const char *name, *type, *help;
	size_t offset;
	bool is_time; /* in ns, shown in seconds */
};

#define MEMBER(m) offsetof(struct exporter_destination_stats, m)

static const struct metric of_destination[] = {
	{ "krait_export_delivered_batches_total", "counter", "Batches that the server has taken.",
	  MEMBER(delivered) },
	{ "krait_export_delivered_samples_total", "counter", "Samples that the server has taken.",
	  MEMBER(delivered_samples) },
	{ "krait_export_delivered_bytes_total", "counter",
	  "Bytes of request bodies, as they were sent.", MEMBER(delivered_bytes) },
	{ "krait_export_rejected_batches_total", "counter",
	  "Batches that the server has refused for good.", MEMBER(rejected) },
	{ "krait_export_rejected_samples_total", "counter",
	  "Samples that the server has refused for good.", MEMBER(rejected_samples) },
	{ "krait_export_partial_rejected_profiles_total", "counter",
	  "Profiles that the server has left out of batches that it has taken.",
	  MEMBER(partial_rejected) },
	{ "krait_export_dropped_batches_total", "counter",
	  "Batches lost before they could be sent: the spool was full, or a record damaged.",
	  MEMBER(dropped) },
	{ "krait_export_dropped_samples_total", "counter",
	  "Samples lost before they could be sent.", MEMBER(dropped_samples) },
	{ "krait_export_tries_total", "counter",
	  "Requests to the server, repeated ones among them.", MEMBER(tries) },
	{ "krait_export_failed_tries_total", "counter", "Requests that failed and are repeated.",
	  MEMBER(failed_tries) },
	{ "krait_export_pending_batches", "gauge", "Batches that wait to be sent.",
	  MEMBER(pending) },
	{ "krait_export_pending_samples", "gauge", "Samples that wait to be sent.",
	  MEMBER(pending_samples) },
	{ "krait_export_pending_bytes", "gauge", "Bytes in the spool that wait to be sent.",
	  MEMBER(pending_bytes) },
	{ "krait_export_last_success_timestamp_seconds", "gauge",
	  "When the server last took a batch, in seconds since 1970; 0: never.",
	  MEMBER(last_success_unix_ns), .is_time = true },
	{ "krait_export_oldest_pending_timestamp_seconds", "gauge",
	  "When the oldest waiting batch begins, in seconds since 1970; 0: none waits.",
	  MEMBER(oldest_pending_unix_ns), .is_time = true },
};

static __u64 member(const struct exporter_destination_stats *d, const struct metric *m)
{
	return *(const __u64 *)((const char *)d + m->offset);
}

static void write_destinations(const struct exporter_stats *s, FILE *out)
{
	for (size_t k = 0; k < sizeof(of_destination) / sizeof(of_destination[0]); k++) {
		const struct metric *m = &of_destination[k];
		void (*put)(FILE *, const char *, __u64, ...) = m->is_time ? metrics_seconds :
									     metrics_value;

		metrics_family(out, m->name, m->type, m->help);
		for (unsigned i = 0; i < s->destination_cnt; i++)
			put(out, m->name, member(&s->destinations[i], m), "destination",
			    s->destinations[i].name, NULL);
	}
}

void exporter_stats_write(const struct exporter_stats *s, FILE *out)
{
	metrics_number(out, "krait_export_batches_total", "counter",
		       "Batches that were given to the exporter.", s->pushed);
	metrics_number(out, "krait_export_samples_total", "counter",
		       "Samples that were given to the exporter.", s->pushed_samples);
	metrics_number(out, "krait_export_refused_samples_total", "counter",
		       "Samples of batches that are too large, or for which there was no memory.",
		       s->refused_samples);
	metrics_number(out, "krait_export_queue_dropped_samples_total", "counter",
		       "Samples of batches that the exporter was too slow to take.",
		       s->queue_dropped_samples);
	metrics_number(out, "krait_export_queued_batches", "gauge", "Batches not yet in the spool.",
		       s->queued);
	metrics_number(out, "krait_export_worker_starts_total", "counter",
		       "Times that the exporter's process was started.", s->worker_starts);
	metrics_family(out, "krait_export_worker_cpu_seconds_total", "counter",
		       "CPU time of the exporter's process.");
	metrics_seconds(out, "krait_export_worker_cpu_seconds_total", s->worker_cpu_ns, NULL);
	metrics_number(out, "krait_export_worker_resident_bytes", "gauge",
		       "Memory of the exporter's process.", s->worker_rss_bytes);
	metrics_number(out, "krait_spool_bytes", "gauge",
		       "Bytes in the spool, on disk and in memory.", s->spool_bytes);
	metrics_number(out, "krait_spool_memory_bytes", "gauge", "Bytes of the spool in memory.",
		       s->spool_memory_bytes);
	metrics_number(out, "krait_spool_limit_bytes", "gauge", "The most that the spool may take.",
		       s->spool_limit);
	metrics_number(out, "krait_spool_torn_total", "counter",
		       "Unfinished ends that were cut off when the spool was opened.",
		       s->spool_torn);
	metrics_number(out, "krait_spool_spoilt_total", "counter",
		       "Damaged records that were left out.", s->spool_spoilt);
	metrics_number(out, "krait_spool_errors_total", "counter",
		       "Writes to the spool that failed.", s->spool_errors);
	metrics_number(out, "krait_spool_disk_full", "gauge",
		       "1 while batches stay in memory because the disk cannot be written.",
		       s->spool_disk_full);
	write_destinations(s, out);
}
