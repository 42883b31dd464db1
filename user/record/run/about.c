/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/about.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/follow/processes.h"
#include "process/space/modules.h"
#include "record/samples/own.h"
#include "record/run/parts.h"
#include "process/proc/context.h"

int session__about(struct session *s, pid_t pid, __u32 image, struct session_about *ret)
{
	struct process *p = processes__find(s->processes, pid);
	const struct context *context;

	if (!p || p->image != image)
		return -ESRCH;
	*ret = (struct session_about){ .uid = (uid_t)-1, .version = p->info.version };
	memcpy(ret->comm, p->info.comm, sizeof(ret->comm));
	if (p->program && p->program->pid != p->pid) {
		ret->program_pid = p->program->pid;
		ret->program_image = p->program->image;
	}
	context = process_context(p);
	if (!context)
		return 0;
	ret->uid = p->own->ids.groups ? p->own->ids.uid : context->uid;
	/* It names nobody. */
	if (strcmp(context->script, CONTEXT_COMMAND))
		snprintf(ret->script, sizeof(ret->script), "%s", context->script);
	snprintf(ret->container, sizeof(ret->container), "%s", context->container.id);
	return 0;
}

int session__ask_claims(struct session *s, pid_t pid, probe_done_fn done, void *ctx)
{
	const struct process *p = processes__find(s->processes, pid);
	struct probe_request r = { .op = PROBE_CLAIMS, .pid = pid };

	if (!p)
		return -ESRCH;
	r.start_ticks = p->info.start_ticks;
	r.image = process_image(p);
	return prober__ask(s->prober, PROBER_LATER, &r, NULL, 0, done, ctx);
}

int session__ask_program_claims(struct session *s, const struct session_about *about,
				probe_done_fn done, void *ctx)
{
	const struct process *p = processes__find(s->processes, about->program_pid);
	struct probe_request r = { .op = PROBE_CLAIMS, .pid = about->program_pid };

	if (!about->program_pid || !p || p->image != about->program_image)
		return -ESRCH;
	r.start_ticks = p->info.start_ticks;
	r.image = process_image(p);
	return prober__ask(s->prober, PROBER_LATER, &r, NULL, 0, done, ctx);
}

const __u8 *session__build_id(const struct session *s, const char *file, unsigned *ret_size)
{
	*ret_size = 0;
	return s->modules ? modules__build_id(s->modules, file, ret_size) : NULL;
}

void session__forget_claims(struct session *s, const void *ctx)
{
	prober__forget(s->prober, ctx);
}
