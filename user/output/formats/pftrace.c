/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pftrace.c - Perfetto's trace format, for ui.perfetto.dev: a track for each thread, with a slice
 * for each stretch it spent in one state, and within it slices of the functions it was in, with
 * their stacks.
 *
 * Clock samples also appear as PerfSample, from which viewers make flame graphs of a selection. The
 * trace is one sequence of packets: first what others refer to by number (pftrace_tables.c), then
 * thread by thread. Times are CLOCK_MONOTONIC; the clock snapshot maps them to the time of day.
 *
 * Must hold: slices of a track nest, and each that begins also ends; every number referred to
 * exists.
 */
#include "output/formats.h"

#include <errno.h>
#include <stdlib.h>

#include "output/formats/pftrace_tables.h"
#include "output/spans.h"
#include "output/timeline.h"
#include "profile/parts.h"
#include "base/data/bytes.h"
#include "base/data/cleanup.h"
#include "base/text/printable.h"
#include "base/text/stream.h"

#define SEQUENCE 1
#define CLOCK_ID_REALTIME 1
#define CLOCK_ID_MONOTONIC 3
/* TracePacket.sequence_flags */
#define FLAG_CLEARED 1
#define FLAG_NEEDED 2
#define COUNTER_SW_CPU_CLOCK 1
#define CPU_MODE_USER 2

typedef Krait__Perfetto__TracePacket Packet;
typedef Krait__Perfetto__TrackEvent Event;
typedef Krait__Perfetto__DebugAnnotation Note;

struct writer {
	FILE *out;
	const struct profile *profile;
	const struct emit_options *options;
	struct pftrace_tables tables;
	struct bytes scratch;
	__u64 track; /* the one being written */
	__u64 track_cnt;
};

static int put_packet(struct writer *w, Packet *packet)
{
	Krait__Perfetto__Trace part = KRAIT__PERFETTO__TRACE__INIT;
	size_t size;

	packet->trusted_packet_sequence_id = SEQUENCE;
	if (!packet->sequence_flags)
		packet->sequence_flags = FLAG_NEEDED;
	part.packet = &packet;
	part.n_packet = 1;
	size = krait__perfetto__trace__get_packed_size(&part);
	w->scratch.len = 0;
	bytes_fill(&w->scratch, 0, size);
	if (w->scratch.failed)
		return -ENOMEM;
	krait__perfetto__trace__pack(&part, w->scratch.data);
	errno = 0;
	return fwrite(w->scratch.data, 1, size, w->out) == size ? 0 : stream_cause();
}

static int put_interned(void *ctx, const Krait__Perfetto__InternedData *data)
{
	Packet packet = KRAIT__PERFETTO__TRACE_PACKET__INIT;

	packet.interned_data = (Krait__Perfetto__InternedData *)data;
	return put_packet(ctx, &packet);
}

/* ---- the recording ---------------------------------------------------------------------------- */

static int put_clock(struct writer *w)
{
	const struct recording *r = &w->options->recording;
	Krait__Perfetto__ClockSnapshot snapshot = KRAIT__PERFETTO__CLOCK_SNAPSHOT__INIT;
	Krait__Perfetto__ClockSnapshot__Clock clocks[2], *list[2];
	Packet packet = KRAIT__PERFETTO__TRACE_PACKET__INIT;

	for (int i = 0; i < 2; i++) {
		krait__perfetto__clock_snapshot__clock__init(&clocks[i]);
		list[i] = &clocks[i];
	}
	clocks[0].clock_id = CLOCK_ID_MONOTONIC;
	clocks[0].timestamp = r->began_ns;
	clocks[1].clock_id = CLOCK_ID_REALTIME;
	clocks[1].timestamp = (__u64)r->began_wall_ns;
	snapshot.clocks = list;
	snapshot.n_clocks = r->began_wall_ns > 0 ? 2 : 1;
	snapshot.primary_trace_clock = CLOCK_ID_MONOTONIC;
	packet.clock_snapshot = &snapshot;
	packet.sequence_flags = FLAG_CLEARED;
	return put_packet(w, &packet);
}

static int put_defaults(struct writer *w)
{
	const struct event_spec *event = &profile__counts(w->profile, 0)->event;
	Krait__Perfetto__Timebase timebase = KRAIT__PERFETTO__TIMEBASE__INIT;
	Krait__Perfetto__PerfSampleDefaults sample = KRAIT__PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Krait__Perfetto__TracePacketDefaults defaults =
		KRAIT__PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Packet packet = KRAIT__PERFETTO__TRACE_PACKET__INIT;

	timebase.frequency = event->frequency ? event->frequency : w->options->recording.frequency;
	timebase.counter = COUNTER_SW_CPU_CLOCK;
	timebase.name = (char *)"cpu-clock";
	sample.timebase = &timebase;
	defaults.perf_sample_defaults = &sample;
	defaults.timestamp_clock_id = CLOCK_ID_MONOTONIC;
	packet.trace_packet_defaults = &defaults;
	return put_packet(w, &packet);
}

/* Starts a new track; later events go to it. */
static int put_track(struct writer *w, Krait__Perfetto__TrackDescriptor *track)
{
	Packet packet = KRAIT__PERFETTO__TRACE_PACKET__INIT;

	w->track = track->uuid = ++w->track_cnt;
	packet.track_descriptor = track;
	return put_packet(w, &packet);
}

static int put_event(struct writer *w, __u64 time_ns, Event *event)
{
	Packet packet = KRAIT__PERFETTO__TRACE_PACKET__INIT;

	event->track_uuid = w->track;
	packet.timestamp = time_ns;
	packet.track_event = event;
	return put_packet(w, &packet);
}

/* A separate track says what was recorded and what was lost. */
static int put_recording(struct writer *w)
{
	const struct recording *r = &w->options->recording;
	cleanup_free char *books = emitter_books(w->profile);
	const struct {
		__u64 name;
		const char *text;
	} facts[] = { { PFTRACE_NOTE_COMMAND, r->command_line },
		      { PFTRACE_NOTE_HOST, r->host },
		      { PFTRACE_NOTE_KERNEL, r->kernel },
		      { PFTRACE_NOTE_ACCOUNTS, books } };
	enum { FACTS = sizeof(facts) / sizeof(facts[0]) };
	Krait__Perfetto__TrackDescriptor track = KRAIT__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Note notes[FACTS], *list[FACTS];
	Event event = KRAIT__PERFETTO__TRACK_EVENT__INIT;
	const __u64 first_number = dict__node_cnt(w->profile->dict) + 1ULL;
	int err = books ? 0 : -ENOMEM;

	track.name = (char *)"krait " KRAIT_VERSION;
	for (__u64 i = 0; i < FACTS && !err; i++) {
		krait__perfetto__debug_annotation__init(&notes[i]);
		notes[i].name_iid = facts[i].name;
		notes[i].string_value_iid = first_number + i;
		list[i] = &notes[i];
		err = pftrace_tables_put_note(&w->tables, first_number + i,
					      facts[i].text ? facts[i].text : "");
	}
	event.type = KRAIT__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT;
	event.name_iid = PFTRACE_NAME_RECORDING;
	event.debug_annotations = list;
	event.n_debug_annotations = FACTS;
	if (!err)
		err = put_track(w, &track);
	return err ? err : put_event(w, r->began_ns, &event);
}

/* ---- threads ---------------------------------------------------------------------------------- */

static int end_slice(struct writer *w, __u64 time_ns)
{
	Event event = KRAIT__PERFETTO__TRACK_EVENT__INIT;

	event.type = KRAIT__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
	return put_event(w, time_ns, &event);
}

static int begin_state(struct writer *w, const struct span *span)
{
	uint64_t state = state_of(span->state);
	Event event = KRAIT__PERFETTO__TRACK_EVENT__INIT;

	event.type = KRAIT__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
	event.name_iid = state;
	event.category_iids = &state;
	event.n_category_iids = 1;
	return put_event(w, span->from_ns, &event);
}

/* Writes what ran then, or a moment of another event, with its stack. */
static int put_stack_event(struct writer *w, const struct span *span, __u32 node)
{
	uint64_t category = span->is_moment ? PFTRACE_CATEGORY_EVENT : PFTRACE_CATEGORY_FUNCTION;
	__u64 function = span->is_moment ? 0 : pftrace_function(&w->tables, node);
	Note note = KRAIT__PERFETTO__DEBUG_ANNOTATION__INIT;
	Note *notes[] = { &note };
	Event event = KRAIT__PERFETTO__TRACK_EVENT__INIT;

	event.type = span->is_moment ? KRAIT__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT :
				       KRAIT__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
	event.name_iid = function ? function : (__u64)PFTRACE_NAME_EVENTS + span->event;
	event.category_iids = &category;
	event.n_category_iids = 1;
	if (pftrace_has_code(&w->tables, node)) {
		note.name_iid = PFTRACE_NOTE_STACK;
		note.string_value_iid = event.callstack_iid = node;
		event.debug_annotations = notes;
		event.n_debug_annotations = 1;
	}
	return put_event(w, span->from_ns, &event);
}

static int put_sample(struct writer *w, const struct timeline_thread *t, const struct span *span,
		      __u32 node)
{
	Krait__Perfetto__PerfSample sample = KRAIT__PERFETTO__PERF_SAMPLE__INIT;
	Packet packet = KRAIT__PERFETTO__TRACE_PACKET__INIT;

	if (!span->is_tick || !pftrace_has_code(&w->tables, node))
		return 0;
	sample.pid = (__u32)t->pid;
	sample.tid = (__u32)t->tid;
	sample.cpu_mode = CPU_MODE_USER;
	sample.callstack_iid = node;
	packet.timestamp = span->to_ns;
	packet.perf_sample = &sample;
	return put_packet(w, &packet);
}

static __u32 stack_of(const struct writer *w, const struct span *span)
{
	return parts_node(dict__parts(w->profile->dict), span->node);
}

/* The open slices: none, or a state and a function in it. */
struct open {
	struct span last; /* of the state */
	__u32 node;
	bool any;
};

static int end_state(struct writer *w, struct open *open)
{
	int err = 0;

	if (open->any)
		err = end_slice(w, open->last.to_ns);
	if (open->any && !err)
		err = end_slice(w, open->last.to_ns);
	open->any = false;
	return err;
}

static int put_span(struct writer *w, struct open *open, const struct span *span)
{
	__u32 node = stack_of(w, span);
	int err = 0;

	if (span->is_moment)
		return put_stack_event(w, span, node);
	if (open->any && span_joins(&open->last, span)) {
		if (node != open->node)
			err = end_slice(w, span->from_ns);
		if (!err && node != open->node)
			err = put_stack_event(w, span, node);
	} else {
		err = end_state(w, open);
		if (!err)
			err = begin_state(w, span);
		if (!err)
			err = put_stack_event(w, span, node);
	}
	*open = (struct open){ *span, node, true };
	return err;
}

static int put_thread(struct writer *w, const struct timeline_thread *t, __u64 process)
{
	struct spans spans = spans_of(w->profile, t);
	Krait__Perfetto__ThreadDescriptor thread = KRAIT__PERFETTO__THREAD_DESCRIPTOR__INIT;
	Krait__Perfetto__TrackDescriptor track = KRAIT__PERFETTO__TRACK_DESCRIPTOR__INIT;
	cleanup_free char *name = printable(t->name);
	struct open open = { 0 };
	struct span span;
	int err = name ? 0 : -ENOMEM;

	thread.pid = t->pid;
	thread.tid = t->tid;
	thread.thread_name = name;
	track.thread = &thread;
	track.parent_uuid = process;
	if (!err)
		err = put_track(w, &track);
	while (!err && spans_next(&spans, &span)) {
		err = put_span(w, &open, &span);
		if (!err)
			err = put_sample(w, t, &span, stack_of(w, &span));
	}
	return err ? err : end_state(w, &open);
}

static int put_process(struct writer *w, const struct timeline_thread *t)
{
	Krait__Perfetto__ProcessDescriptor process = KRAIT__PERFETTO__PROCESS_DESCRIPTOR__INIT;
	Krait__Perfetto__TrackDescriptor track = KRAIT__PERFETTO__TRACK_DESCRIPTOR__INIT;
	cleanup_free char *name = printable(
		t->cnt ? timeline_process_name(w->profile->dict, t->samples[0].node) : "");

	if (!name)
		return -ENOMEM;
	process.pid = t->pid;
	process.process_name = name;
	track.process = &process;
	return put_track(w, &track);
}

static int put_threads(struct writer *w, const struct timeline_thread *threads, size_t cnt)
{
	__u64 process = 0;
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		if (!i || threads[i].pid != threads[i - 1].pid) {
			err = put_process(w, &threads[i]);
			process = w->track;
		}
		if (!err)
			err = put_thread(w, &threads[i], process);
	}
	return err;
}

/* ---- the whole -------------------------------------------------------------------------------- */

static void note_used(struct writer *w, const struct timeline_thread *threads, size_t cnt)
{
	const struct parts *parts = dict__parts(w->profile->dict);

	for (size_t i = 0; i < cnt; i++) {
		for (size_t k = 0; k < threads[i].cnt; k++)
			w->tables.used[parts_node(parts, threads[i].samples[k].node)] = 1;
	}
}

static int put_all(struct writer *w, struct timeline *timeline)
{
	int err = pftrace_tables_build(&w->tables);
	struct timeline_thread *threads;
	size_t cnt;

	if (err)
		return err;
	threads = timeline__threads(timeline, w->profile->dict, TIMELINE_ALL_EVENTS, &cnt);
	note_used(w, threads, cnt);
	err = put_clock(w);
	if (!err)
		err = put_defaults(w);
	if (!err)
		err = pftrace_tables_put(&w->tables);
	if (!err)
		err = put_recording(w);
	if (!err)
		err = put_threads(w, threads, cnt);
	return err ? err : stream_finish(w->out);
}

static int pftrace_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	struct writer w = { .out = e->out,
			    .profile = p,
			    .options = e->options,
			    .tables = { .profile = p, .dict = p->dict, .put = put_interned } };
	int err;

	w.tables.put_ctx = &w;
	err = put_all(&w, timeline_of(e));
	pftrace_tables_free(&w.tables);
	bytes_free(&w.scratch);
	return err;
}

const struct emitter_ops pftrace_emitter = {
	.name = "perfetto",
	.suffixes = (const char *const[]){ ".pftrace", ".perfetto-trace", NULL },
	.about = "for ui.perfetto.dev",
	.next = { "drop it on ui.perfetto.dev" },
	.all_events = true,
	.open = timeline_emitter_open,
	.sample = timeline_emitter_sample,
	.finish = pftrace_finish,
	.free = timeline_emitter_free,
};
