/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inject_serve.c - the role "injector": one request to one process. Children touch that process; if
 * they die, the kernel undoes the stop.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "look/exec/inject.h"
#include "look/exec/mailbox.h"
#include "look/exec/place.h"
#include "base/worker/channel.h"
#include "base/worker/rights.h"

/*
 * To stop, read and write a process of any user, to create files as that user, and to kill a child
 * that hangs.
 */
#define KEPT                                                                                       \
	(RIGHTS_BIT(CAP_SYS_PTRACE) | RIGHTS_BIT(CAP_DAC_READ_SEARCH) | RIGHTS_BIT(CAP_SETUID) |   \
	 RIGHTS_BIT(CAP_SETGID) | RIGHTS_BIT(CAP_KILL))

struct server {
	int channel;
	int dir, mem; /* of the process; -1: not yet received */
	struct inject_request request;
	struct mailbox mailbox;
	struct mailbox_thread thread;
	struct place place;
	struct inject_answer answer;
};

static int ask(struct server *s, int script, struct refusal *why)
{
	int err = mailbox_open(&s->mailbox, &s->request, s->dir, s->mem, why);

	if (!err)
		err = mailbox_find(&s->mailbox, &s->thread, why);
	if (!err)
		err = place_make(&s->place, s->dir, &s->request, script, why);
	if (err)
		return err;
	err = mailbox_ask(&s->mailbox, &s->thread, s->place.path, &s->answer.stopped_ns, why);
	if (err) {
		place_remove(&s->place);
		return err;
	}
	s->answer.tid = s->thread.tid;
	memcpy(s->answer.path, s->place.path, sizeof(s->answer.path));
	return 0;
}

static int answer(struct server *s, int *fds, unsigned fd_cnt, struct refusal *why)
{
	switch (s->request.op) {
	case INJECT_ASK:
		if (fd_cnt != 3 || s->dir >= 0)
			return -EINVAL;
		s->dir = fds[0];
		s->mem = fds[1];
		return ask(s, fds[2], why);
	case INJECT_WITHDRAW:
		return s->place.folder < 0 ?
			       -EINVAL :
			       mailbox_withdraw(&s->mailbox, &s->thread, s->place.path,
						&s->answer.stopped_ns, why);
	case INJECT_REMOVE:
		place_remove(&s->place);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Returns false if the channel is closed. */
static bool serve_one(struct server *s)
{
	struct inject_request r;
	struct refusal why = { "" };
	int fds[3] = { -1, -1, -1 };
	unsigned cnt = 3;
	ssize_t n = channel_recv(s->channel, &r, sizeof(r), fds, &cnt, -1);
	bool first;

	if (n != sizeof(r))
		return false;
	first = r.op == INJECT_ASK;
	if (first)
		s->request = r;
	s->request.op = r.op;
	s->answer = (struct inject_answer){ 0 };
	s->answer.result = answer(s, fds, cnt, &why);
	memcpy(s->answer.why, why.why, sizeof(s->answer.why));
	first = first && !s->answer.result;
	return !channel_send(s->channel, &s->answer, sizeof(s->answer),
			     first ? &s->place.report : NULL, first ? 1 : 0);
}

int inject_serve(int channel_fd)
{
	struct server s = { .channel = channel_fd, .dir = -1, .mem = -1, .place = PLACE_NONE };

	if (rights_keep(KEPT))
		return 1;
	while (serve_one(&s))
		;
	return 0;
}
