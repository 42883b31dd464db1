/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/dump/interrupts.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/marks.h"
#include "profile/profile.h"
#include "record/run/session.h"
#include "record/samples/stack_nodes.h"
#include "base/system/clock.h"

/* A thread on a CPU is interrupted within a millisecond. */
#define FREQUENCY 1999
/* Room for some stacks of each thread. */
#define RING_BYTES (2UL << 20)

/*
 * Between two looks at waiting threads; and how long to wait for rows of native code, which are
 * read meanwhile.
 */
#define LOOK_NS (3 * 1000000ULL)
#define ROWS_NS (3 * NS_PER_SEC)
/* If all threads were waiting: how long until some are believed to be running. */
#define REST_NS (20 * 1000000ULL)

struct interrupts {
	struct look_process *const *processes;
	size_t cnt;
	struct prober *prober;
	struct session *session;
	bool natives; /* all threads, with their native frames */
	bool rest; /* only those of them that wait */
	bool looking; /* samples are of waiting threads */
	__u64 rows, rows_ns; /* session__rows_read() so far, and when it last changed */
};

static struct look_process *find_process(const struct interrupts *i, pid_t pid)
{
	for (size_t k = 0; k < i->cnt; k++)
		if (i->processes[k]->process.pid == pid)
			return i->processes[k];
	return NULL;
}

static bool is_done(const struct interrupts *i)
{
	for (size_t k = 0; k < i->cnt; k++)
		if (!i->processes[k]->result &&
		    (i->natives ? look__unjoined(i->processes[k]) : look__missing(i->processes[k])))
			return false;
	return true;
}

static void join(const struct interrupts *i, struct look_process *p, struct look_thread *t)
{
	struct look_thread new = { 0 };

	if (!look_thread_take(&new, &p->strings, session__list(i->session)))
		look_thread_join(t, &new, i->looking);
	look_thread_clear(&new);
}

/* Are native frames missing? */
static bool is_cut(const struct dict *dict, __u32 node)
{
	for (; node; node = dict__node_at(dict, node)->parent) {
		const struct profile_frame *f =
			dict__frame_at(dict, dict__node_at(dict, node)->frame);

		if (f->kind == FRAME_MARK && mark_is_native(dict__text(dict, f->name)))
			return true;
	}
	return false;
}

static void note_rows(struct interrupts *i)
{
	__u64 rows = session__rows_read(i->session);

	if (rows == i->rows)
		return;
	i->rows = rows;
	i->rows_ns = clock_monotonic_ns();
}

/*
 * Until its rows are there a stack may lack its root; a later sample has it. For a running thread
 * all samples taken before count as incomplete, or only stacks that need few rows would be chosen.
 */
static bool has_rows(struct interrupts *i, const struct dict *dict,
		     const struct profile_sample *sample)
{
	note_rows(i);
	return !session__lacks_rows(i->session) &&
	       (sample->time_ns > i->rows_ns || (i->looking && !is_cut(dict, sample->node)));
}

/* Time that no tick found is a sample, too, which has a node but no list: the last list is another thread's. */
static bool is_of_list(const struct stack_nodes *list, __u32 node)
{
	const __u32 cnt = list->items.cnt;

	return list->named && cnt && list->named->list[cnt - 1].node == node;
}

static void on_sample(void *ctx, const struct profile *profile, const struct profile_sample *sample)
{
	struct interrupts *i = ctx;
	struct look_process *p = find_process(i, sample->pid);
	struct look_thread *t = p ? look__thread(p, sample->tid) : NULL;

	if (!t || (i->natives ? t->joined : t->how != LOOK_NONE) || t->how == LOOK_ENDED ||
	    !is_of_list(session__list(i->session), sample->node))
		return;
	if (i->natives) {
		if (!has_rows(i, profile->dict, sample))
			return;
		join(i, p, t);
	} else if (!look_thread_take(t, &p->strings, session__list(i->session))) {
		t->how = LOOK_INTERRUPTED;
	}
	if (is_done(i))
		session__end(i->session);
}

static pid_t *list_pids(const struct interrupts *i, size_t *ret_cnt)
{
	pid_t *pids = calloc(i->cnt, sizeof(*pids));

	*ret_cnt = 0;
	for (size_t k = 0; pids && k < i->cnt; k++)
		if (!i->processes[k]->result && (i->natives || look__missing(i->processes[k])))
			pids[(*ret_cnt)++] = i->processes[k]->process.pid;
	return pids;
}

static __u32 count_unjoined(const struct interrupts *i)
{
	__u32 cnt = 0;

	for (size_t k = 0; k < i->cnt; k++)
		cnt += i->processes[k]->result ? 0 : look__unjoined(i->processes[k]);
	return cnt;
}

/* Rows first; then waiting threads again and again, and running ones in between. */
static void run_natives(struct interrupts *i, __u64 duration_ns)
{
	__u64 until_ns = clock_monotonic_ns() + ROWS_NS;

	while (session__lacks_rows(i->session) && clock_monotonic_ns() < until_ns)
		if (!session__step(i->session, LOOK_NS))
			return;
	until_ns = clock_monotonic_ns() + duration_ns;
	do {
		const __u32 lacking = count_unjoined(i);
		const __u64 rows = i->rows;

		i->looking = true;
		if (session__look(i->session) < 0)
			return;
		i->looking = false;
		/*
		 * Go on as long as each round finds some: on a busy machine a look at many threads
		 * takes long.
		 */
		if (count_unjoined(i) < lacking || i->rows != rows)
			until_ns = clock_monotonic_ns() + duration_ns;
	} while (!is_done(i) && clock_monotonic_ns() < until_ns &&
		 session__step(i->session, LOOK_NS));
}

static int run(struct interrupts *i, __u64 duration_ns, struct error *err)
{
	struct event_spec event;
	struct session_config config = {
		.sampler = { .events = &event,
			     .event_cnt = 1,
			     .native = i->natives,
			     .looks = i->natives,
			     .only_looks = i->rest,
			     .ring_bytes = RING_BYTES },
		.collector = { .events = &event,
			       .event_cnt = 1,
			       .on_sample = on_sample,
			       .on_sample_ctx = i,
			       .lists = true,
			       .natives = { .native = i->natives } },
		/* Rows may take long. */
		.duration_ns = i->natives ? 0 : duration_ns,
		.anchors = ANCHOR_MODE_OFF,
		.known = true,
		.late_rows = true,
		.prober = i->prober,
	};
	pid_t *pids = list_pids(i, &config.pid_cnt);
	int result;

	event_default(&event);
	event.frequency = FREQUENCY;
	if (!pids)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	config.pids = pids;
	i->session = session__new(&config, err);
	result = i->session ? session__open(i->session, err) : -1;
	if (!result) {
		if (i->natives)
			run_natives(i, duration_ns);
		else
			while (session__step(i->session, duration_ns))
				;
		session__close(i->session);
	}
	session__free(i->session);
	free(pids);
	return result;
}

int look_interrupts(struct look_process *const *processes, size_t cnt, struct prober *prober,
		    __u64 duration_ns, struct error *err)
{
	struct interrupts i = { .processes = processes, .cnt = cnt, .prober = prober };

	return run(&i, duration_ns, err);
}

/* Were all threads waiting when they were listed? */
static bool all_wait(const struct interrupts *i)
{
	for (size_t k = 0; k < i->cnt; k++)
		if (!i->processes[k]->result && look__missing(i->processes[k]))
			return false;
	return true;
}

int look_natives(struct look_process *const *processes, size_t cnt, struct prober *prober,
		 __u64 duration_ns, struct error *err)
{
	struct interrupts i = {
		.processes = processes, .cnt = cnt, .prober = prober, .natives = true
	};

	int result;

	/* If all wait, the sampling programs are not needed: loading them takes most of the time. */
	i.rest = all_wait(&i);
	if (i.rest) {
		result = run(&i, REST_NS, err);
		if (result || is_done(&i))
			return result;
	}
	i.rest = false;
	return run(&i, duration_ns, err);
}
