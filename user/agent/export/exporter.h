/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exporter.h - sends finished windows to the servers that store them.
 *
 * A batch is one request: bytes that the caller has encoded, and what must be known about them
 * without decoding. exporter__push() passes it to a worker of the role "exporter", which first
 * writes it to a spool. From there it sends it to every destination that takes its kind: in order,
 * one at a time, again and again until the server has accepted it or refused it for good. Each
 * destination has its own cursor in the spool; the spool, its cursors and the ids of batches
 * outlive worker and krait.
 *
 * Without a folder the spool is in memory (memfd), which outlives only the worker.
 *
 * Must hold: nothing here waits except exporter__start() (which reads files) and exporter__stop().
 * Each pushed batch ends, for each destination, as delivered, rejected or dropped, or is pending;
 * all four are counted, in batches and in samples. The worker has no rights and no files but the
 * spool's, and secrets leave it only in requests: never in a log line or a command line.
 */
#ifndef KRAIT_AGENT_EXPORT_EXPORTER_H
#define KRAIT_AGENT_EXPORT_EXPORTER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct error;
struct exporter;

#define EXPORT_ID_SIZE 16
/*
 * Limit for a body. Collectors take 4 MiB over gRPC and 20 MiB over HTTP by default: stay below 3
 * MiB.
 */
#define EXPORT_BODY_MAX (16U << 20)
#define EXPORT_QUERY_MAX 2048U
#define EXPORT_DESTINATIONS_MAX 8U

/* What a body contains. A destination takes one kind, and gets no other. */
enum export_kind {
	EXPORT_OTLP_PROFILES, /* ExportProfilesServiceRequest */
	EXPORT_PPROF, /* profile.proto, gzip'ed or not: Pyroscope's /ingest takes both */
	EXPORT_KIND_CNT,
};

enum export_protocol {
	EXPORT_HTTP, /* POST with a Content-Length */
	EXPORT_GRPC, /* unary; http:// is HTTP/2 without TLS */
};

enum export_compression {
	EXPORT_GZIP,
	EXPORT_NONE,
};

struct export_batch {
	enum export_kind kind;
	/* the same in every attempt; for OTLP the profile_id of its first profile */
	__u8 id[EXPORT_ID_SIZE];
	__u64 from_unix_ns, to_unix_ns;
	__u64 samples; /* that it represents, for accounting losses */
	/* of this request's URL, without "?", escaped: name=...&from=...; NULL: none */
	const char *query;
	const void *body;
	size_t len;
};

struct exporter_destination {
	/* http:// or https://. Adds the path for the kind and protocol, unless whole is set. */
	const char *url;
	bool whole;
	enum export_kind kind;
	enum export_protocol protocol;
	enum export_compression compression; /* for OTLP; a pprof body is sent as it is */
	const char *const *headers; /* "Name: value" */
	unsigned header_cnt;
	/* Read at the start, and again when they change. NULL: none. */
	const char *token_file, *ca_file, *cert_file, *key_file;
	const char *proxy; /* NULL: use http_proxy, https_proxy and no_proxy */
	__u32 timeout_ms; /* per attempt; 0: 10 s */
};

#define EXPORTER_SPOOL_BYTES (256ULL << 20)
#define EXPORTER_MEMORY_BYTES (32ULL << 20)
struct exporter_config {
	const struct exporter_destination *destinations;
	unsigned destination_cnt;
	const char *spool_dir; /* created if missing; NULL: in memory */
	__u64 spool_bytes; /* on disk; 0: EXPORTER_SPOOL_BYTES */
	/* without a folder, or while its disk is full; 0: EXPORTER_MEMORY_BYTES */
	__u64 memory_bytes;
};

/*
 * For one destination, since the exporter started, except what is pending. If a worker is killed
 * its last 50 ms are missing from the counts (but not from the spool: that part is sent again, or
 * was delivered).
 */
struct exporter_destination_stats {
	char name[160]; /* scheme, host, port and path; no user, no query */
	__u64 delivered, delivered_samples, delivered_bytes /* as sent */;
	__u64 rejected, rejected_samples; /* whole batches, by an answer that forbids retrying */
	__u64 partial_rejected; /* profiles in delivered batches (partial_success) */
	__u64 dropped, dropped_samples; /* the spool was full, or a record was corrupt */
	__u64 pending, pending_samples, pending_bytes;
	__u64 in_memory, in_memory_samples; /* part of what is pending: lost when krait ends */
	__u64 oldest_pending_unix_ns; /* its batch's from_unix_ns; 0: none */
	__u64 tries, failed_tries; /* failed ones that will be repeated */
	__u64 last_success_unix_ns;
	__u32 wait_ms; /* until the next attempt; 0: not waiting */
	__s32 last_status; /* HTTP; for gRPC 1000 + grpc-status; 0: none yet */
	char last_error[200]; /* "" if the last attempt succeeded */
};

struct exporter_stats {
	__u64 pushed, pushed_samples;
	__u64 refused, refused_samples; /* too long, or no memory: never reached the spool */
	__u64 queue_dropped, queue_dropped_samples; /* the worker took them too slowly */
	__u64 queued; /* not yet in the spool */
	__u64 spool_bytes, spool_limit, spool_memory_bytes /* of these, not on disk */;
	__u64 spool_torn, spool_spoilt; /* records truncated or skipped, at the start and since */
	__u64 spool_errors; /* failed writes: the disk is full, or broken */
	__u64 worker_starts, worker_cpu_ns, worker_rss_bytes;
	bool spool_on_disk, spool_disk_full;
	unsigned destination_cnt;
	struct exporter_destination_stats destinations[EXPORT_DESTINATIONS_MAX];
};

/*
 * Creates and opens the spool, reads tokens and certificates, starts the worker. NULL with *err
 * filled.
 */
struct exporter *exporter__start(const struct exporter_config *config, struct error *err)
	__attribute__((warn_unused_result, nonnull));

/*
 * Takes a copy. Returns 0 except for a batch that can never be sent, which counts as refused:
 * -EMSGSIZE, -EINVAL. If the worker does not keep up, the oldest batch that it has not taken yet is
 * dropped.
 */
int exporter__push(struct exporter *e, const struct export_batch *batch) __attribute__((nonnull));

/*
 * Call about once a second: handles (and logs) the worker's messages, restarts it if it has ended,
 * reads changed token files.
 */
void exporter__step(struct exporter *e) __attribute__((nonnull));
/* Reads tokens and certificates now, rather than within the next 10 s. */
void exporter__reload(struct exporter *e) __attribute__((nonnull));

/* As of the last exporter__step() or exporter__push(). */
void exporter__stats(const struct exporter *e, struct exporter_stats *ret) __attribute__((nonnull));
/* The same as Prometheus text, metrics krait_export_* and krait_spool_*. */
void exporter_stats_write(const struct exporter_stats *s, FILE *out) __attribute__((nonnull));

/*
 * Sends what is pending for that long, to each destination until an attempt fails, and ends the
 * worker. The rest stays in the spool, or is counted and reported if that is in memory. *ret may be
 * NULL. NULL: does nothing.
 */
void exporter__stop(struct exporter *e, __u64 timeout_ns, struct exporter_stats *ret);

#endif /* KRAIT_AGENT_EXPORT_EXPORTER_H */
