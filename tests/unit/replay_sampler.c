/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_sampler.c - a kernel side that accepts everything and replays the log (replay.h). Replaces
 * kernel/sampler/sampler.c, so it has every function of sampler.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "replay.h"
#include "replay_outside.h"
#include "kernel/maps/anchors.h"
#include "kernel/maps/known_files.h"
#include "kernel/maps/layouts.h"
#include "kernel/maps/plain_files.h"
#include "kernel/sampler/sampler.h"
#include "bpf/share.h"
#include "native/rows/tables.h"

#define TRACKED_MAX 1024

static unsigned track_max = TRACKED_MAX;

struct sampler {
	struct sampler_parts parts;
	struct owner_books books;
	struct uprobes uprobes;
	struct {
		pid_t pid;
		__u64 start_ns;
	} tracked[TRACKED_MAX];
	unsigned tracked_cnt;
	__u32 slot_cnt;
	struct unwind_memory memory;
};

static struct unwind_slab *new_slab(void *ctx, __u32 number)
{
	static struct unwind_slab *slab; /* no unwind rows are logged: nobody reads it */

	if (!slab)
		slab = calloc(1, sizeof(*slab));
	return slab;
}

static void make_tables(struct sampler *s)
{
	s->memory = (struct unwind_memory){
		.files = calloc(UNWIND_FILES_MAX, sizeof(*s->memory.files)),
		.spaces = calloc(UNWIND_SPACES_MAX, sizeof(*s->memory.spaces)),
		.control = calloc(1, sizeof(*s->memory.control)),
		.new_slab = new_slab,
	};
	s->parts.tables = unwind_tables__new(&s->memory, 1);
}

static struct anchors *make_anchors(void)
{
	int fd = replay_stand_in(NULL, 0, NULL);
	struct anchors *a;

	if (ftruncate(fd, KRAIT_MAX_ANCHORS * sizeof(struct anchor)))
		abort();
	a = anchors__new(fd, KRAIT_MAX_ANCHORS);
	close(fd);
	return a;
}

struct sampler *sampler__new(const struct sampler_config *config,
			     const struct sampler_handler *handler, struct error *err)
{
	struct sampler *s = calloc(1, sizeof(*s));

	s->uprobes.entries_fd = -1;
	s->parts.layouts = layouts__new(NULL);
	s->parts.known_files = known_files__new(-1, &s->uprobes, s->parts.layouts);
	s->parts.plain_files = plain_files__new(-1);
	s->parts.books = &s->books;
	s->parts.anchors = make_anchors();
	make_tables(s);
	return s;
}

const struct sampler_parts *sampler__parts(const struct sampler *s)
{
	return &s->parts;
}

void sampler__free(struct sampler *s)
{
	track_max = TRACKED_MAX;
	if (!s)
		return;
	unwind_tables__free(s->parts.tables);
	free(s->memory.files);
	free(s->memory.spaces);
	free(s->memory.control);
	anchors__free(s->parts.anchors);
	known_files__free(s->parts.known_files);
	plain_files__free(s->parts.plain_files);
	layouts__free(s->parts.layouts);
	free(s);
}

unsigned sampler_tracked_cnt(const struct sampler *s)
{
	return s->tracked_cnt;
}

void replay_track_max(unsigned cnt)
{
	track_max = cnt;
}

int sampler__track(struct sampler *s, pid_t pid, const struct proc_info *info)
{
	if (!(info->flags & PROC_PYTHON))
		return -EINVAL;
	sampler__untrack(s, pid, info->start_ns);
	if (s->tracked_cnt == track_max)
		return -EDQUOT;
	s->tracked[s->tracked_cnt].pid = pid;
	s->tracked[s->tracked_cnt++].start_ns = info->start_ns;
	return 0;
}

/* Only tracked ones take room here. */
int sampler__watch(struct sampler *s, pid_t pid, __u64 start_ns, unsigned owner)
{
	for (unsigned i = 0; i < s->tracked_cnt; i++)
		if (s->tracked[i].pid == pid)
			return 0;
	return s->tracked_cnt == track_max ? -EDQUOT : 0;
}

void sampler__untrack(struct sampler *s, pid_t pid, __u64 start_ns)
{
	for (unsigned i = 0; i < s->tracked_cnt; i++) {
		if (s->tracked[i].pid == pid && same_start(s->tracked[i].start_ns, start_ns))
			s->tracked[i--] = s->tracked[--s->tracked_cnt];
	}
}

__u64 sampler__dropped(const struct sampler *s, pid_t pid, __u64 start_ns)
{
	struct input_fact fact;

	return replay_log_fact(replay_outside(), QUESTION_DROPPED, pid, &fact) && !fact.result ?
		       fact.value :
		       0;
}

int sampler__walk_ns(const struct sampler *s, pid_t pid, __u64 start_ns, __u64 *ret, __u64 *ret_cnt)
{
	return -ESRCH;
}

void sampler__code(struct sampler *s, void (*fn)(void *ctx, __u64 start, __u32 size), void *ctx)
{
}

bool sampler__reports_mappings(const struct sampler *s)
{
	return replay_outside()->session.mappings_reported;
}

int sampler__add_thread(struct sampler *s, const struct record_sample *record, __u32 *slot)
{
	if (*slot == KRAIT_NO_SLOT)
		*slot = s->slot_cnt++;
	return 0;
}

/* ---- swallowed -------------------------------------------------------------------------------- */

int sampler__tie_anchor(struct sampler *s, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor)
{
	return 0;
}

void sampler__remove_thread(struct sampler *s, __u32 slot, pid_t tid, __u64 start_ns)
{
}

__u64 sampler__slots_refused(const struct sampler *s, unsigned owner)
{
	return 0;
}

int sampler__set_space(struct sampler *s, pid_t pid, __u64 start_ns, __u32 space)
{
	return 0;
}

int sampler__set_tasks(struct sampler *s, pid_t pid, const struct task_layout *layout)
{
	return 0;
}

int sampler__set_greenlets(struct sampler *s, pid_t pid, const struct greenlet_place *place)
{
	return 0;
}

/* ---- never called: there is nothing to start, to read or to count -------------------------------- */

int sampler__start(struct sampler *s, struct error *err)
{
	abort();
}

void sampler__end(struct sampler *s)
{
	abort();
}

void sampler__stop(struct sampler *s)
{
}

void sampler__read_clocks(const struct sampler *s)
{
	abort();
}

void sampler__move(struct sampler *s)
{
	abort();
}

bool sampler__has_moved(const struct sampler *s)
{
	abort();
}

void sampler__follow_cpus(struct sampler *s)
{
	abort();
}

void sampler__end_at(struct sampler *s, __u64 end_ns)
{
	abort();
}

void sampler__hush(struct sampler *s, bool on)
{
}

bool sampler__drain(struct sampler *s, __u64 until_ns)
{
	abort();
}

static const struct thread_look *const *looks_left;

void replay_looks(const struct thread_look *const looks[])
{
	looks_left = looks;
}

long sampler__look_at_threads(const struct sampler *s, struct thread_look **ret)
{
	const struct thread_look *look;

	if (!looks_left)
		abort();
	look = *looks_left++;
	*ret = calloc(1, sizeof(**ret));
	if (!look)
		return 0;
	**ret = *look;
	return 1;
}

int sampler__ticks(const struct sampler *s, unsigned event, struct sampler_ticks *ret)
{
	abort();
}

int sampler__counter(const struct sampler *s, __u32 counter, __u64 *ret)
{
	abort();
}

int sampler__event_counts(const struct sampler *s, unsigned event, struct event_counts *ret)
{
	abort();
}

int sampler_load_ahead(const struct sampler_config *config, struct error *err)
{
	abort();
}
