/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/states.h"
#include "base/data/vec.h"

static int add_event(struct profile *p)
{
	struct event_spec spec;

	if (vec_reserve(p->events, p->event_cap, p->event_cnt + 1))
		return -ENOMEM;
	event_default(&spec);
	p->events[p->event_cnt] = counts__new(p->dict, &spec);
	if (!p->events[p->event_cnt])
		return -ENOMEM;
	p->event_cnt++;
	return 0;
}

/* dict: NULL if it could not be allocated. */
static struct profile *new_over(struct dict *dict, bool borrowed)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (p && dict) {
		p->dict = dict;
		p->borrowed = borrowed;
		if (!add_event(p))
			return p;
	} else if (!borrowed) {
		dict__free(dict);
	}
	profile__free(p);
	errno = ENOMEM;
	return NULL;
}

struct profile *profile__new(void)
{
	return profile__new_limited(profile_limits_default());
}

struct profile *profile__new_limited(const struct profile_limits *limits)
{
	return new_over(dict__new(limits), false);
}

struct profile *profile__new_beside(const struct profile *other)
{
	return new_over(other->dict, true);
}

void profile__free(struct profile *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < p->event_cnt; i++)
		counts__free(p->events[i]);
	free(p->events);
	if (!p->borrowed)
		dict__free(p->dict);
	free(p);
}

int profile__set_event(struct profile *p, unsigned index, const struct event_spec *spec)
{
	int err = index < PROFILE_MAX_EVENTS ? 0 : -E2BIG;

	while (!err && index >= p->event_cnt)
		err = add_event(p);
	if (!err)
		p->events[index]->event = *spec;
	return err;
}

bool profile__in_wall(const struct profile *p, unsigned event)
{
	if (event >= p->event_cnt || !event_is_time(&p->events[event]->event))
		return false;
	for (unsigned i = 0; i < event && event_is_clock(&p->events[event]->event); i++) {
		if (event_is_clock(&p->events[i]->event))
			return false;
	}
	return true;
}

bool profile__is_wall(const struct profile *p)
{
	for (unsigned i = 0; i < p->event_cnt; i++) {
		const struct event_spec *event = &profile__counts(p, i)->event;

		if (event->joined && event_is_off_cpu(event))
			return true;
	}
	return false;
}

int profile__new_wall(struct profile **ret, const struct profile *p)
{
	struct profile *wall = profile__new_beside(p);
	int err = wall ? -ENODATA : -ENOMEM;

	if (wall)
		event_wall(&wall->events[0]->event);
	if (wall)
		wall->sum_of = p;
	for (unsigned i = 0; wall && i < p->event_cnt && (!err || err == -ENODATA); i++) {
		if (profile__in_wall(p, i))
			err = counts__merge(wall->events[0], p->events[i]);
	}
	if (err)
		profile__free(wall);
	else
		*ret = wall;
	return err;
}

struct counts *profile__counts(const struct profile *p, unsigned event)
{
	return p->events[event < p->event_cnt ? event : 0];
}

void profile__count(struct profile *p, unsigned event, __u32 node, __u64 weight)
{
	counts__add(profile__counts(p, event), node, 1, weight);
}

void profile__count_state(struct profile *p, unsigned event, __u32 node, __u64 weight, __u32 state)
{
	enum state word = state_of(state);
	__u32 label = word == STATE_UNKNOWN ? 0 : dict__string(p->dict, state_name(word));

	counts__add_labelled(profile__counts(p, event), node, label, 1, weight);
}
