/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/import_accounts.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "capture/dso/dso_reader.h"
#include "capture/import/objects.h"
#include "profile/identities.h"
#include "profile/sources.h"
#include "base/system/clock.h"
#include "base/files/sudo_user.h"

/* Ten years. */
#define MILLISECONDS_MAX 315360000000ULL

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
	note(&b, "not_sampled", &a->not_sampled);
	if (!note(&b, "interrupts", &value) || value < c->samples - a->not_sampled)
		return false;
	a->interrupts = value;
	note(&b, "unknown_frames", &a->unknown_frames);
	note(&b, "events_dropped", &a->events_dropped);
	note(&b, "ticks_asked", &a->ticks_asked);
	note(&b, "ticks_missed", &a->ticks_missed);
	read_reasons(&b, a);
	return true;
}

/* A file that only the caller or root can have written. */
static bool is_own(const struct stat *st)
{
	return (!st->st_uid || st->st_uid == sudo_user_uid()) && !(st->st_mode & 022);
}

bool import_is_believed(struct identities *set, int fd)
{
	struct stat st;
	bool known = !fstat(fd, &st) && S_ISREG(st.st_mode);

	if (known && is_own(&st))
		return true;
	identities_foreign(set, known ? st.st_uid : 0, !known || st.st_mode & 022);
	return false;
}

int import_identities(struct dict *dict, const struct objects *objects, int capture_fd)
{
	struct identities *set = dict__identities(dict);
	const struct dso_reader *dso;
	bool believed = import_is_believed(set, capture_fd);

	set->claimed = true;
	for (__u32 i = 0; (dso = objects__dso_at(objects, i)); i++)
		believed &= import_is_believed(set, dso_reader__fd(dso));
	if (believed && objects__dso(objects))
		identities_read(set, dso_reader__notes(objects__dso(objects)));
	/* Whoever has the capture has these, whatever it says of itself. */
	return objects__dso(objects) ?
		       sources_read(dict__sources(dict), dso_reader__notes(objects__dso(objects))) :
		       0;
}

int import_length(const struct dso_reader *dso, __u64 *ret_began_ns, __u64 *ret_length_ns)
{
	__u64 ms;

	*ret_began_ns = 0;
	if (!dso || !dso_reader__note(dso, "milliseconds", &ms) || !ms || ms > MILLISECONDS_MAX)
		return -ENODATA;
	*ret_length_ns = ms * (NS_PER_SEC / 1000);
	dso_reader__note(dso, "began_ns", ret_began_ns);
	return 0;
}

void import_accounts(struct profile *p, const struct dso_reader *dso, __u64 lost, unsigned first)
{
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
