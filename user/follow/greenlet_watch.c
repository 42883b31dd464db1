/* SPDX-License-Identifier: BSD-2-Clause */
#include "follow/greenlet_watch.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "follow/process_table.h"
#include "proc/modules.h"
#include "proc/space.h"
#include "sampler/sampler.h"
#include "target/prober.h"
#include "util/clock.h"
#include "util/log.h"

/* Between two looks; it doubles up to the longest. */
#define PAUSE_FIRST_NS 20000000ULL
#define PAUSE_LONGEST_NS NS_PER_SEC
/* The same where nobody reports mappings. */
#define BLIND_LONGEST_NS (16 * NS_PER_SEC)

static bool is_reported(const struct processes *ps)
{
	return sampler__reports_mappings(ps->config.sampler);
}

static void plan(struct processes *ps, struct greenlet_watch *w, __u64 now_ns)
{
	__u64 longest = is_reported(ps) ? PAUSE_LONGEST_NS : BLIND_LONGEST_NS;

	w->next_ns = now_ns + w->pause_ns;
	w->pause_ns = 2 * w->pause_ns < longest ? 2 * w->pause_ns : longest;
}

/* The kernel side follows the greenlets of that process from now on. */
static void publish(struct processes *ps, struct process *p)
{
	struct greenlet_watch *w = &p->greenlets;
	int err;

	w->next_ns = 0;
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
	struct entry *e = (struct entry *)((char *)p - offsetof(struct entry, process));

	w->asked = false;
	w->answered = true;
	w->met = result == -EAGAIN;
	processes_due(e->table, w->next_ns);
	log_debug("greenlets", "%d: %s", p->pid, result ? strerror(-result) : "found");
	if (!result && data && len == sizeof(w->place)) {
		memcpy(&w->place, data, sizeof(w->place));
		w->known = true;
		publish(e->table, p);
	} else if (result == -EAGAIN) {
		w->outdated =
			true; /* no thread has asked for its greenlet yet: nothing will say when one does */
	} else if (result != -ENOENT) {
		w->next_ns = 0; /* it cannot be told: that does not change */
	}
}

void greenlet_watch_begin(struct processes *ps, struct process *p, const struct process *parent)
{
	struct greenlet_watch *w = &p->greenlets;

	*w = (struct greenlet_watch){ .pause_ns = PAUSE_FIRST_NS };
	if (!ps->config.greenlets)
		return;
	if (parent && parent->greenlets.known) {
		w->place = parent->greenlets.place;
		w->known = true;
		publish(ps, p);
		return;
	}
	w->outdated = true;
	w->next_ns = clock_monotonic_ns();
	processes_due(ps, w->next_ns);
}

void greenlet_watch_mapped(struct processes *ps, struct process *p)
{
	p->greenlets.outdated = true;
	processes_due(ps, p->greenlets.next_ns);
}

static void look(struct processes *ps, struct process *p, __u64 now_ns)
{
	const struct probe_request r = {
		.op = PROBE_GREENLET_PLACE,
		.pid = p->pid,
		.start_ticks = p->info.start_ticks,
		.tasks = { .offsets = p->info.offsets, .runtime_addr = p->info.runtime_addr },
	};
	struct look_budget *budget = &ps->table_looks[p->owner % OWNER_CNT];
	struct greenlet_watch *w = &p->greenlets;

	plan(ps, w, now_ns);
	if (!look_budget_has(budget))
		return;
	look_budget_take(budget);
	w->outdated = !is_reported(ps);
	w->asked = !prober__ask(ps->config.prober, PROBER_LATER, &r, NULL, 0, on_found, w);
}

__u64 greenlet_watch_step(struct processes *ps, struct process *p, __u64 now_ns)
{
	struct greenlet_watch *w = &p->greenlets;

	if (!w->next_ns || w->asked || !w->outdated)
		return 0;
	if (now_ns < w->next_ns)
		return w->next_ns;
	look(ps, p, now_ns);
	return w->asked ? 0 : w->next_ns;
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
	if (!w->asked && !(w->next_ns && w->outdated))
		return false;
	/* Who has not mapped the module has no greenlets, whatever was not looked at yet. */
	return w->met || (p->space ? has_greenlet(p) : !w->answered);
}

void greenlet_watch_forget(struct processes *ps, struct process *p)
{
	if (p->greenlets.asked)
		prober__forget(ps->config.prober, &p->greenlets);
	if (ps->config.greenlets)
		sampler__set_greenlets(ps->config.sampler, p->pid, NULL);
	p->greenlets = (struct greenlet_watch){ .next_ns = 0 };
}
