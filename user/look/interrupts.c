/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/interrupts.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/profile.h"
#include "session/session.h"

/* A thread that has a CPU is interrupted within a millisecond. */
#define FREQUENCY 1999

struct interrupts {
	struct look_process *const *processes;
	size_t cnt;
	struct session *session;
};

static struct look_thread *find_thread(const struct interrupts *i, pid_t pid, pid_t tid)
{
	for (size_t k = 0; k < i->cnt; k++)
		if (i->processes[k]->process.pid == pid)
			return look__thread(i->processes[k], tid);
	return NULL;
}

static bool is_done(const struct interrupts *i)
{
	for (size_t k = 0; k < i->cnt; k++)
		if (look__missing(i->processes[k]))
			return false;
	return true;
}

/* From the leaf to the thread. */
static int take_frames(struct look_thread *t, const struct dict *dict, __u32 node)
{
	for (; node; node = dict__node_at(dict, node)->parent) {
		const struct profile_frame *f =
			dict__frame_at(dict, dict__node_at(dict, node)->frame);

		if (f->kind == FRAME_THREAD || f->kind == FRAME_PROCESS)
			break;
		if (look_thread_add(t, dict__text(dict, f->name), dict__text(dict, f->file),
				    f->line, f->kind == FRAME_MARK || f->unknown))
			return -ENOMEM;
	}
	return 0;
}

static void on_sample(void *ctx, const struct profile *profile, const struct profile_sample *sample)
{
	struct interrupts *i = ctx;
	struct look_thread *t = find_thread(i, sample->pid, sample->tid);

	if (!t || t->how != LOOK_NONE)
		return;
	look_thread_clear(t);
	if (!take_frames(t, profile->dict, sample->node))
		t->how = LOOK_INTERRUPTED;
	if (is_done(i))
		session__end(i->session);
}

static pid_t *list_pids(const struct interrupts *i, size_t *ret_cnt)
{
	pid_t *pids = calloc(i->cnt, sizeof(*pids));

	*ret_cnt = 0;
	for (size_t k = 0; pids && k < i->cnt; k++)
		if (look__missing(i->processes[k]))
			pids[(*ret_cnt)++] = i->processes[k]->process.pid;
	return pids;
}

int look_interrupts(struct look_process *const *processes, size_t cnt, __u64 duration_ns,
		    struct error *err)
{
	struct event_spec event;
	struct interrupts i = { .processes = processes, .cnt = cnt };
	struct session_config config = {
		.sampler = { .events = &event, .event_cnt = 1 },
		.collector = { .events = &event,
			       .event_cnt = 1,
			       .on_sample = on_sample,
			       .on_sample_ctx = &i },
		.duration_ns = duration_ns,
		.anchors = ANCHOR_MODE_OFF,
	};
	pid_t *pids = list_pids(&i, &config.pid_cnt);
	int result;

	event_default(&event);
	event.frequency = FREQUENCY;
	if (!pids)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	config.pids = pids;
	i.session = session__new(&config, err);
	result = i.session ? session__open(i.session, err) : -1;
	if (!result) {
		while (session__step(i.session, duration_ns))
			;
		session__close(i.session);
	}
	session__free(i.session);
	free(pids);
	return result;
}
