/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/prober_judge.h"

#include <stdlib.h>

#include "process/proc/proc.h"
#include "process/probe/prober.h"
#include "base/data/cleanup.h"
#include "base/text/log.h"
#include "base/worker/worker.h"

/* The state of our own process, and how often it has gone to sleep. False: it is gone. */
static bool look_at(pid_t pid, char *ret_state, __u64 *ret_wakeups)
{
	cleanup_close int dir = proc_open(pid);
	const char *state, *switches;
	char text[4096];

	if (dir < 0 || proc_read(dir, "status", text, sizeof(text)) <= 0)
		return false;
	state = proc_line_of(text, "State:\t");
	switches = proc_line_of(text, "voluntary_ctxt_switches:");
	*ret_state = state ? *state : 'S';
	*ret_wakeups = switches ? strtoull(switches, NULL, 10) : 0;
	return true;
}

void judge_begin(struct judge *j)
{
	*j = (struct judge){ 0 };
}

void judge_alive(struct judge *j, __u64 patience_ns, __u64 now_ns)
{
	if (!j->begin_ns)
		return;
	j->asleep_ns = now_ns;
	j->next_ns = now_ns + patience_ns;
}

enum judgement judge_look(struct judge *j, pid_t prober, __u64 patience_ns, __u64 now_ns)
{
	__u64 wakeups = 0;
	char state = 'S';

	/* Time counts from the first look, because the caller may have been busy. */
	if (!j->begin_ns) {
		j->begin_ns = j->asleep_ns = now_ns;
		j->next_ns = now_ns + patience_ns;
	}
	if (now_ns < j->next_ns)
		return JUDGE_FINE;
	j->next_ns = now_ns + patience_ns;
	if (now_ns - j->begin_ns >= PROBER_HUNG_AT_ALL_NS)
		return JUDGE_HUNG;
	if (look_at(prober, &state, &wakeups) && (state == 'R' || wakeups != j->wakeups)) {
		j->asleep_ns = now_ns;
		j->wakeups = wakeups;
		return state == 'R' ? JUDGE_FINE : JUDGE_SLOW;
	}
	return now_ns - j->asleep_ns >= PROBER_HUNG_NS ? JUDGE_HUNG : JUDGE_SLOW;
}

static const struct offender *find(const struct offenders *o, uid_t uid)
{
	for (unsigned i = 0; i < o->cnt; i++)
		if (o->list[i].uid == uid)
			return &o->list[i];
	return NULL;
}

void offenders_note(struct offenders *o, uid_t uid)
{
	struct offender *one = (struct offender *)find(o, uid);

	o->hung++;
	if (!one && o->cnt < OFFENDERS_MAX) {
		one = &o->list[o->cnt++];
		one->uid = uid;
	}
	if (one)
		one->hung++;
	if (o->said || worker__dying() < OFFENDERS_MANY)
		return;
	o->said = true;
	log_warn("prober",
		 "krait cannot end %u of its helper processes: what they were "
		 "reading does not answer. krait leaves other processes of the same "
		 "owners alone",
		 worker__dying());
}

bool offenders_has(const struct offenders *o, uid_t uid)
{
	const struct offender *one = uid ? find(o, uid) : NULL;
	unsigned stuck;

	if (!o->hung || !uid)
		return false;
	stuck = worker__dying();
	return stuck >= OFFENDERS_TOO_MANY || o->cnt == OFFENDERS_MAX ||
	       (one && one->hung >= (stuck < OFFENDERS_MANY ? OFFENDERS_PATIENCE : 1));
}

bool offenders_has_file(const struct offenders *o, uid_t uid)
{
	for (unsigned i = 0; i < o->files_cnt; i++)
		if (o->files[i] == uid)
			return true;
	return o->files_cnt == OFFENDERS_MANY;
}

void offenders_note_file(struct offenders *o, uid_t uid)
{
	if (!offenders_has_file(o, uid))
		o->files[o->files_cnt++] = uid;
}
