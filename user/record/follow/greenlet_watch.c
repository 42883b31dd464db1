/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/greenlet_watch.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "record/follow/process_table.h"
#include "process/space/modules.h"
#include "process/space/space.h"
#include "kernel/sampler/sampler.h"
#include "process/probe/prober.h"
#include "base/system/clock.h"
#include "base/text/log.h"

#define PAUSE_FIRST_NS 20000000ULL
#define HURRY_LONGEST_NS NS_PER_SEC
/* Inconclusive looks, until pauses are seconds long: by then the module has long been loaded. */
#define UNTOLD_MAX 9

static struct entry *entry_of(struct process *p)
{
	return (struct entry *)((char *)p - offsetof(struct entry, process));
}

/* Lets the kernel side follow the greenlets of that process from now on. */
static void publish(struct processes *ps, struct process *p)
{
	struct greenlet_watch *w = &p->greenlets;
	int err;

	look_plan_end(&w->look);
	w->place.start_ns = p->start_ns;
	err = sampler__set_greenlets(ps->config.sampler, p->pid, &w->place);
	if (!err)
		w->known_ns = clock_monotonic_ns();
	else
		log_debug("greenlets", "those of %d are not followed: %s", p->pid, strerror(-err));
}

static void on_found(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct greenlet_watch *w = ctx;
	struct process *p = (struct process *)((char *)w - offsetof(struct process, greenlets));
	struct entry *e = entry_of(p);

	w->answered = true;
	w->met = result == -EAGAIN || result == -EPROTONOSUPPORT;
	w->refusals = result && result != -EAGAIN && result != -ENOENT ? w->refusals + 1 : 0;
	look_plan_answered(&w->look, e->table);
	log_debug("greenlets", "%d: %s", p->pid, result ? strerror(-result) : "found");
	if (!result && data && len == sizeof(w->place)) {
		memcpy(&w->place, data, sizeof(w->place));
		w->known = true;
		publish(e->table, p);
	} else if (result == -EAGAIN) {
		/* No thread has used greenlet yet, and nothing will tell us when one does. */
		w->look.outdated = true;
		w->plain_cnt = w->asked_cnt;
	} else if (w->refusals == UNTOLD_MAX) {
		w->refused = result == -EPROTONOSUPPORT;
		look_plan_end(&w->look);
	} else if (result != -ENOENT) {
		w->look.outdated = true;
	}
}

void greenlet_watch_begin(struct processes *ps, struct process *p, const struct process *parent)
{
	struct greenlet_watch *w = &p->greenlets;

	*w = (struct greenlet_watch){ .look.pause_ns = PAUSE_FIRST_NS };
	if (!ps->config.greenlets)
		return;
	if (parent && parent->greenlets.known) {
		w->place = parent->greenlets.place;
		w->known = true;
		publish(ps, p);
		return;
	}
	if (parent && look_plan_is_settled(&parent->greenlets.look, ps)) {
		w->answered = true; /* greenlet is not loaded */
		look_plan_begin_settled(&w->look);
		return;
	}
	look_plan_begin(&w->look, ps);
}

void greenlet_watch_look(struct processes *ps, struct process *p)
{
	const struct probe_request r = {
		.op = PROBE_GREENLET_PLACE,
		.pid = p->pid,
		.start_ticks = p->info.start_ticks,
		.image = process_image(p),
		.tasks = { .offsets = p->info.offsets, .runtime_addr = p->info.runtime_addr },
	};
	struct greenlet_watch *w = &p->greenlets;

	ps->asked_cnt++;
	w->asked_cnt = w->root_cnt;
	w->look.asked = !prober__ask(ps->config.prober, PROBER_LATER, &r, NULL, 0, on_found, w);
}

static bool has_greenlet(const struct process *p)
{
	const struct mapping *list;
	unsigned cnt = 0;

	list = p->space ? space__mappings(p->space, &cnt) : NULL;
	for (unsigned i = 0; i < cnt; i++)
		if (list[i].module && module__origin(list[i].module) == ORIGIN_SWITCHER)
			return true;
	return false;
}

bool greenlet_watch_is_late(const struct process *p, __u64 time_ns)
{
	const struct greenlet_watch *w = &p->greenlets;

	if (w->known)
		return time_ns < w->known_ns;
	if (!look_plan_is_open(&w->look))
		return false;
	/* A process that has not mapped the module has no greenlets, whatever else is unknown. */
	return w->met || (p->space ? has_greenlet(p) : !w->answered);
}

static bool is_among(const __u64 *roots, __u8 cnt, __u64 root)
{
	for (__u8 i = 0; i < cnt; i++)
		if (roots[i] == root)
			return true;
	return false;
}

bool greenlet_watch_hurry(struct process *p, __u64 root_code_addr)
{
	struct greenlet_watch *w = &p->greenlets;
	__u64 now_ns = clock_monotonic_ns(), pause_ns = 2 * w->hurry_pause_ns;

	if (is_among(w->roots, w->plain_cnt, root_code_addr))
		return false;
	if (w->root_cnt < GREENLET_ROOTS && !is_among(w->roots, w->root_cnt, root_code_addr))
		w->roots[w->root_cnt++] = root_code_addr;
	if (now_ns < w->hurry_ns || !look_plan_hurry(&w->look, entry_of(p)->table, now_ns))
		return true;
	w->hurry_pause_ns = !pause_ns			? PAUSE_FIRST_NS :
			    pause_ns < HURRY_LONGEST_NS ? pause_ns :
							  HURRY_LONGEST_NS;
	w->hurry_ns = now_ns + w->hurry_pause_ns;
	return true;
}

void greenlet_watch_forget(struct processes *ps, struct process *p)
{
	if (p->greenlets.look.asked)
		prober__forget(ps->config.prober, &p->greenlets);
	/* What the kernel copied at a fork, the kernel removes itself. */
	if (p->greenlets.known_ns)
		sampler__set_greenlets(ps->config.sampler, p->pid, NULL);
	p->greenlets = (struct greenlet_watch){ .known = false };
}
