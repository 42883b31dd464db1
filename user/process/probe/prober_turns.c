/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which request goes next, and to which prober. Processes of an owner who keeps a prober
 * waiting come after all others, one at a time, and leave a prober for those.
 */
#include "process/probe/prober_hands.h"

#include <errno.h>

#include "base/worker/channel.h"
#include "base/worker/worker.h"

/* Is it a process of somebody who keeps a prober waiting? Then others go first. */
static bool is_suspect(const struct prober *p, struct call *c)
{
	for (unsigned i = 0; i < p->hand_max; i++)
		if (hand_keeps_waiting(&p->hands[i]) &&
		    call_owner(p->hands[i].sent.first) == call_owner(c))
			return true;
	return c->slow;
}

bool call_is_refused(const struct prober *p, struct call *c)
{
	if (c->request.op == PROBE_SOURCE && p->offenders.files_cnt &&
	    offenders_has_file(&p->offenders, call_owner(c)))
		return true;
	return p->offenders.hung && offenders_has(&p->offenders, call_owner(c));
}

static bool nothing_is_out(const struct prober *p)
{
	for (unsigned i = 0; i < p->hand_max; i++)
		if (p->hands[i].worker && p->hands[i].sent.cnt)
			return false;
	return true;
}

/* The lane's prober; else one to be started, or an idle one of the other lane. */
static struct hand *hand_of(struct prober *p, enum prober_lane lane)
{
	struct hand *unused = NULL, *idle = NULL;

	for (unsigned i = 0; i < p->hand_max; i++) {
		struct hand *h = &p->hands[i];

		if (h->worker && !h->aside && h->lane == lane)
			return h;
		if (!h->worker)
			unused = h;
		else if (!h->aside && !h->sent.cnt)
			idle = h;
	}
	if (unused && hands_unstarted(p))
		return unused;
	if (idle)
		idle->lane = lane;
	return idle;
}

/* The prober that can take it now; NULL: none. suspect: must leave one for others. */
static struct hand *hand_for(struct prober *p, enum prober_lane lane, const struct call *c,
			     bool suspect)
{
	struct hand *h = hand_of(p, lane);

	if (h && hand_keeps_waiting(h)) {
		if (suspect ? hands_spare(p) < 2 : !hands_make_room(p))
			return NULL;
		hand_set_aside(p, h);
		h = hand_of(p, lane);
	} else if (!h && !suspect && hands_make_room(p)) {
		h = hand_of(p, lane);
	}
	if (!h || h->sent.cnt >= WINDOW)
		return NULL;
	if (h->sent.cnt && (suspect || call_is_alone(c) || call_is_alone(h->sent.first)))
		return NULL;
	if (suspect && hands_spare(p) < 2 && !nothing_is_out(p))
		return NULL;
	return h;
}

/* The next request of that lane, still in its queue; NULL: none. Finishes forgotten ones. */
static struct call *next_call(struct prober *p, enum prober_lane lane, struct calls **ret_queue,
			      bool *ret_suspect)
{
	struct calls *queues[] = { &p->waiting[lane], &p->parked[lane] };

	for (int i = 0; i < 2; i++) {
		struct call *c;

		while ((c = queues[i]->first)) {
			if (!c->done || call_is_refused(p, c)) {
				call_finish(p, calls_take(queues[i]), -EUSERS, NULL, 0, NULL);
				continue;
			}
			*ret_suspect = is_suspect(p, c);
			*ret_queue = queues[i];
			if (i || !*ret_suspect)
				return c;
			calls_add(queues[1], calls_take(queues[0]));
		}
	}
	return NULL;
}

void calls_send_waiting(struct prober *p, enum prober_lane lane)
{
	struct calls *queue;
	struct call *c;
	struct hand *h;
	bool suspect;

	while ((c = next_call(p, lane, &queue, &suspect))) {
		h = hand_for(p, lane, c, suspect);
		/* Making room has changed the queues. */
		if (!h || queue->first != c)
			return;
		if (!h->worker && !hand_start(p, h, lane)) {
			call_finish(p, calls_take(queue), -EAGAIN, NULL, 0, NULL);
			return;
		}
		/* It is busy, or has died: its answers will tell. */
		if (channel_send(worker__fd(h->worker), &c->request, sizeof(c->request), c->fds,
				 c->fd_cnt))
			return;
		if (!h->sent.cnt)
			judge_begin(&h->judge);
		calls_add(&h->sent, calls_take(queue));
	}
}
