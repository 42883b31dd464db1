/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/announce.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "capture/perfdata/write_chain.h"
#include "process/space/modules.h"
#include "process/space/space.h"
#include "base/text/log.h"

/*
 * A process is announced this long before its first sample, because records are ordered only
 * roughly.
 */
#define LEAD_NS 1000000ULL

struct announced_task {
	int tid; /* the key; for a process, its main thread's */
	__u32 image; /* main thread: frame of the process, which changes with its name */
	__u32 image_number; /* for the main thread: its process's image number (profile_sample.image) */
	struct announced_maps maps; /* main thread: those hit by samples */
	__u32 generations; /* main thread: of the DSO, announced so far */
	__u16 *opcode_generations; /* the same for each opcode, if any was met; else NULL */
	__u32 number; /* profile_sample.thread; 0 unknown */
	__u64 time_ns; /* of its announcement */
	char comm[64];
	UT_hash_handle hh;
};

void announcer_free(struct announcer *a)
{
	struct announced_task *t, *next;

	HASH_ITER(hh, a->tasks, t, next) {
		HASH_DEL(a->tasks, t);
		announced_maps_free(&t->maps);
		free(t->opcode_generations);
		free(t);
	}
}

void announcer_warn(const struct announcer *a)
{
	if (a->total.cut)
		log_warn(
			"perf.data",
			"%u process%s had code in more places than the file has room for: %llu were "
			"left out, and what ran there has no native names in other tools",
			a->total.cut_processes, a->total.cut_processes == 1 ? "" : "es",
			a->total.cut);
}

static struct announced_task *find_task(struct announcer *a, int tid)
{
	struct announced_task *t;

	HASH_FIND_INT(a->tasks, &tid, t);
	return t;
}

static struct announced_task *add_task(struct announcer *a, int tid)
{
	struct announced_task *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->tid = tid;
	HASH_ADD_INT(a->tasks, tid, t);
	return t;
}

static int name_task(const struct announcer_output *to, struct announced_task *t,
		     const struct perf_stamp *stamp, const char *comm, bool exec)
{
	snprintf(t->comm, sizeof(t->comm), "%s", comm);
	return perf_writer__comm(to->writer, stamp, comm, exec);
}

/* Dates the name back to when the thread was announced: all its samples have its last name. */
static int rename_task(const struct announcer_output *to, struct announced_task *t,
		       struct perf_stamp stamp, const char *comm)
{
	stamp.time_ns = t->time_ns;
	return name_task(to, t, &stamp, comm, false);
}

/* The process's name is that of its main thread when it started. */
static int announce_process(struct announcer *a, const struct announcer_output *to,
			    const struct dict *dict, struct announced_task *t,
			    const struct perf_stamp *sample, __u32 image)
{
	const char *name = dict__text(dict, dict__frame_at(dict, image)->name);
	struct perf_stamp stamp = *sample;
	bool again = t->image;

	t->generations = 0; /* a new image has new mappings */
	free(t->opcode_generations);
	t->opcode_generations = NULL;
	announced_maps_clear(&t->maps);
	a->epoch++;
	t->image = image;
	t->time_ns = stamp.time_ns;
	stamp.tid = stamp.pid;
	return name_task(to, t, &stamp, name, again);
}

int announcer_dso(struct dso_files *files, __u32 generation, struct perf_object *ret)
{
	*ret = (struct perf_object){
		.build_id = dso__build_id(dso_files__dso(files), generation),
	};
	return dso_files__path(files, generation, &ret->path);
}

/* Announces the DSOs that the process does not have yet. */
static int announce_dsos(const struct announcer_output *to, struct announced_task *t,
			 const struct perf_stamp *stamp)
{
	struct perf_object object;
	int err = 0;

	for (; t->generations < dso__generations(dso_files__dso(to->files)) && !err;
	     t->generations++) {
		const __u64 start = dso_start(t->generations);
		const struct mapping at = { start, start + DSO_STRIDE, 0, { NULL } };

		err = announcer_dso(to->files, t->generations, &object);
		if (!err)
			err = perf_writer__mapping(to->writer, stamp, &at, &object);
	}
	return err;
}

/*
 * Announces the DSOs once more, at the addresses of places with that opcode, up to that of the
 * address.
 */
static int announce_opcode(const struct announcer_output *to, struct announced_task *t,
			   const struct perf_stamp *stamp, __u64 address)
{
	const __u16 opcode = dso_opcode(address);
	const __u32 generation = dso_generation(address);
	struct perf_object object;
	__u16 *done;
	int err = 0;

	if (!t->opcode_generations)
		t->opcode_generations = calloc(OPCODE_LIMIT, sizeof(*t->opcode_generations));
	if (!t->opcode_generations)
		return -ENOMEM;
	done = &t->opcode_generations[opcode];
	for (; *done <= generation && !err; ++*done) {
		const __u64 start = dso_start(*done) + opcode * DSO_OPCODE_STRIDE;
		const struct mapping at = { start, start + DSO_STRIDE, 0, { NULL } };

		err = announcer_dso(to->files, *done, &object);
		if (!err)
			err = perf_writer__mapping(to->writer, stamp, &at, &object);
	}
	return err;
}

static int announce_mapping(const struct announcer_output *to, const struct perf_stamp *stamp,
			    const struct mapping *m)
{
	unsigned size;
	const __u8 *id = module__build_id(m->module, &size);
	const char *path = module__name(m->module);
	const struct perf_object object = {
		.build_id = size == DSO_BUILD_ID_SIZE ? id : NULL,
		.path = *path ? path : "//anon",
	};

	return perf_writer__mapping(to->writer, stamp, m, &object);
}

/* Has this stack of that process, with its current mappings, been handled? */
static bool is_seen_to(struct announcer *a, int pid, __u32 node, __u64 digest)
{
	struct announced_stack *e =
		&a->stacks[(node ^ (__u32)pid * 0x9e3779b1U) % ANNOUNCED_STACKS];
	const struct announced_stack key = { pid, node, digest + a->epoch };
	bool seen = !memcmp(e, &key, sizeof(key));

	*e = key;
	return seen;
}

/*
 * Announces the mappings of the stack's native code, and of its places with an opcode, for readers
 * who look up names.
 */
static int announce_mappings(struct announcer *a, const struct announcer_output *to,
			     struct announced_task *t, const struct perf_stamp *stamp,
			     const struct space *space, const struct chain *chain)
{
	int err = 0;

	if (is_seen_to(a, t->tid, chain->node, space ? space__digest(space) : 0))
		return 0;
	for (unsigned i = 0; i < chain->cnt && !err; i++) {
		const __u64 address = chain->list[i];
		const struct mapping *m = space ? space__find(space, address) : NULL;
		int added = m ? announced_maps_add(&t->maps, &a->total, m) : 0;

		err = added > 0 ? announce_mapping(to, stamp, m) : added;
		if (!err && !m && dso_has(address) && dso_opcode(address))
			err = announce_opcode(to, t, stamp, address);
	}
	return err;
}

/* The tasks of a sample: by number if it was there lately, else by ids. Either may be missing. */
static struct announced_thread find_tasks(struct announcer *a, const struct profile_sample *s)
{
	const struct announced_thread *recent = &a->recent[s->thread % ANNOUNCED_THREADS];

	if (s->thread && recent->number == s->thread)
		return *recent;
	return (struct announced_thread){ s->thread, find_task(a, s->pid), find_task(a, s->tid) };
}

static int announce_thread(struct announcer *a, const struct announcer_output *to,
			   struct announced_thread *x, const struct profile_sample *s,
			   const struct perf_stamp *stamp)
{
	bool another;
	int err = 0;

	if (s->tid == s->pid)
		x->thread = x->process;
	another = x->thread && s->thread && x->thread->number && x->thread->number != s->thread &&
		  s->tid != s->pid;
	if (another)
		err = perf_writer__thread(to->writer, stamp, true);
	if (x->thread && !another) {
		x->thread->number = s->thread;
		return 0;
	}
	if (!another)
		x->thread = add_task(a, s->tid);
	if (!x->thread)
		return -ENOMEM;
	x->thread->number = s->thread;
	x->thread->time_ns = stamp->time_ns;
	x->thread->comm[0] = '\0';
	return err ? err : perf_writer__thread(to->writer, stamp, false);
}

int announcer_rename(struct announcer *a, const struct announcer_output *to,
		     const struct dict *dict)
{
	const __u32 cnt = dict__renamed_cnt(dict);
	int err = 0;

	for (__u32 i = 1; cnt != a->renamed_cnt && i <= dict__frame_cnt(dict) && !err; i++) {
		const struct profile_frame *f = dict__frame_at(dict, i);
		struct announced_task *t = f->kind == FRAME_THREAD ? find_task(a, f->tid) : NULL;
		const struct perf_stamp stamp = { .pid = f->pid, .tid = f->tid };
		const char *name = dict__text(dict, f->name);

		if (t && f->place && t->number == f->place && strcmp(t->comm, name))
			err = rename_task(to, t, stamp, name);
	}
	a->renamed_cnt = cnt;
	return err;
}

int announcer_sample(struct announcer *a, const struct announcer_output *to,
		     const struct dict *dict, const struct profile_sample *s,
		     const struct perf_stamp *sample, const struct chain *chain)
{
	struct announced_thread x = find_tasks(a, s);
	struct perf_stamp stamp = *sample;
	bool is_new = !x.process;
	int err = 0;

	stamp.time_ns -= stamp.time_ns > LEAD_NS ? LEAD_NS : 0;
	if (is_new)
		x.process = add_task(a, s->pid);
	if (!x.process)
		return -ENOMEM;
	if (is_new || x.process->image != chain->image || x.process->image_number != s->image)
		err = announce_process(a, to, dict, x.process, &stamp, chain->image);
	x.process->image_number = s->image;
	if (!err)
		err = announce_dsos(to, x.process, &stamp);
	if (!err)
		err = announce_mappings(a, to, x.process, &stamp, s->space, chain);
	if (!err)
		err = announce_thread(a, to, &x, s, &stamp);
	if (!err && strcmp(x.thread->comm, s->comm))
		err = rename_task(to, x.thread, stamp, s->comm);
	if (!err)
		a->recent[s->thread % ANNOUNCED_THREADS] = x;
	return err;
}
