/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/stack/placement.h"

#include "record/stack/stacks.h"

/* A frame that has survived this many samples is likely to live on. */
#define RUN_SAMPLES 8
/* New frames per record that are not worth a write. */
#define MIN_GAIN_FRAMES 6
/* An anchor that is met at all is met within this many samples. */
#define UNMET_SAMPLES 16
#define PAUSE_MIN_NS (10 * 1000000ULL)
#define PAUSE_MAX_NS (5000 * 1000000ULL)

static void start_run(struct placement *p, const struct placement_sample *s)
{
	p->run = 0;
	p->stable = s->stack->cnt;
	p->emitted = 0;
	p->run_start_ns = s->time_ns;
}

/* The topmost Python frame below the leaf, among the first cnt; -1: none. */
static int topmost_frame(const struct stack *stack, __u32 cnt)
{
	int i = (int)cnt - 1;

	if (i >= (int)stack->cnt - 1)
		i = (int)stack->cnt - 2;
	while (i >= 0 && !stack->frames[i].code_addr)
		i--;
	return i;
}

static bool pays(const struct placement *p, const struct placement_sample *s, __u32 saved,
		 bool always)
{
	__u64 run_ns = s->time_ns - p->run_start_ns;

	if (saved < MIN_GAIN_FRAMES)
		return false;
	if (always || !run_ns)
		return true;
	return (double)saved * p->run * 1e9 / (double)run_ns >= PLACEMENT_WORTH_FRAMES;
}

static int end_of_run(struct placement *p, const struct placement_sample *s, bool always)
{
	int candidate = topmost_frame(s->stack, p->stable);
	__u32 needed, emitted = p->emitted / p->run;

	if (candidate < 0 || p->unmet || s->time_ns < p->pause_until_ns)
		return -1;
	/* Frames per record with the anchor there. */
	needed = s->stack->cnt - (__u32)candidate;
	if (emitted <= needed || !pays(p, s, emitted - needed, always))
		return -1;
	p->hoped_next = (emitted + needed) / 2;
	return candidate;
}

int placement_observe(struct placement *p, const struct placement_sample *s, bool always)
{
	int candidate;

	p->samples_since_write++;
	p->emitted_since_write += s->emitted;
	if (s->confirmed || s->over || p->samples_since_write > UNMET_SAMPLES)
		p->unmet = false;
	if (!p->run_start_ns)
		start_run(p, s);
	p->run++;
	p->emitted += s->emitted;
	if (s->stack->survived < p->stable)
		p->stable = s->stack->survived;
	if (p->run < RUN_SAMPLES)
		return -1;
	candidate = end_of_run(p, s, always);
	start_run(p, s);
	return candidate;
}

void placement_skip(struct placement *p, __u32 samples, __u32 emitted)
{
	p->samples_since_write += samples;
	p->emitted_since_write += emitted;
}

/* Did records get as short as expected? If not, the top frames come and go too fast. */
static bool last_write_paid(const struct placement *p)
{
	return p->emitted_since_write <= (__u64)p->hoped * p->samples_since_write;
}

void placement_written(struct placement *p, __u64 now_ns)
{
	__u64 pause_ns = PAUSE_MIN_NS;

	if (p->pause_ns && !last_write_paid(p))
		pause_ns = p->pause_ns * 2 < PAUSE_MAX_NS ? p->pause_ns * 2 : PAUSE_MAX_NS;
	p->pause_ns = pause_ns;
	p->pause_until_ns = now_ns + pause_ns;
	p->samples_since_write = 0;
	p->emitted_since_write = 0;
	p->hoped = p->hoped_next;
	p->unmet = true;
}
