/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.h - the parts of a perf.data file, beyond <linux/perf_event.h>.
 *
 * Names and numbers are those of tools/perf (util/header.h, lib/perf/include/perf/event.h).
 */
#ifndef KRAIT_CAPTURE_PERFDATA_FORMAT_H
#define KRAIT_CAPTURE_PERFDATA_FORMAT_H

#include <linux/perf_event.h>
#include <linux/types.h>

#define PERF_MAGIC 0x32454c4946524550ULL /* "PERFILE2" */
#define PERF_MAGIC_SWAPPED 0x50455246494c4532ULL
#define PERF_PIPE_HEADER_SIZE 16

/* A fixed size that every perf since 4.1 reads: PERF_ATTR_SIZE_VER5. */
#define PERF_ATTR_SIZE 112

struct perf_section {
	__u64 offset, size;
};

struct perf_file_header {
	__u64 magic;
	__u64 size;
	__u64 attr_size; /* sizeof(struct perf_event_attr) plus its section of ids */
	struct perf_section attrs, data, event_types;
	__u64 features[4];
};
_Static_assert(sizeof(struct perf_file_header) == 104, "struct perf_file_header is on disk");

enum perf_feature {
	PERF_FEATURE_BUILD_ID = 2,
	PERF_FEATURE_HOSTNAME = 3,
	PERF_FEATURE_OSRELEASE = 4,
	PERF_FEATURE_VERSION = 5,
	PERF_FEATURE_ARCH = 6,
	PERF_FEATURE_NRCPUS = 7,
	PERF_FEATURE_CMDLINE = 11,
	PERF_FEATURE_EVENT_DESC = 12,
	PERF_FEATURE_AUXTRACE = 18,
	PERF_FEATURE_SAMPLE_TIME = 21,
	PERF_FEATURE_CLOCKID = 23,
	PERF_FEATURE_COMPRESSED = 27,
	PERF_FEATURE_CLOCK_DATA = 29,
	PERF_FEATURE_CNT = 256,
};

/* Records that user space adds to the kernel's. */
enum perf_user_record {
	PERF_USER_HEADER_ATTR = 64,
	PERF_USER_HEADER_TRACING_DATA = 66,
	PERF_USER_HEADER_BUILD_ID = 67,
	PERF_USER_FINISHED_ROUND = 68,
	PERF_USER_AUXTRACE = 71,
	PERF_USER_HEADER_FEATURE = 80,
	PERF_USER_COMPRESSED = 81,
	PERF_USER_COMPRESSED2 = 83,
};

#define PERF_COMPRESSED_ZSTD 1 /* the type in the feature COMPRESSED */

/* One event of a file: PERF_ATTR_SIZE bytes of its attribute, and the ids that refer to it. */
struct perf_raw_event {
	struct perf_event_attr attr;
	const __u64 *ids;
	unsigned id_cnt;
};

/*
 * krait's own: config1 of offcpu-time, which the kernel does not use for software events, says that its time is shown
 * together with that of the clock (record --wall).
 */
#define PERF_CONFIG1_JOINED 1

#endif /* KRAIT_CAPTURE_PERFDATA_FORMAT_H */
