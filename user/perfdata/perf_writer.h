/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_writer.h - writes a perf.data file record by record; knows its layout, not what is in it.
 *
 * A regular file gets the layout with a header that is brought up to date by each flush: what was
 * flushed can be read even if nothing follows. Anything else gets perf's pipe layout at the end, as
 * readers of a pipe look up names as they go and need the DSO complete; until then records are in
 * an unnamed temporary file.
 *
 * Must hold: records are written in about the order of their times; each process and thread has its
 * COMM and MMAP2 before its first sample.
 */
#ifndef KRAIT_PERFDATA_PERF_WRITER_H
#define KRAIT_PERFDATA_PERF_WRITER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "perfdata/format.h"
#include "profile/recording.h"
#include "util/event.h"

struct mapping;
struct perf_writer;

/* What it points to stays valid until free. */
struct perf_writer_config {
	const struct event_spec *events;
	unsigned event_cnt; /* > 0; the first is the main one */
	/* The events of a file whose records are passed on, as many; NULL: as krait writes them. */
	const struct perf_raw_event *raw_events;
	/* Of a capture that is converted it is known only when that has been read: before finish. */
	const struct recording *recording;
};

/* Whom and when a record is about. */
struct perf_stamp {
	int pid, tid;
	__u32 cpu;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	/* Of a sample: profile/states.h. It goes where the kernel writes 0, beside the CPU; others do not look there. */
	__u32 state;
	/* Of a wait for the GIL: the thread that had it; goes where perf has the address of data. */
	__u32 holder;
};

/* What is mapped there. */
struct perf_object {
	const char *path;
	const __u8 *build_id; /* 20 bytes, or NULL */
};

/* 0 or -errno; -E2BIG: an event has too many ids. *out is borrowed; nothing else may write to it. */
int perf_writer__new(struct perf_writer **ret, FILE *out, const struct perf_writer_config *config)
	__attribute__((warn_unused_result));
void perf_writer__free(struct perf_writer *w);
/* The fields of samples of an event. */
__u64 perf_writer__sample_type(const struct perf_writer *w, unsigned event);

/* exec: the process has a new image, and this is its name. */
int perf_writer__comm(struct perf_writer *w, const struct perf_stamp *s, const char *comm,
		      bool exec);
/* A thread of s->pid: s->tid. */
int perf_writer__thread(struct perf_writer *w, const struct perf_stamp *s);
int perf_writer__mapping(struct perf_writer *w, const struct perf_stamp *s,
			 const struct mapping *at, const struct perf_object *o);
/* The kernel's text or a module, "[ext4]". */
int perf_writer__kernel(struct perf_writer *w, const struct mapping *at, const char *name);

/* Longest chain that fits a record. */
#define PERF_WRITER_MAX_CHAIN 8000
/*
 * One sample. chain: addresses leaf first, with PERF_CONTEXT_* markers; ip the first that is no
 * marker.
 */
int perf_writer__sample(struct perf_writer *w, const struct perf_stamp *s, unsigned event,
			__u64 period, __u64 ip, const __u64 *chain, unsigned cnt);
int perf_writer__lost(struct perf_writer *w, __u64 cnt);
/* s->tid has left its CPU, or come back to one. preempted: it would have gone on. */
int perf_writer__switch(struct perf_writer *w, const struct perf_stamp *s, bool out,
			bool preempted);
/*
 * A record of the file that raw_events are of, byte for byte; krait's own records, which end as those of
 * that file do, may stand between them, but samples. 0, or -EINVAL: it is no record.
 */
int perf_writer__raw(struct perf_writer *w, const void *record, size_t size)
	__attribute__((warn_unused_result));
/* Of samples that were passed on: when the first and the last was taken, for the end of the file. */
void perf_writer__saw(struct perf_writer *w, __u64 time_ns);

/* What was written so far can be read after this. */
int perf_writer__flush(struct perf_writer *w);
/* What a flush that failed has left: bytes of records in the file, and those that the header tells of. */
__u64 perf_writer__written(const struct perf_writer *w);
__u64 perf_writer__flushed(const struct perf_writer *w);
/*
 * After a failure: the file ends with the last whole record before that many bytes of records, and its
 * header says so. Nothing can be written any more. 0 or -errno.
 */
int perf_writer__cut(struct perf_writer *w, __u64 size) __attribute__((warn_unused_result));
/* Writes what belongs at the end. list: objects with a build ID that are to be archived. */
int perf_writer__finish(struct perf_writer *w, const struct perf_object *list, unsigned cnt);

#endif /* KRAIT_PERFDATA_PERF_WRITER_H */
