/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/process_table.h"

#include <errno.h>
#include <stdlib.h>

#include "record/follow/forks.h"
#include "record/follow/learn.h"
#include "process/space/space.h"
#include "kernel/maps/known_files.h"
#include "kernel/maps/plain_files.h"
#include "kernel/sampler/sampler.h"
#include "native/names/native.h"
#include "python/code/symbolizer.h"
#include "process/probe/probed.h"
#include "process/probe/prober.h"
#include "base/text/log.h"
#include "base/share/quota.h"

struct entry *entry_find(struct processes *ps, pid_t pid)
{
	struct entry *e;

	HASH_FIND_INT(ps->by_pid, &pid, e);
	return e;
}

void process_note_unread(struct processes *ps, const struct process *p)
{
	const char *why = p->probed ? probed__refused(p->probed) : NULL;

	if (why)
		refusals_note(&ps->refusals, -ETIMEDOUT, why, p->pid, p->info.comm);
}

/* A process that ended without becoming Python is evidence about its executable. */
static void note_plain(struct processes *ps, struct process *p)
{
	ps->unseen_cnt += p->exited && p->state == PROCESS_PENDING && !p->looked;
	if (p->exec.file.inode && p->state == PROCESS_PENDING)
		plain_files__note(sampler__parts(ps->config.sampler)->plain_files, &p->exec,
				  p->owner, p->plain_looks);
	p->exec.file.inode = 0;
	p->plain_looks = 0;
}

static void drop_program(struct process *p)
{
	if (p->program && !--p->program->users)
		free(p->program);
	p->program = NULL;
}

int process_set_program(struct process *p, struct program *program)
{
	drop_program(p);
	p->program = program ? program : calloc(1, sizeof(*program));
	if (!p->program)
		return -ENOMEM;
	if (!p->program->users++)
		p->program->pid = p->pid;
	return 0;
}

void entry_forget_image(struct processes *ps, struct entry *e)
{
	struct process *p = &e->process;

	threads__remove_all(ps->threads, p);
	note_plain(ps, p);
	forks_forget(ps, e);
	if (p->state == PROCESS_TRACKED) {
		forks_open_of(ps, p);
		if (ps->gone)
			ps->gone(ps->gone_ctx, p);
		ps->tracked_cnt--;
	}
	if (p->asked)
		prober__forget(ps->config.prober, e);
	p->asked = false;
	p->watched = false;
	p->scanned = false;
	p->looked = p->remapped = false;
	process_note_unread(ps, p);
	free(p->own);
	symbolizer__free(p->symbolizer);
	native__free(p->native);
	space__free(p->space);
	tables_forget(ps, p);
	greenlet_watch_forget(ps, p);
	name_watch_forget(ps, p);
	learn_forget(ps->config.sampler, p);
	probed__free(p->probed);
	drop_program(p);
	p->native = NULL;
	p->space = NULL;
	p->symbolizer = NULL;
	p->probed = NULL;
	p->own = NULL;
	p->parent_pid = 0;
	p->state = PROCESS_PENDING;
	p->attempts = 0;
	p->retry_ns = 0;
}

void entry_remove(struct processes *ps, struct entry *e)
{
	entry_forget_image(ps, e);
	/* The kernel deletes what it inserted itself, but we may have inserted an entry after that. */
	if (!e->process.exited || e->process.told)
		sampler__untrack(ps->config.sampler, e->process.pid, e->process.start_ns);
	if (e->look)
		*e->look = (struct look){ true, -ESRCH };
	ps->unheard_cnt -= e->process.unheard;
	HASH_DEL(ps->by_pid, e);
	quota__give(ps->room, e->payer, 1);
	free(e);
}

void entry_unheard(struct processes *ps, struct process *p)
{
	ps->unheard_cnt += !p->unheard;
	p->unheard = true;
}

struct entry *entry_add(struct processes *ps, pid_t pid, __u64 start_ns, unsigned owner)
{
	struct entry *e = quota__take(ps->room, owner, 1) ? NULL : calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->table = ps;
	e->payer = owner;
	e->process.owner = owner;
	e->process.pid = pid;
	e->process.start_ns = start_ns;
	e->process.layout = KRAIT_NO_LAYOUT;
	e->process.known_file = KNOWN_FILE_NONE;
	TAILQ_INIT(&e->process.threads);
	HASH_ADD(hh, ps->by_pid, process.pid, sizeof(pid_t), e);
	return e;
}

/*
 * Reads the mappings at once, because the process may not live long. Pretends that this was long
 * ago: a process that has just started has mapped few libraries yet, so the first address elsewhere
 * makes us read again.
 */
static struct space *new_space(struct processes *ps, struct process *p)
{
	struct space *space = space__new(&(struct space_config){
		.modules = native_files__modules(ps->config.native_files),
		.probed = p->probed,
		.pid = p->pid,
		.runtime_addr = p->info.runtime_addr,
		.runtime_file = p->info.file_id,
		.alone = p->info.alone,
		.owner = p->owner,
		.reported = sampler__reports_mappings(ps->config.sampler),
	});

	if (space)
		space__read(space, 0);
	return space;
}

/* parent: for a fork, the process whose memory it has; or NULL. */
static void open_space(struct processes *ps, struct process *p, const struct process *parent)
{
	/* Without a prober krait itself would open what the process says it has mapped. */
	if (!ps->config.native_files || !p->probed)
		return;
	if (parent && parent->space)
		p->space = space__fork(parent->space, p->probed, p->pid);
	else
		p->space = new_space(ps, p);
	if (p->space)
		p->native = native__new(ps->config.native_files, p->space);
}

int entry_open(struct processes *ps, struct process *p, const struct process *parent)
{
	if (!p->program && process_set_program(p, NULL))
		return -ENOMEM;
	if (!p->own)
		p->own = calloc(1, ps->own_size);
	if (!p->own)
		return -ENOMEM;
	if (!p->probed)
		p->probed = probed__open(ps->config.prober, p->pid, p->info.start_ticks,
					 process_image(p));
	p->symbolizer = symbolizer__new(&p->info.offsets,
					p->probed ? probed__memory(p->probed) : &probed_nothing);
	if (!p->symbolizer)
		return -ENOMEM;
	symbolizer__bound_looks(p->symbolizer, PROCESS_LOOKS_AT_ONCE, PROCESS_LOOKS_PER_SEC,
				&ps->names[p->owner % OWNER_CNT]);
	if (parent)
		symbolizer__inherit(p->symbolizer, parent->symbolizer, NULL);
	open_space(ps, p, parent);
	tables_begin(ps, p, parent);
	greenlet_watch_begin(ps, p, parent);
	name_watch_begin(ps, p, parent);
	p->state = PROCESS_TRACKED;
	p->told = true; /* its mappings will be reported */
	if (p->exec.file.inode)
		plain_files__is_python(sampler__parts(ps->config.sampler)->plain_files, &p->exec,
				       p->owner);
	ps->tracked_cnt++;
	p->image = ++ps->seen_cnt;
	if (p->program->pid == p->pid)
		p->program->image = p->image;
	log_debug("processes", "%d is CPython %u.%u (%s)", p->pid, p->info.offsets.version >> 24,
		  (p->info.offsets.version >> 16) & 255, p->info.file);
	if (ps->opened)
		ps->opened(ps->opened_ctx, p, parent);
	return 0;
}

/* The kernel may know the process already, since it does not apply the filter. */
void entry_leave_alone(struct processes *ps, struct process *p)
{
	ps->unwanted_cnt++;
	p->state = PROCESS_UNWANTED;
	p->retry_ns = 0;
	sampler__untrack(ps->config.sampler, p->pid, p->start_ns);
}
