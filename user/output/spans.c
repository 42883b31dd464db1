/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/spans.h"

#include "profile/states.h"
#include "base/system/grids.h"

/* Tells whether a sample stands for time on or off the CPU. */
static bool is_time(const struct spans *s, const struct timeline_sample *sample)
{
	return event_is_time(&profile__counts(s->profile, sample->event)->event) &&
	       profile__in_wall(s->profile, sample->event);
}

static __u64 began_ns(const struct timeline_sample *sample)
{
	if (sample->from_ns)
		return sample->from_ns;
	return sample->weight < sample->time_ns ? sample->time_ns - sample->weight : 0;
}

/* Returns the state of a clock tick: "on CPU" unless the tick says otherwise. */
static __u16 state_word(const struct timeline_sample *sample)
{
	return state_of(sample->state) == STATE_UNKNOWN ? (__u16)(sample->state | STATE_CPU) :
							  sample->state;
}

bool spans_next(struct spans *s, struct span *ret)
{
	const struct timeline_sample *sample = &s->thread->samples[s->next];

	if (s->next == s->thread->cnt)
		return false;
	s->next++;
	*ret = (struct span){ .from_ns = sample->time_ns,
			      .to_ns = sample->time_ns,
			      .node = sample->node,
			      .event = sample->event,
			      .state = sample->state };
	ret->is_tick = is_time(s, sample) && !sample->from_ns &&
		       event_is_clock(&profile__counts(s->profile, sample->event)->event);
	/* Off-CPU time whose position is unknown is a moment, too. */
	ret->is_moment = !ret->is_tick && !(is_time(s, sample) && sample->from_ns);
	if (ret->is_moment)
		return true;
	ret->state = state_word(sample);
	ret->gap_ns = ret->is_tick ? grids_gap_ns(sample->weight) : 0;
	ret->from_ns = began_ns(sample);
	if (ret->from_ns < s->ended_ns)
		ret->from_ns = s->ended_ns < ret->to_ns ? s->ended_ns : ret->to_ns;
	s->ended_ns = ret->to_ns;
	return true;
}

/* Ticks of a thread that runs on may be that far apart. */
bool span_joins(const struct span *a, const struct span *b)
{
	if (a->state & STATE_STILL_WAITS && !a->is_moment && !a->is_tick && !b->is_moment &&
	    !b->is_tick && state_of(a->state) == state_of(b->state))
		return true;
	return a->is_tick && b->is_tick && state_of(a->state) == state_of(b->state) &&
	       b->to_ns - a->to_ns <= b->gap_ns;
}
