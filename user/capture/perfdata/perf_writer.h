/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_writer.h - writes a perf.data file record by record; knows its layout, not its content.
 *
 * A regular file gets the file layout, with a header that each flush updates: what was flushed can
 * be read even if nothing follows. Any other output gets perf's pipe layout at the end, as readers
 * of a pipe look up names as they go and need the complete DSO; until then records are in an
 * unnamed temporary file.
 *
 * Must hold: records are written roughly in the order of their times; each process and thread has
 * its COMM and MMAP2 before its first sample.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_PERF_WRITER_H
#define KRAIT_CAPTURE_PERFDATA_PERF_WRITER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "capture/perfdata/format.h"
#include "profile/recording.h"
#include "base/system/event.h"

struct bytes;
struct mapping;
struct perf_writer;

/* What it points to must stay valid until free. */
struct perf_writer_config {
	const struct event_spec *events;
	unsigned event_cnt; /* > 0; the first is the main event */
	/*
	 * The events of a file whose records are passed on, the same number; NULL: as krait writes
	 * them.
	 */
	const struct perf_raw_event *raw_events;
	int compression; /* level, 1 to 22: as perf record -z; 0: none */
	/* For a capture that is converted it is known only after reading it: set before finish. */
	const struct recording *recording;
};

/* Which thread a record is about, and when. */
struct perf_stamp {
	int pid, tid;
	__u32 cpu;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	/*
	 * For a sample: profile/states.h. Stored where the kernel writes 0, beside the CPU; other
	 * readers ignore it.
	 */
	__u32 state;
	/* For a wait for the GIL: the thread that held it; stored as perf's data address. */
	__u32 holder;
};

/* What is mapped there. */
struct perf_object {
	const char *path;
	const __u8 *build_id; /* 20 bytes, or NULL */
};

/*
 * Returns 0 or -errno; -E2BIG: an event has too many ids. *out is borrowed; nothing else may write
 * to it.
 */
int perf_writer__new(struct perf_writer **ret, FILE *out, const struct perf_writer_config *config)
	__attribute__((warn_unused_result));
void perf_writer__free(struct perf_writer *w);
/* The fields in samples of an event. */
__u64 perf_writer__sample_type(const struct perf_writer *w, unsigned event);

/* exec: the process has a new image, with this name. */
int perf_writer__comm(struct perf_writer *w, const struct perf_stamp *s, const char *comm,
		      bool exec);
/* A thread of s->pid: s->tid begins, or has ended: another one has its id from now on. */
int perf_writer__thread(struct perf_writer *w, const struct perf_stamp *s, bool ends);
int perf_writer__mapping(struct perf_writer *w, const struct perf_stamp *s,
			 const struct mapping *at, const struct perf_object *o);
/* The body of such a record, MMAP2, before the trailer and what aligns it. */
void perf_mapping_put(struct bytes *b, int pid, const struct mapping *at,
		      const struct perf_object *o);
/* The kernel's text or a module, "[ext4]". */
int perf_writer__kernel(struct perf_writer *w, const struct mapping *at, const char *name);

/* Longest chain that fits in a record. */
#define PERF_WRITER_MAX_CHAIN 8000
/*
 * Writes a sample. chain: addresses leaf first, with PERF_CONTEXT_* markers; ip: the first that is
 * not a marker.
 */
int perf_writer__sample(struct perf_writer *w, const struct perf_stamp *s, unsigned event,
			__u64 period, __u64 ip, const __u64 *chain, unsigned cnt);
int perf_writer__lost(struct perf_writer *w, __u64 cnt);
/* s->tid has left its CPU, or come back to one. preempted: it was runnable. */
int perf_writer__switch(struct perf_writer *w, const struct perf_stamp *s, bool out,
			bool preempted);
/*
 * Writes a record of the file that has raw_events, unchanged. krait's own records, whose trailers
 * have that file's form, may be mixed in, except samples. Returns 0, or -EINVAL: it is not a
 * record.
 */
int perf_writer__raw(struct perf_writer *w, const void *record, size_t size)
	__attribute__((warn_unused_result));
/* For samples that were passed on: notes their times; the file records the first and the last. */
void perf_writer__saw(struct perf_writer *w, __u64 time_ns);

/* After this, everything written so far can be read. */
int perf_writer__flush(struct perf_writer *w);
/* How many times smaller than they would be are the records written so far? 1: not compressed. */
double perf_writer__ratio(const struct perf_writer *w);
/* How many times smaller would compression make the records in the file? 0: unknown. */
double perf_writer__would_save(const struct perf_writer *w);
/* After a failed flush: bytes of records in the file, and those that the header covers. */
__u64 perf_writer__written(const struct perf_writer *w);
__u64 perf_writer__flushed(const struct perf_writer *w);
/*
 * After a failure: ends the file with the last complete record within that many bytes of records,
 * and updates its header. Nothing can be written afterwards. Returns 0 or -errno.
 */
int perf_writer__cut(struct perf_writer *w, __u64 size) __attribute__((warn_unused_result));
/* Writes what belongs at the end. list: objects with a build ID that should be archived. */
int perf_writer__finish(struct perf_writer *w, const struct perf_object *list, unsigned cnt);

#endif /* KRAIT_CAPTURE_PERFDATA_PERF_WRITER_H */
