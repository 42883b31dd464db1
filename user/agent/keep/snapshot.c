/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/keep/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "agent/keep/merge.h"
#include "agent/keep/slices.h"
#include "output/emitter.h"
#include "base/files/output_file.h"
#include "base/system/error.h"
#include "base/text/log.h"

struct snapshot {
	const char *folder, *output;
	int fd; /* of the folder */
	const struct slices *slices;
};

/* Formats "2026-11-23 14:30:00" in this machine's time zone. */
static void snapshot_time_format(char *buf, size_t size, __s64 ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm))
		*buf = '\0';
}

/* Times from two boots cannot share one capture: take the newest boot. */
static __u32 choose_boot(const struct snapshot *s, unsigned *ret_left_out)
{
	__u32 boot = 0;

	for (unsigned i = 0; i < s->slices->cnt; i++)
		boot = s->slices->list[i].boot;
	*ret_left_out = 0;
	for (unsigned i = 0; i < s->slices->cnt; i++)
		*ret_left_out += s->slices->list[i].boot != boot;
	return boot;
}

static int add_slices(const struct snapshot *s, struct merge *m, struct error *err)
{
	unsigned left_out;
	__u32 boot = choose_boot(s, &left_out);
	char path[PATH_MAX];

	if (left_out)
		log_warn(NULL,
			 "%u slice%s from before the last boot %s left out: use --until to "
			 "get them",
			 left_out, left_out == 1 ? "" : "s", left_out == 1 ? "is" : "are");
	for (unsigned i = 0; i < s->slices->cnt; i++) {
		const struct slice *slice = &s->slices->list[i];
		__s64 offset_ns = (slice->wall_ms - (__s64)slice->monotonic_ms) * 1000000;

		if (slice->boot != boot)
			continue;
		snprintf(path, sizeof(path), "%s/%s", s->folder, slice->name);
		/* The agent may have removed the expired slice meanwhile. */
		if (merge__add(m, path, offset_ns, err) && !faccessat(s->fd, slice->name, F_OK, 0))
			return -1;
	}
	return 0;
}

static void say_done(const struct snapshot *s, const struct merge *m)
{
	struct merge_stats st;
	char from[64] = "", to[64] = "";

	merge__stats(m, &st);
	if (st.wall_offset_ns) {
		snapshot_time_format(from, sizeof(from),
				     ((__s64)st.first_ns + st.wall_offset_ns) / 1000000);
		snapshot_time_format(to, sizeof(to),
				     ((__s64)st.last_ns + st.wall_offset_ns) / 1000000);
	}
	if (st.torn)
		log_warn(NULL,
			 "%u slice%s cut off: what was lost in the last seconds of %s is not known",
			 st.torn, st.torn == 1 ? " was" : "s were", st.torn == 1 ? "it" : "each");
	if (st.other_events)
		log_warn(NULL, "%u slice%s other events and %s left out", st.other_events,
			 st.other_events == 1 ? " has" : "s have",
			 st.other_events == 1 ? "is" : "are");
	if (st.unnamed)
		log_warn(NULL, "%llu places in Python have no name", st.unnamed);
	if (st.skipped)
		log_warn(NULL, "%llu records are malformed and were left out", st.skipped);
	log_info(
		NULL,
		"wrote %s: %u slice%s, %s to %s; %llu samples, %llu of %llu interrupts lost%s%s%s: krait report %s",
		s->output, st.captures, st.captures == 1 ? "" : "s", from, to, st.samples, st.lost,
		st.interrupts, st.lost ? " (most by reason \"" : "", st.lost ? st.why_lost : "",
		st.lost ? "\")" : "", s->output);
}

static int publish(void *ctx)
{
	return output_file__publish(ctx);
}

int snapshot_make(const char *folder, int fd, const struct slices *slices, const char *output)
{
	const struct snapshot snapshot = { folder, output, fd, slices }, *s = &snapshot;
	cleanup_output_file struct output_file *file = NULL;
	struct emit_place place = { .publish = publish };
	struct merge *m = NULL;
	struct error err = { .code = EXIT_CODE_OUTPUT, .text = "" };
	int result = output_file__open(&file, s->output, OUTPUT_FILE_REPLACE);

	if (!result) {
		place.name = output_file__name(file);
		place.ctx = file;
		result = merge__new(&m, output_file__stream(file), &place);
	}
	if (!result)
		result = add_slices(s, m, &err);
	if (!result)
		result = merge__finish(m);
	if (!result)
		result = output_file__finish(file);
	if (result && result != -ENODATA)
		log_error(NULL, "%s%s%s", *err.text ? err.text : s->output, *err.text ? "" : ": ",
			  *err.text ? "" : output_file_strerror(result));
	else if (!result)
		say_done(s, m);
	merge__free(m);
	return result == -ENODATA ? EXIT_CODE_EMPTY : result ? EXIT_CODE_OUTPUT : EXIT_CODE_OK;
}
