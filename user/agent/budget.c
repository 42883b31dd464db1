/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/budget.h"

#include <string.h>

#include "bpf/abi.h"
#include "base/system/clock.h"

/* A level is not judged by less time than this, except at a window's end. */
#define JUDGE_NS (double)NS_PER_SEC
/* The cost of the start, and of naming everything that runs, is not held against the first levels. */
#define WARM_NS (double)(5 * NS_PER_SEC)
/* A better level must fit into this part of the budget. */
#define ROOM 0.8
/* Windows with room before a better level is tried: initially, and at most. */
#define PATIENCE 3U
#define PATIENCE_MAX 48U
/*
 * If a lower rate leaves more than this part of the cost, it saves nothing. For that many windows
 * it is not tried again,
 */
#define SAVES_NOTHING 0.9
#define STALL 6U
#define STALL_MAX 48U
/* unless the cost has grown by this factor by then. */
#define STALL_ENDS 1.5
/* Looking at new processes sooner again takes this much room: nobody knows what it will cost. */
#define SPARING_ROOM 0.5
/*
 * Most that may be overdrawn, in windows: the cost of one thing that was begun in time, such as the
 * rows of a large library. More than that is not paid back, or a burst would blind the agent for
 * minutes.
 */
#define DEBT_WINDOWS 4
/* This part of a window's budget must be free again before postponed work is done. */
#define FED 0.1
/* After starving has begun, helpers may still be doing earlier work for this long. */
#define SETTLE_NS (double)(NS_PER_SEC / 4)
/* If krait starves for this part of a window, new processes should cost less. */
#define STARVED 0.25
/* If it starves for this part and still costs too much, samples should cost less. */
#define STARVED_OUT 0.5
/* Once somebody pays, this much time passes before others are judged: its records are still coming. */
#define CHARGED_NS (NS_PER_SEC / 2)
/* Budget that may be saved up, in windows. */
#define CREDIT 0.5
/* Each step takes stacks of waits that are so many times as long, up to about this length. */
#define WAIT_STEP 4
#define WAIT_NS_MAX (256 * NS_PER_MS)
/* No clock is slower. */
#define RATE_MIN 1ULL

static void add_level(struct budget *b, struct detail d)
{
	if (b->level_cnt < BUDGET_LEVELS_MAX)
		b->levels[b->level_cnt++] = d;
}

void budget_init(struct budget *b, const struct budget_config *config)
{
	static const __u32 depths[] = { 256, 64, 16 };
	struct detail d = config->wanted;

	memset(b, 0, sizeof(*b));
	b->config = *config;
	b->patience = PATIENCE;
	b->stall_next = STALL;
	add_level(b, d);
	/* Shorter waits still count, by chance: all that is lost is how exact their sums are. */
	while (d.wait_ns && d.wait_ns * WAIT_STEP <= WAIT_NS_MAX) {
		d.wait_ns *= WAIT_STEP;
		add_level(b, d);
	}
	/* Steps of a third; the last ones are of 1 Hz. */
	while (d.frequency > RATE_MIN && b->level_cnt < BUDGET_LEVELS_MAX - 5) {
		d.frequency = d.frequency * 2 / 3 > RATE_MIN ? d.frequency * 2 / 3 : RATE_MIN;
		add_level(b, d);
	}
	for (unsigned i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		if (depths[i] >= d.frames_max)
			continue;
		d.frames_max = depths[i];
		add_level(b, d);
	}
	if (d.natives) {
		d.natives = false;
		add_level(b, d);
	}
}

void budget_renew(struct budget *b, const struct budget_config *config)
{
	const struct budget was = *b;

	budget_init(b, config);
	b->lowered = was.lowered;
	b->raised = was.raised;
	b->starved_ns = was.starved_ns;
}

static bool is_over_cpu(const struct budget *b)
{
	return b->config.cpu > 0 && b->share > b->config.cpu;
}

const struct detail *budget_detail(const struct budget *b)
{
	return &b->levels[b->level];
}

/* The best of the steps about waits that would fit, if cost is inverse to their length. */
static unsigned lower_waits(const struct budget *b, unsigned level)
{
	double fits = (double)b->levels[b->level].wait_ns;

	if (is_over_cpu(b))
		fits *= b->share / b->config.cpu;
	while (level + 1 < b->level_cnt && (double)b->levels[level].wait_ns < fits &&
	       b->levels[level + 1].wait_ns > b->levels[level].wait_ns)
		level++;
	return level;
}

/* The best lower level whose rate would fit, if cost is proportional to the rate. */
static unsigned lower_level(const struct budget *b)
{
	double fits = (double)b->levels[b->level].frequency;
	unsigned level = b->level + 1;

	if (level >= b->level_cnt)
		return b->level;
	if (b->levels[level].wait_ns > b->levels[b->level].wait_ns)
		return lower_waits(b, level);
	if (is_over_cpu(b))
		fits *= b->config.cpu / b->share;
	while (level + 1 < b->level_cnt && b->levels[level].frequency > RATE_MIN &&
	       (double)b->levels[level].frequency > fits)
		level++;
	return level;
}

static void begin(struct budget *b, __u64 now_ns, __u64 used_ns)
{
	b->from_ns = now_ns;
	b->from_used_ns = used_ns;
	b->starved_window_ns = b->starved_used_ns = 0;
}

void budget_pardon(struct budget *b, __u64 now_ns, __u64 used_ns)
{
	begin(b, now_ns, used_ns);
	b->meter_ns = now_ns;
	b->meter_used_ns = used_ns;
}

/* Waits until helpers have finished earlier work: that is not the cost of starving. */
static void note_starved(struct budget *b, __u64 now_ns, double ns, double used)
{
	double settled = (double)now_ns - (double)b->starving_since_ns - SETTLE_NS;
	double part = settled <= 0 ? 0 : settled < ns ? settled / ns : 1;

	b->starved_ns += (__u64)ns;
	b->starved_window_ns += (__u64)(ns * part);
	b->starved_used_ns += (__u64)(used * part);
}

bool budget_meter(struct budget *b, __u64 now_ns, __u64 used_ns)
{
	double window = b->config.cpu * (double)b->config.interval_ns;
	double ns = now_ns > b->meter_ns ? (double)(now_ns - b->meter_ns) : 0, used = 0;
	bool was;

	if (b->config.cpu <= 0 || !b->warm || !b->meter_ns || b->charged_ns) {
		b->credit_ns = CREDIT * window;
		b->meter_ns = now_ns;
		b->meter_used_ns = used_ns;
		return b->starving = false;
	}
	/* The usage of a helper that has just ended appears a little later. */
	if (used_ns > b->meter_used_ns) {
		used = (double)(used_ns - b->meter_used_ns);
		b->meter_used_ns = used_ns;
	}
	if (b->starving)
		note_starved(b, now_ns, ns, used);
	b->credit_ns += b->config.cpu * ns - used;
	if (b->credit_ns > CREDIT * window)
		b->credit_ns = CREDIT * window;
	if (b->credit_ns < -DEBT_WINDOWS * window)
		b->credit_ns = -DEBT_WINDOWS * window;
	was = b->starving;
	b->starving = b->credit_ns < (was ? FED * window : 0);
	if (b->starving && !was)
		b->starving_since_ns = now_ns;
	if (now_ns > b->meter_ns)
		b->meter_ns = now_ns;
	return b->starving;
}

/* A level that did not last is tried again later. */
static void lose_patience(struct budget *b)
{
	if (b->trial)
		b->patience = 2 * b->patience < PATIENCE_MAX ? 2 * b->patience : PATIENCE_MAX;
	b->calm = b->trial = 0;
}

static void spare_more(struct budget *b)
{
	lose_patience(b);
	b->sparing += b->sparing < BUDGET_SPARING_MAX;
}

/* The lower rate saved nothing: restores the old one, for a while. */
static bool give_back(struct budget *b)
{
	spare_more(b);
	b->raised++;
	b->level = b->before_level;
	b->stalled = b->stall_next;
	b->stall_next = 2 * b->stall_next < STALL_MAX ? 2 * b->stall_next : STALL_MAX;
	b->stalled_share = b->share;
	b->before = 0;
	return true;
}

static bool is_stalled(const struct budget *b)
{
	return b->stalled && b->share < STALL_ENDS * b->stalled_share;
}

/* Whoever has caused it pays; nobody else should wait for the debt. */
static bool charge(struct budget *b)
{
	if (!b->has_payer)
		return false;
	b->charges = true;
	b->charged_ns = b->meter_ns;
	b->calm = 0;
	b->starving = false;
	return true;
}

static bool lower(struct budget *b)
{
	unsigned level = lower_level(b);
	bool changed = level != b->level;

	if (is_over_cpu(b) && charge(b))
		return false;
	if (is_over_cpu(b) && b->before > 0 && b->share > SAVES_NOTHING * b->before)
		return give_back(b);
	if (is_over_cpu(b) && is_stalled(b) && b->sparing < BUDGET_SPARING_MAX) {
		spare_more(b);
		return false;
	}
	/* Even the lowest level is not enough: samples are not what costs. */
	if (is_over_cpu(b) && !changed && b->sparing < BUDGET_SPARING_MAX) {
		spare_more(b);
		return false;
	}
	/* Samples may now be a larger part of the remaining cost. */
	if (is_over_cpu(b) && is_stalled(b) && b->spared_all)
		return false;
	b->spared_all = b->sparing == BUDGET_SPARING_MAX;
	b->stalled = 0;
	b->before = 0;
	if (is_over_cpu(b) && b->levels[level].frequency < b->levels[b->level].frequency) {
		b->before = b->share;
		b->before_level = b->level;
	}
	lose_patience(b);
	b->lowered += changed;
	b->level = level;
	/* Samples caused the debt: nothing else should wait for it. */
	if (changed && b->credit_ns < 0)
		b->credit_ns = 0;
	b->starving = b->starving && !changed;
	return changed;
}

/* Takes the next step back to what is wanted: the level first. */
static bool raise_level(struct budget *b)
{
	bool raised = b->level != 0;

	b->raised += raised;
	if (raised)
		b->level--;
	else
		b->sparing--;
	b->spared_all = b->spared_all && raised;
	b->calm = 0;
	b->trial = PATIENCE;
	return raised;
}

/* Would the next step back fit? For depth and native frames the cost is unknown. */
static bool has_room(const struct budget *b, __u64 rss_bytes)
{
	const struct detail *now = &b->levels[b->level], *better = b->level ? now - 1 : now;
	double share = b->share * (double)better->frequency / (double)now->frequency;

	if (!b->level)
		return b->config.cpu <= 0 || share < SPARING_ROOM * b->config.cpu;
	if (b->config.memory_bytes && (double)rss_bytes > ROOM * (double)b->config.memory_bytes)
		return false;
	return b->config.cpu <= 0 || share < ROOM * b->config.cpu;
}

/* The part of the judged time in which krait postponed everything that can wait. */
static double starved(const struct budget *b, double ns)
{
	return (double)b->starved_window_ns / ns;
}

/* It costs too much even while starving: then only that time is judged. */
static bool starves_in_vain(struct budget *b, double ns)
{
	double share = b->starved_window_ns ?
			       (double)b->starved_used_ns / (double)b->starved_window_ns :
			       0;

	if (!is_over_cpu(b) || starved(b, ns) < STARVED_OUT || share <= b->config.cpu)
		return false;
	b->share = share;
	return true;
}

static bool end_window(struct budget *b, double ns, __u64 rss_bytes)
{
	bool is_big = b->config.memory_bytes && rss_bytes > b->config.memory_bytes;

	b->stalled -= b->stalled > 0;
	if (is_big || starves_in_vain(b, ns))
		return lower(b);
	/* Stop it from now on. */
	if (is_over_cpu(b)) {
		b->calm = 0;
		return false;
	}
	b->before = 0;
	/*
	 * Stopping was enough: the postponed work is what costs, and less of it should be done at
	 * all.
	 */
	if (starved(b, ns) >= STARVED) {
		if (!charge(b))
			spare_more(b);
		return false;
	}
	if (b->trial)
		b->trial--;
	if ((!b->level && !b->sparing) || !has_room(b, rss_bytes)) {
		b->calm = 0;
		return false;
	}
	return ++b->calm >= b->patience ? raise_level(b) : false;
}

bool budget_judge(struct budget *b, __u64 now_ns, __u64 used_ns, __u64 rss_bytes, bool at_end)
{
	double ns = (double)(now_ns - b->from_ns), used = (double)used_ns - (double)b->from_used_ns;
	bool changed;

	budget_meter(b, now_ns, used_ns);
	if (!b->from_ns || used < 0) {
		begin(b, now_ns, used_ns);
		return false;
	}
	if (!b->warm) {
		b->warm = ns >= WARM_NS && at_end;
		if (b->warm)
			budget_pardon(b, now_ns, used_ns);
		return false;
	}
	if (b->charged_ns) {
		if (now_ns < b->charged_ns + CHARGED_NS)
			return false;
		b->charged_ns = 0;
		budget_pardon(b, now_ns, used_ns);
		return false;
	}
	/* Within a window, only exceeding the whole window's budget counts. */
	if (!at_end && (b->config.cpu <= 0 || ns < JUDGE_NS ||
			used <= b->config.cpu * (double)b->config.interval_ns))
		return false;
	/* Windows that were cut short say little. */
	if (at_end && ns < JUDGE_NS && ns < (double)b->config.interval_ns / 2)
		return false;
	b->share = used / ns;
	if (!at_end && !starves_in_vain(b, ns))
		return false;
	changed = at_end ? end_window(b, ns, rss_bytes) : lower(b);
	begin(b, now_ns, used_ns);
	return changed;
}
