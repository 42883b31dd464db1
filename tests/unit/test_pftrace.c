/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pftrace.c - reads a Perfetto trace back: slices nest and end, every number is defined before
 * it is used, and states last as long as the samples say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "output/formats/perfetto.pb-c.h"
#include "profile/states.h"
#include "support_profile.h"

#define MS 1000000ULL
#define BEGAN_NS (1000 * MS)
#define MAX_TRACKS 4096
#define MAX_IID (1U << 20)

static const struct emit_options options = { .title = "krait",
					     .recording.command_line = "krait record",
					     .recording.began_ns = BEGAN_NS,
					     .recording.began_wall_ns = 1771000000000000000LL,
					     .recording.frequency = 1000 };

typedef Krait__Perfetto__TrackEvent Event;

/* What was defined so far. */
struct reader {
	const char *names[MAX_IID], *values[MAX_IID];
	__u8 function[MAX_IID], mapping[MAX_IID], frame[MAX_IID], stack[MAX_IID];
	__u8 mapping_path[MAX_IID], source[MAX_IID], category[MAX_IID], note[MAX_IID];
	__u64 open_at[MAX_TRACKS][2], last_ns[MAX_TRACKS];
	const char *open_name[MAX_TRACKS][2];
	unsigned depth[MAX_TRACKS];
	const Krait__Perfetto__TrackDescriptor *track[MAX_TRACKS];
	__u64 state_ns[STATE_CNT]; /* slices of states */
	unsigned slices, instants, samples, clocks, processes, threads;
	char story[4096]; /* of states and functions */
};

static struct reader r;

/* An empty text has no memory. */
static char *text_of(ProtobufCBinaryData data)
{
	return data.len ? strndup((char *)data.data, data.len) : strdup("");
}

static void take_interned(const Krait__Perfetto__InternedData *d)
{
#define EACH(field, code)                                                                          \
	for (size_t i = 0; i < d->n_##field; i++) {                                                \
		const __u64 iid = d->field[i]->iid;                                                \
		assert_in_range(iid, 1, MAX_IID - 1);                                              \
		code;                                                                              \
	}
	EACH(event_names, r.names[iid] = text_of(d->event_names[i]->str))
	EACH(debug_annotation_string_values,
	     r.values[iid] = text_of(d->debug_annotation_string_values[i]->str))
	EACH(event_categories, r.category[iid] = 1)
	EACH(debug_annotation_names, r.note[iid] = 1)
	EACH(function_names, r.function[iid] = 1)
	EACH(mapping_paths, r.mapping_path[iid] = 1)
	EACH(source_paths, r.source[iid] = 1)
	EACH(mappings, {
		r.mapping[iid] = 1;
		assert_true(r.mapping_path[d->mappings[i]->path_string_ids[0]]);
	})
	EACH(frames, {
		r.frame[iid] = 1;
		assert_true(r.function[d->frames[i]->function_name_id]);
		assert_true(r.mapping[d->frames[i]->mapping_id]);
		assert_true(!d->frames[i]->source_path_iid ||
			    r.source[d->frames[i]->source_path_iid]);
	})
	EACH(callstacks, {
		r.stack[iid] = 1;
		assert_true(d->callstacks[i]->n_frame_ids > 0);
		for (size_t k = 0; k < d->callstacks[i]->n_frame_ids; k++)
			assert_true(r.frame[d->callstacks[i]->frame_ids[k]]);
	})
#undef EACH
}

static void take_track(const Krait__Perfetto__TrackDescriptor *t)
{
	assert_in_range(t->uuid, 1, MAX_TRACKS - 1);
	assert_null(r.track[t->uuid]);
	r.track[t->uuid] = t;
	r.processes += t->process != NULL;
	if (!t->thread)
		return;
	r.threads++;
	assert_non_null(r.track[t->parent_uuid]);
	assert_int_equal(r.track[t->parent_uuid]->process->pid, t->thread->pid);
}

static void tell(const char *what, const char *name)
{
	size_t len = strlen(r.story);

	snprintf(r.story + len, sizeof(r.story) - len, "%s%s", what, name);
}

static enum state state_named(const char *name)
{
	for (int i = 1; i < STATE_CNT; i++) {
		if (!strcmp(state_name((enum state)i), name))
			return (enum state)i;
	}
	return STATE_UNKNOWN;
}

static void begin_slice(const Event *e, __u64 now_ns)
{
	unsigned *depth = &r.depth[e->track_uuid];

	assert_in_range(*depth, 0, 1);
	assert_int_equal(e->n_category_iids, 1);
	assert_true(r.category[e->category_iids[0]]);
	if (!*depth)
		assert_int_not_equal(state_named(r.names[e->name_iid]), STATE_UNKNOWN);
	tell(*depth ? ">" : " ", r.names[e->name_iid]);
	r.open_at[e->track_uuid][*depth] = now_ns;
	r.open_name[e->track_uuid][(*depth)++] = r.names[e->name_iid];
	r.slices++;
}

static void end_slice(const Event *e, __u64 now_ns)
{
	unsigned depth;

	assert_in_range(r.depth[e->track_uuid], 1, 2);
	depth = --r.depth[e->track_uuid];
	if (!depth)
		r.state_ns[state_named(r.open_name[e->track_uuid][0])] +=
			now_ns - r.open_at[e->track_uuid][0];
}

static void take_event(const Event *e, __u64 now_ns)
{
	assert_in_range(e->track_uuid, 1, MAX_TRACKS - 1);
	assert_non_null(r.track[e->track_uuid]);
	/* Moments are independent of the slices; readers sort. */
	if (e->type != KRAIT__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT) {
		assert_true(now_ns >= r.last_ns[e->track_uuid]);
		r.last_ns[e->track_uuid] = now_ns;
	}
	assert_true(!e->callstack_iid || r.stack[e->callstack_iid]);
	for (size_t i = 0; i < e->n_debug_annotations; i++) {
		assert_true(r.note[e->debug_annotations[i]->name_iid]);
		assert_non_null(r.values[e->debug_annotations[i]->string_value_iid]);
	}
	if (e->type == KRAIT__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END) {
		end_slice(e, now_ns);
		return;
	}
	assert_non_null(r.names[e->name_iid]);
	if (e->type == KRAIT__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN)
		begin_slice(e, now_ns);
	else
		r.instants++;
}

static void take_packet(const Krait__Perfetto__TracePacket *p, bool first)
{
	assert_int_equal(p->trusted_packet_sequence_id, 1);
	assert_int_equal(p->sequence_flags, first ? 1 : 2);
	if (p->clock_snapshot) {
		assert_int_equal(p->clock_snapshot->primary_trace_clock, 3);
		assert_int_equal(p->clock_snapshot->clocks[0]->timestamp, BEGAN_NS);
		r.clocks += (unsigned)p->clock_snapshot->n_clocks;
	}
	if (p->trace_packet_defaults)
		assert_int_equal(p->trace_packet_defaults->timestamp_clock_id, 3);
	if (p->interned_data)
		take_interned(p->interned_data);
	if (p->track_descriptor)
		take_track(p->track_descriptor);
	if (p->track_event)
		take_event(p->track_event, p->timestamp);
	if (p->perf_sample) {
		assert_true(r.stack[p->perf_sample->callstack_iid]);
		r.samples++;
	}
}

/* Writes the samples and reads the trace. The caller frees it. */
static Krait__Perfetto__Trace *write_and_read(const struct profile *p,
					      const struct profile_sample *list, size_t cnt)
{
	const struct emitter_ops *ops = format_by_suffix("x.pftrace");
	Krait__Perfetto__Trace *trace;
	struct emitter *e;
	char *packed;
	size_t size;
	FILE *out = open_memstream(&packed, &size);

	assert_int_equal(ops->open(&e, out, &options), 0);
	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(ops->sample(e, p, &list[i]), 0);
	assert_int_equal(ops->finish(e, p, 0), 0);
	ops->free(e);
	fclose(out);
	trace = krait__perfetto__trace__unpack(NULL, size, (__u8 *)packed);
	free(packed);
	assert_non_null(trace);
	for (unsigned i = 0; i < MAX_IID; i++) {
		free((char *)r.names[i]);
		free((char *)r.values[i]);
	}
	memset(&r, 0, sizeof(r));
	for (size_t i = 0; i < trace->n_packet; i++)
		take_packet(trace->packet[i], !i);
	for (unsigned i = 0; i < MAX_TRACKS; i++)
		assert_int_equal(r.depth[i], 0);
	assert_int_equal(r.clocks, 2);
	return trace;
}

/* Two stacks of one thread, and events of time on the CPU, off it, and of another kind. */
struct stacks {
	struct profile *profile;
	__u32 work, wait;
};

static struct stacks two_stacks(void)
{
	static const struct event_spec faults = { .name = "faults", .type = 1, .config = 2 };
	struct profile *p = profile__new();
	__u32 thread =
		push(p, push(p, 0, add_process(p, "python3", 7)), add_thread(p, "main", 7, 7));
	__u32 root = push(p, thread, add_function(p, "<module>", "/app/a.py", 1, 9));
	struct event_spec off;

	event_off_cpu(&off, MS);
	assert_int_equal(profile__set_event(p, 1, &off), 0);
	assert_int_equal(profile__set_event(p, 2, &faults), 0);
	return (struct stacks){ p, push(p, root, add_function(p, "work", "/app/a.py", 3, 4)),
				push(p, push(p, root, add_function(p, "fetch", "/app/a.py", 6, 7)),
				     add_mark(p, "[io: read pipe]")) };
}

static struct profile_sample sample_of(__u32 node, unsigned event, __u64 from_ms, __u64 at_ms,
				       __u32 state)
{
	return (struct profile_sample){ .node = node,
					.event = event,
					.from_ns = from_ms ? BEGAN_NS + from_ms * MS : 0,
					.time_ns = BEGAN_NS + at_ms * MS,
					.period = event == 1 ? (at_ms - from_ms) * MS : MS,
					.state = state,
					.pid = 7,
					.tid = 7,
					.comm = "main" };
}

static void a_thread_is_told_state_by_state(void **state)
{
	const struct stacks s = two_stacks();
	/* In order of arrival: a wait arrives when it ends. */
	const struct profile_sample list[] = {
		sample_of(s.work, 0, 0, 1, STATE_PYTHON | STATE_HOLDS_GIL),
		sample_of(s.work, 0, 0, 2, STATE_PYTHON),
		sample_of(s.wait, 0, 0, 3, STATE_PYTHON),
		sample_of(s.wait, 0, 0, 4, STATE_NATIVE),
		sample_of(s.wait, 1, 4, 90, STATE_IO),
		sample_of(s.wait, 1, 90, 100, STATE_RUNNABLE),
		sample_of(s.work, 2, 0, 100, STATE_UNKNOWN),
		sample_of(s.work, 0, 0, 150, STATE_UNKNOWN),
	};
	Krait__Perfetto__Trace *trace =
		write_and_read(s.profile, list, sizeof(list) / sizeof(list[0]));

	assert_string_equal(r.story,
			    " python>work>fetch native>fetch io>fetch runnable>fetch cpu>work");
	assert_int_equal(r.state_ns[STATE_PYTHON], 3 * MS);
	assert_int_equal(r.state_ns[STATE_NATIVE], MS);
	assert_int_equal(r.state_ns[STATE_IO], 86 * MS);
	assert_int_equal(r.state_ns[STATE_RUNNABLE], 10 * MS);
	assert_int_equal(r.state_ns[STATE_CPU], MS);
	/* That of the recording, and the fault. */
	assert_int_equal(r.instants, 2);
	assert_int_equal(r.samples, 5);
	assert_int_equal(r.processes, 1);
	assert_int_equal(r.threads, 1);
	assert_string_equal(r.values[s.wait],
			    "[io: read pipe] < fetch (a.py:7) < <module> (a.py:9)");
	krait__perfetto__trace__free_unpacked(trace, NULL);
	profile__free(s.profile);
}

/* The wait covers the time before a tick; a wait whose start is unknown is a moment. */
static void nothing_overlaps(void **state)
{
	const struct stacks s = two_stacks();
	struct profile_sample tick = sample_of(s.work, 0, 0, 100, STATE_PYTHON);
	struct profile_sample unknown = sample_of(s.wait, 1, 0, 120, STATE_LOCK);
	struct profile_sample list[3] = { sample_of(s.wait, 1, 10, 99, STATE_SLEEP), tick,
					  unknown };
	Krait__Perfetto__Trace *trace;

	list[1].period = 50 * MS;
	trace = write_and_read(s.profile, list, 3);
	assert_int_equal(r.state_ns[STATE_SLEEP], 89 * MS);
	assert_int_equal(r.state_ns[STATE_PYTHON], MS);
	assert_int_equal(r.state_ns[STATE_LOCK], 0);
	assert_int_equal(r.instants, 2);
	krait__perfetto__trace__free_unpacked(trace, NULL);
	profile__free(s.profile);
}

/* CPython waits for the GIL in intervals of 5 ms; one wait is one slice. */
static void a_wait_that_goes_on_is_one_slice(void **state)
{
	const struct stacks s = two_stacks();
	const struct profile_sample list[] = {
		sample_of(s.wait, 1, 10, 15, STATE_GIL | STATE_STILL_WAITS),
		sample_of(s.wait, 1, 15, 20, STATE_GIL),
		sample_of(s.wait, 1, 21, 22, STATE_GIL),
	};
	Krait__Perfetto__Trace *trace = write_and_read(s.profile, list, 3);

	assert_string_equal(r.story, " gil>fetch gil>fetch");
	assert_int_equal(r.state_ns[STATE_GIL], 11 * MS);
	krait__perfetto__trace__free_unpacked(trace, NULL);
	profile__free(s.profile);
}

/* Names that break writers, deep stacks, many threads: all samples are there. */
static void every_profile_reads_again(void **state)
{
	struct profile *profiles[] = { small_profile(), hostile_profile(), deep_profile(1500),
				       large_profile(2000) };

	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		const struct profile *p = profiles[i];
		__u32 nodes = dict__node_cnt(p->dict), cnt = 0;
		struct profile_sample *list = calloc(nodes + 1, sizeof(*list));
		Krait__Perfetto__Trace *trace;

		for (__u32 n = 1; n <= nodes; n++) {
			if (!counts__at(profile__counts(p, 0), n).samples)
				continue;
			list[cnt] = sample_of(n, 0, 0, 10 * (cnt + 1), STATE_PYTHON);
			list[cnt++].tid = 7 + (int)(n % 5);
		}
		trace = write_and_read(p, list, cnt);
		assert_int_equal(r.slices, 2 * cnt);
		assert_true(r.samples <= cnt && r.samples > 0);
		krait__perfetto__trace__free_unpacked(trace, NULL);
		free(list);
		profile__free(profiles[i]);
	}
}

static void a_recording_without_samples_is_a_trace(void **state)
{
	const struct stacks s = two_stacks();
	Krait__Perfetto__Trace *trace = write_and_read(s.profile, NULL, 0);

	assert_int_equal(r.threads, 0);
	assert_int_equal(r.instants, 1);
	krait__perfetto__trace__free_unpacked(trace, NULL);
	profile__free(s.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_is_told_state_by_state),
		cmocka_unit_test(nothing_overlaps),
		cmocka_unit_test(a_wait_that_goes_on_is_one_slice),
		cmocka_unit_test(every_profile_reads_again),
		cmocka_unit_test(a_recording_without_samples_is_a_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
