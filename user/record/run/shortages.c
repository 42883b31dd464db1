/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/shortages.h"

#include <stdio.h>

#include "record/follow/processes.h"
#include "kernel/maps/anchors.h"
#include "kernel/sampler/sampler.h"
#include "record/samples/collector.h"
#include "record/samples/late_names.h"
#include "process/space/code_list.h"
#include "process/space/modules.h"
#include "process/space/space_room.h"
#include "profile/sources.h"
#include "native/names/native_files.h"
#include "native/names/symbol_reader.h"
#include "base/text/log.h"
#include "base/share/quota.h"

/* The resource that the owner was refused most often. */
static enum profile_resource scarcest(const struct dict *dict, unsigned owner)
{
	static const enum profile_resource asked[] = { PROFILE_NODES, PROFILE_FRAMES,
						       PROFILE_STRING_BYTES };
	enum profile_resource most = PROFILE_NODES;

	for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		if (quota__refused(dict__quota(dict, asked[i]), owner) >
		    quota__refused(dict__quota(dict, most), owner))
			most = asked[i];
	}
	return most;
}

static void warn_of_profile(struct collector *c, unsigned owner, const char *name)
{
	const struct dict *dict = collector__parts(c)->profile->dict;
	__u64 samples = collector__parts(c)->no_room[owner];
	enum profile_resource resource = scarcest(dict, owner);
	const struct quota *q = dict__quota(dict, resource);

	if (samples)
		log_warn(NULL,
			 "%s holds %llu of %llu %s: %llu of its samples found no room and are "
			 "lost (record fewer processes, -p or --user, or for a shorter time, -d)",
			 name, quota__held(q, owner), quota__total(q),
			 profile_resource_name(resource), samples);
}

static void warn_of_sources(struct collector *c)
{
	const struct sources *s = dict__sources_of(collector__parts(c)->profile->dict);

	if (s->left_out)
		log_warn(
			NULL,
			"the source of %llu functions in containers, chroots and cells does not travel with "
			"the recording: it has room for %u MiB",
			s->left_out, SOURCES_MAX >> 20);
	if (s->unread)
		log_warn(
			NULL,
			"the source of %llu functions in containers, chroots and cells does not travel with "
			"the recording: their files were not read (you or the process may not read them, they are "
			"too large, too many, or slow, or the process ended first)",
			s->unread);
}

static __u64 interrupts(struct collector *c)
{
	const struct profile *p = collector__parts(c)->profile;
	__u64 sum = 0;

	for (unsigned i = 0; i < p->event_cnt; i++)
		sum += profile__counts(p, i)->accounts.interrupts;
	return sum;
}

/* A loss of less than one record in this many is not worth a line; --stats shows it. */
#define WORTH_A_LINE 1000

static void warn_of_ring(const struct owner_use *use, const char *name, __u64 all)
{
	if (use->samples_dropped * WORTH_A_LINE > all)
		log_warn(NULL,
			 "%s: %llu samples found the ring buffer full (a larger --ring-size, or a "
			 "lower --freq)",
			 name, use->samples_dropped);
	if (use->events_dropped)
		log_warn(NULL,
			 "%s: %llu process events found no room: processes may have been seen "
			 "late",
			 name, use->events_dropped);
}

static void warn_of_processes(const struct owner_use *use, const char *name, bool room_refused,
			      __u64 slots_refused)
{
	if (use->procs_refused)
		log_warn(NULL,
			 "%s: %llu processes began when there were too many to follow (%d at most, "
			 "fewer of one user); they are not in the profile, and what they started "
			 "may be missing",
			 name, use->procs_refused, KRAIT_MAX_PROCS);
	else if (room_refused)
		log_warn(NULL,
			 "%s has more processes than krait looks at (its limit for one user "
			 "is below that for all); some are not in the profile",
			 name);
	if (slots_refused)
		log_debug("shortages", "%s: threads found no slot %llu times", name, slots_refused);
}

static void warn_of_mappings(struct modules *modules, unsigned owner, const char *name)
{
	const struct space_room *room = modules ? modules__room(modules) : NULL;
	const struct quota *q = room ? room->quota : NULL;

	if (room && quota__refused(room->files, owner))
		q = room->files;
	if (q && quota__refused(q, owner))
		log_warn(NULL,
			 "%s: its processes have more mappings than there is room for (%llu of "
			 "%llu %s): some of their native code has no names",
			 name, quota__held(q, owner), quota__total(q),
			 q == room->files ? "units of file names" : "ranges");
}

/* This loses nothing but costs more. anchors: NULL if not wanted. */
static void warn_of_anchors(const struct anchors *anchors, unsigned owner, const char *name)
{
	if (anchors && anchors__refused(anchors, owner))
		log_warn(
			NULL,
			"%s has more threads with deep stacks than there are anchors (%u, fewer of "
			"one user): some are walked in full each time",
			name, anchors__cnt(anchors));
}

static void warn_of_cut(struct modules *modules)
{
	const struct space_room *room = modules ? modules__room(modules) : NULL;
	char more[32] = "";

	if (!room || !room->cut_cnt)
		return;
	if (room->cut_cnt > 1)
		snprintf(more, sizeof(more), " (and %u more)", room->cut_cnt - 1);
	log_warn(
		NULL,
		"process %d%s has more mappings of code than krait keeps of one process (%d): C "
		"functions in the others are [unknown], and their C callers may be missing; Python "
		"functions are complete (--no-native leaves C out)",
		room->cut_pid, more, CODE_LIST_MAX);
}

void shortages_warn(struct collector *c, const struct processes *processes, struct modules *modules,
		    const struct sampler *sampler)
{
	const struct owner_books *books = sampler__parts(sampler)->books;
	__u64 all = interrupts(c);
	char name[64];

	warn_of_cut(modules);
	warn_of_sources(c);
	for (unsigned owner = 0; owner < OWNER_CNT; owner++) {
		owner_name(&books->table, owner, name, sizeof(name));
		warn_of_profile(c, owner, name);
		warn_of_mappings(modules, owner, name);
		warn_of_anchors(sampler__parts(sampler)->anchors, owner, name);
		warn_of_ring(&books->use[owner], name, all);
		warn_of_processes(&books->use[owner], name,
				  processes__room_refused(processes, owner),
				  sampler__slots_refused(sampler, owner));
	}
}

void shortages_warn_of_late_names(const struct collector *collector,
				  const struct native_files *files)
{
	const struct late_names *names =
		native_part__late_names(collector__parts(collector)->nodes.natives);
	__u64 late = symbol_reader__late(native_files__reader(files)),
	      unnamed = late_names__unnamed(names);
	bool asked_again = names;

	if (unnamed)
		log_warn(NULL,
			 "%llu places in native code carry the names of their files: krait "
			 "had no time, or no room, for the names of the functions",
			 unnamed);
	if (late)
		log_warn(NULL,
			 "the process that reads symbols did not get a CPU in time %llu "
			 "times: %ssome native stacks end early",
			 late, asked_again ? "" : "some native code has no names, ");
}
