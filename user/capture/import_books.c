/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import_books.h"

#include <stdio.h>

#include "capture/dso_reader.h"

/* The accounts of one event, as the emitter of perf.data has put them into the DSO. */
static bool read_notes(const struct dso_reader *dso, unsigned event, const struct profile_event *e,
		       struct accounts *a)
{
	char prefix[32] = "", name[128];
	__u64 value;

	if (event)
		snprintf(prefix, sizeof(prefix), "event%u.", event);
	snprintf(name, sizeof(name), "%sinterrupts", prefix);
	/* A krait that was killed has not closed its books. */
	if (!dso_reader__note(dso, name, &value) || value < e->samples)
		return false;
	a->interrupts = value;
	snprintf(name, sizeof(name), "%sunknown_frames", prefix);
	dso_reader__note(dso, name, &a->unknown_frames);
	snprintf(name, sizeof(name), "%sevents_dropped", prefix);
	dso_reader__note(dso, name, &a->events_dropped);
	for (int i = 0; i < REASON_CNT; i++) {
		snprintf(name, sizeof(name), "%s%s.%s", prefix,
			 outcome_name(reason_outcome((enum reason)i)), reason_name((enum reason)i));
		dso_reader__note(dso, name, &a->reasons[i]);
	}
	return true;
}

void import_books(struct profile *p, const struct dso_reader *dso, __u64 lost, double *ret_seconds)
{
	unsigned first = profile__selected(p);
	__u64 value;

	if (dso && dso_reader__note(dso, "milliseconds", &value) && value)
		*ret_seconds = (double)value / 1000;
	for (unsigned i = 0; i < profile__event_cnt(p); i++) {
		const struct profile_event *e = profile__event_at(p, i);
		struct accounts *a = profile__event_accounts(p, i);

		if (dso && read_notes(dso, i, e, a))
			continue;
		/* Whose the lost ones are is not said. */
		a->reasons[REASON_PYTHON] = e->samples;
		a->reasons[REASON_RING_FULL] = i == first ? lost : 0;
		a->interrupts = e->samples + a->reasons[REASON_RING_FULL];
	}
}
