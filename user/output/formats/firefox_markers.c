/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/formats/firefox_markers.h"

#include "profile/parts.h"

/* The profiler's MARKER_PHASE for an interval: start and end are known. */
#define PHASE_INTERVAL 1
#define TYPE "wait"

/* Returns what the thread waited for, if the leaf says so. */
static const char *what(const struct firefox_tables *t, const struct timeline_sample *s)
{
	__u32 node = parts_node(dict__parts(t->dict), s->node);
	const struct profile_frame *f =
		node ? dict__frame_at(t->dict, dict__node_at(t->dict, node)->frame) : NULL;

	return f && f->kind == FRAME_MARK ? dict__text(t->dict, f->name) :
					    state_name(state_of(s->state));
}

static void put_data(struct json *j, const struct firefox_tables *t,
		     const struct timeline_sample *s, __u64 zero_ns)
{
	json_open_object(j);
	json_put_string(j, "type", TYPE);
	json_put_string(j, "what", what(t, s));
	json_put_object(j, "cause");
	json_key(j, "time");
	json_ms(j, s->time_ns - zero_ns);
	json_key(j, "stack");
	firefox_put_index(j, t->stack_of[parts_node(dict__parts(t->dict), s->node)]);
	json_close_object(j);
	json_close_object(j);
	json_newline(j);
}

enum column { DATA, NAME, START, END, PHASE, CATEGORY };

static void put_cell(struct json *j, enum column column, const struct firefox_tables *t,
		     const struct timeline_sample *s, __u64 zero_ns)
{
	switch (column) {
	case DATA:
		put_data(j, t, s, zero_ns);
		break;
	case NAME:
		json_number(j, firefox_state_string(t, state_of(s->state)));
		break;
	case START:
		json_ms(j, s->from_ns - zero_ns);
		break;
	case END:
		json_ms(j, s->time_ns - zero_ns);
		break;
	case PHASE:
		json_number(j, PHASE_INTERVAL);
		break;
	case CATEGORY:
		json_number(j, state_of(s->state) < STATE_GIL ?
				       FIREFOX_OTHER :
				       firefox_wait_category(state_of(s->state)));
		break;
	}
}

void firefox_put_markers(struct json *j, const struct firefox_tables *t,
			 const struct timeline_thread *thread, __u64 zero_ns)
{
	static const char *const columns[] = {
		[DATA] = "data",   [NAME] = "name",   [START] = "startTime",
		[END] = "endTime", [PHASE] = "phase", [CATEGORY] = "category"
	};
	__s64 cnt = 0;

	json_put_object(j, "markers");
	for (unsigned c = DATA; c <= CATEGORY; c++) {
		cnt = 0;
		json_put_array(j, columns[c]);
		for (size_t i = 0; i < thread->cnt; i++) {
			if (!thread->samples[i].from_ns)
				continue;
			put_cell(j, (enum column)c, t, &thread->samples[i], zero_ns);
			cnt++;
		}
		json_close_array(j);
	}
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

void firefox_put_marker_schema(struct json *j)
{
	static const char *const places[] = { "marker-chart", "marker-table", "timeline-overview" };

	json_put_array(j, "markerSchema");
	json_open_object(j);
	json_put_string(j, "name", TYPE);
	json_put_string(j, "tooltipLabel", "{marker.name}: {marker.data.what}");
	json_put_string(j, "tableLabel", "{marker.data.what}");
	json_put_array(j, "display");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		json_string(j, places[i]);
	json_close_array(j);
	json_put_array(j, "fields");
	json_open_object(j);
	json_put_string(j, "key", "what");
	json_put_string(j, "label", "waited for");
	json_put_string(j, "format", "string");
	json_close_object(j);
	json_close_array(j);
	json_close_object(j);
	json_close_array(j);
}
