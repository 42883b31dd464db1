/* SPDX-License-Identifier: BSD-2-Clause */
#include "import/import_accounts.h"

#include <stdio.h>

#include "dso/dso_reader.h"
#include "profile/identities.h"

struct book {
	const struct dso_reader *dso;
	char prefix[32]; /* empty for the first event */
};

static bool note(const struct book *b, const char *name, __u64 *ret)
{
	char full[128];

	snprintf(full, sizeof(full), "%s%s", b->prefix, name);
	return dso_reader__note(b->dso, full, ret);
}

static void read_reasons(const struct book *b, struct accounts *a)
{
	char name[64];

	for_each_reason(r) {
		snprintf(name, sizeof(name), "%s.%s", outcome_name(reason_outcome(r)),
			 reason_name(r));
		note(b, name, &a->reasons[r]);
	}
}

/* Reads the accounts of one event, which the perf.data emitter has put into the DSO. */
static bool read_notes(const struct dso_reader *dso, unsigned event, struct counts *c)
{
	struct book b = { .dso = dso };
	struct accounts *a = &c->accounts;
	__u64 value;

	if (event)
		snprintf(b.prefix, sizeof(b.prefix), "event%u.", event);
	/* A krait that was killed has not written its accounts. */
	if (!note(&b, "interrupts", &value) || value < c->samples)
		return false;
	a->interrupts = value;
	note(&b, "unknown_frames", &a->unknown_frames);
	note(&b, "events_dropped", &a->events_dropped);
	note(&b, "ticks_asked", &a->ticks_asked);
	note(&b, "ticks_missed", &a->ticks_missed);
	read_reasons(&b, a);
	return true;
}

void import_accounts(struct profile *p, const struct dso_reader *dso, __u64 lost, unsigned first,
		     double *ret_seconds)
{
	__u64 value;

	if (dso && dso_reader__note(dso, "milliseconds", &value) && value)
		*ret_seconds = (double)value / 1000;
	if (dso)
		identities_read(dict__identities(p->dict), dso_reader__notes(dso));
	for (unsigned i = 0; i < p->event_cnt; i++) {
		struct counts *c = profile__counts(p, i);
		struct accounts *a = &c->accounts;

		if (dso && read_notes(dso, i, c))
			continue;
		/* Nothing says which of them were lost. */
		a->reasons[REASON_PYTHON] = c->samples;
		a->reasons[REASON_RING_FULL] = i == first ? lost : 0;
		a->interrupts = c->samples + a->reasons[REASON_RING_FULL];
	}
}
