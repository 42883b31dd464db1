/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/read_features.h"

#include <stdio.h>
#include <string.h>

#include "base/text/printable.h"

static void take_text(struct cursor *c, char *ret, size_t size)
{
	__u32 len = cursor_u32(c);
	const char *text = cursor_take(c, len);
	char copy[PERF_READER_TEXT];

	if (!text)
		return;
	snprintf(copy, sizeof(copy), "%.*s", (int)(len < sizeof(copy) ? len : sizeof(copy) - 1),
		 text);
	printable_into(ret, size, copy);
}

static void take_command_line(struct cursor *c, char *ret, size_t size)
{
	__u32 cnt = cursor_u32(c);
	size_t len = 0;

	for (__u32 i = 0; i < cnt && c->ok && len + 2 < size; i++) {
		if (i)
			ret[len++] = ' ';
		ret[len] = '\0';
		take_text(c, ret + len, size - len);
		len += strlen(ret + len);
	}
}

static void take_event_names(struct perf_attrs *a, struct cursor *c)
{
	__u32 cnt = cursor_u32(c), attr_size = cursor_u32(c);

	for (__u32 i = 0; i < cnt && i < a->cnt && c->ok; i++) {
		char name[sizeof(a->events[0].name)] = "";
		__u32 ids;

		cursor_take(c, attr_size);
		ids = cursor_u32(c);
		take_text(c, name, sizeof(name));
		cursor_take(c, (size_t)ids * sizeof(__u64));
		if (c->ok && *name)
			memcpy(a->events[i].name, name, sizeof(name));
	}
}

/* The same moment on both clocks. Times before 1970 or after 2554 are ignored. */
static void take_clock_data(struct perf_read_facts *f, struct cursor *c)
{
	__u32 version = cursor_u32(c);
	__u64 wall_ns, clock_ns;

	cursor_u32(c); /* which clock: the samples' one */
	wall_ns = cursor_u64(c);
	clock_ns = cursor_u64(c);
	if (c->ok && version == 1 && wall_ns >> 63 == 0 && clock_ns < wall_ns)
		f->wall_offset_ns = (__s64)(wall_ns - clock_ns);
}

static void take_compression(struct perf_read_facts *f, struct cursor *c)
{
	__u32 type, expands_to;

	cursor_u32(c); /* version */
	type = cursor_u32(c);
	cursor_u32(c); /* level */
	cursor_u32(c); /* ratio */
	expands_to = cursor_u32(c);
	if (c->ok && type == PERF_COMPRESSED_ZSTD)
		f->expands_to = expands_to;
}

void perf_description_take(struct perf_read_facts *f, struct perf_attrs *a, unsigned feature,
			   struct cursor *c)
{
	switch (feature) {
	case PERF_FEATURE_HOSTNAME:
		take_text(c, f->host, sizeof(f->host));
		break;
	case PERF_FEATURE_OSRELEASE:
		take_text(c, f->kernel, sizeof(f->kernel));
		break;
	case PERF_FEATURE_ARCH:
		take_text(c, f->arch, sizeof(f->arch));
		break;
	case PERF_FEATURE_VERSION:
		take_text(c, f->version, sizeof(f->version));
		break;
	case PERF_FEATURE_CMDLINE:
		take_command_line(c, f->command_line, sizeof(f->command_line));
		break;
	case PERF_FEATURE_EVENT_DESC:
		take_event_names(a, c);
		break;
	case PERF_FEATURE_SAMPLE_TIME:
		f->first_ns = cursor_u64(c);
		f->last_ns = cursor_u64(c);
		break;
	case PERF_FEATURE_CLOCK_DATA:
		take_clock_data(f, c);
		break;
	case PERF_FEATURE_COMPRESSED:
		take_compression(f, c);
		break;
	default:
		break;
	}
}
