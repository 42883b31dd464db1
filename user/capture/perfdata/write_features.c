/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/write_features.h"

#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/dso/dso.h"
#include "capture/perfdata/compressed.h"

#define STRING_ALIGN 64

const enum perf_feature perf_features[] = {
	PERF_FEATURE_BUILD_ID,
	PERF_FEATURE_HOSTNAME,
	PERF_FEATURE_OSRELEASE,
	PERF_FEATURE_VERSION,
	PERF_FEATURE_ARCH,
	PERF_FEATURE_NRCPUS,
	PERF_FEATURE_CMDLINE,
	PERF_FEATURE_EVENT_DESC,
	PERF_FEATURE_SAMPLE_TIME,
	PERF_FEATURE_CLOCKID,
	PERF_FEATURE_COMPRESSED,
	PERF_FEATURE_CLOCK_DATA,
	0,
};

static void put_string(struct bytes *b, const char *text)
{
	size_t size = (strlen(text) + STRING_ALIGN) / STRING_ALIGN * STRING_ALIGN;

	bytes_u32(b, (__u32)size);
	bytes_put(b, text, strlen(text));
	bytes_fill(b, 0, size - strlen(text));
}

static void put_known(struct bytes *b, const char *text)
{
	if (text && *text)
		put_string(b, text);
}

/* The pid is -1: perf takes a real one for a guest's. */
void perf_build_id_put(struct bytes *b, const struct perf_object *o)
{
	size_t start = b->len;

	bytes_u32(b, 0);
	bytes_u16(b, PERF_RECORD_MISC_USER | 1 << 15);
	bytes_u16(b, 0);
	bytes_u32(b, (__u32)-1);
	bytes_put(b, o->build_id, DSO_BUILD_ID_SIZE);
	bytes_u8(b, DSO_BUILD_ID_SIZE);
	bytes_fill(b, 0, 3);
	bytes_text(b, o->path);
	bytes_align(b, 8);
	bytes_patch_u16(b, start + 6, (__u16)(b->len - start));
}

static void put_arch(struct bytes *b)
{
	struct utsname uts;

	if (!uname(&uts))
		put_string(b, uts.machine);
}

static void put_event_desc(struct bytes *b, const struct perf_facts *f)
{
	bytes_u32(b, f->config->event_cnt);
	bytes_u32(b, PERF_ATTR_SIZE);
	for (unsigned i = 0; i < f->config->event_cnt; i++) {
		const struct perf_raw_event *e = &f->events[i];

		bytes_put(b, &e->attr, PERF_ATTR_SIZE);
		bytes_u32(b, e->id_cnt);
		put_string(b, f->config->events[i].name);
		bytes_put(b, e->ids, e->id_cnt * sizeof(*e->ids));
	}
}

void perf_feature_put(struct bytes *b, enum perf_feature feature, const struct perf_facts *f)
{
	switch (feature) {
	case PERF_FEATURE_BUILD_ID:
		for (unsigned i = 0; i < f->object_cnt; i++)
			perf_build_id_put(b, &f->objects[i]);
		break;
	case PERF_FEATURE_HOSTNAME:
		put_known(b, f->config->recording->host);
		break;
	case PERF_FEATURE_OSRELEASE:
		put_known(b, f->config->recording->kernel);
		break;
	case PERF_FEATURE_VERSION:
		put_string(b, "krait " KRAIT_VERSION);
		break;
	case PERF_FEATURE_ARCH:
		put_arch(b);
		break;
	case PERF_FEATURE_NRCPUS:
		bytes_u32(b, (__u32)sysconf(_SC_NPROCESSORS_CONF));
		bytes_u32(b, (__u32)sysconf(_SC_NPROCESSORS_ONLN));
		break;
	case PERF_FEATURE_CMDLINE:
		if (!f->config->recording->command_line)
			break;
		bytes_u32(b, 1);
		put_string(b, f->config->recording->command_line);
		break;
	case PERF_FEATURE_EVENT_DESC:
		put_event_desc(b, f);
		break;
	case PERF_FEATURE_SAMPLE_TIME:
		bytes_u64(b, f->first_ns);
		bytes_u64(b, f->last_ns);
		break;
	case PERF_FEATURE_CLOCKID:
		bytes_u64(b, 1);
		break;
	case PERF_FEATURE_COMPRESSED:
		if (!f->config->compression)
			break;
		bytes_u32(b, 0); /* the version: hotspot refuses others */
		bytes_u32(b, PERF_COMPRESSED_ZSTD);
		bytes_u32(b, (__u32)f->config->compression);
		bytes_u32(b, f->ratio);
		bytes_u32(b, COMPRESSED_EXPANDS_TO);
		break;
	case PERF_FEATURE_CLOCK_DATA:
		if (!f->wall_ns)
			break;
		bytes_u32(b, 1);
		bytes_u32(b, CLOCK_MONOTONIC);
		bytes_u64(b, f->wall_ns);
		bytes_u64(b, f->clock_ns);
		break;
	default:
		break;
	}
}
