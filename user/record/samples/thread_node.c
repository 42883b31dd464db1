/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/thread_node.h"

#include <string.h>

#include "record/follow/processes.h"
#include "record/follow/threads.h"
#include "profile/frames.h"
#include "profile/thread_filter.h"
#include "kernel/sampler/record.h"
#include "record/samples/label.h"
#include "record/samples/own.h"
#include "record/samples/whose.h"
#include "process/proc/context.h"
#include "base/text/printable.h"

static __u32 process_node(struct dict *dict, unsigned label_parts, struct process *p,
			  const char *comm)
{
	struct context context = { .uid = (uid_t)-1, .container = { .runtime = "" } };
	const struct context *seen;
	char label[512];

	if (!label_parts) {
		printable_into(label, sizeof(label), comm);
		return dict__named_child(dict, 0, FRAME_PROCESS, label, p->pid, 0);
	}
	seen = process_context(p);
	if (seen)
		context = *seen;
	/* What it is when it is asked may be another user's program by then. */
	if (p->own->ids.groups)
		context.uid = p->own->ids.uid;
	context.known |= p->own->ids.groups != 0;
	p->own->node_uid = context.uid;
	process_label(label, sizeof(label), label_parts, comm, p->pid, &context);
	return dict__named_child(dict, 0, FRAME_PROCESS, label, p->pid, 0);
}

/* Does the process's node name another user than the one whose rights it has now? */
static bool says_another(const struct process *p, unsigned label_parts)
{
	return label_parts & LABEL_USER && p->own->ids.groups &&
	       p->own->ids.uid != p->own->node_uid;
}

__u32 thread_node(struct dict *dict, unsigned label_parts, struct thread *t,
		  const struct record_sample *record)
{
	struct process *p = t->process;
	__u32 node = dict__tagged(dict, t->own->node), parent = dict__tagged(dict, p->own->node);

	if (node && !memcmp(t->own->comm, record->comm, sizeof(t->own->comm)) &&
	    whose_same(&t->own->ids, &record->ids))
		return node;
	t->own->ids = record->ids;
	if (record->ids.groups)
		p->own->ids = record->ids;
	whose_note(dict__identities(dict), p, &record->ids);
	memcpy(t->own->comm, record->comm, sizeof(t->own->comm));
	thread_name(t, t->own->name);
	if (!parent || says_another(p, label_parts)) {
		parent = process_node(dict, label_parts, p,
				      p->info.comm[0] ? p->info.comm : t->own->comm);
		p->own->node = dict__tag(dict, parent);
	}
	node = dict__thread_child(dict, parent, t->number, t->own->name, p->pid, t->tid);
	t->own->node = dict__tag(dict, node);
	return node;
}

void thread_name(const struct thread *t, char ret[THREAD_NAME_MAX])
{
	const char *comm = t->process->info.comm;

	printable_into(ret, THREAD_NAME_MAX,
		       thread_name_shown(t->given, t->own->comm, *comm ? comm : t->own->comm));
}

void thread_node_rename(struct dict *dict, struct thread *t)
{
	__u32 node = dict__tagged(dict, t->own->node);

	thread_name(t, t->own->name);
	if (node)
		(void)!dict__name_frame(dict, dict__node_at(dict, node)->frame, t->own->name,
					false);
}
