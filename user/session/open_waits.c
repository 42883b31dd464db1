/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/open_waits.h"

#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "follow/processes.h"
#include "sampler/sampler.h"
#include "session/collector.h"
#include "switch.h"
#include "target/probed.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/hash.h"
#include "util/log.h"
#include "walk/stack_walk.h"

/* All stacks together. One takes about a millisecond. */
#define TIME_NS (2 * NS_PER_SEC)

/* A record as the kernel side would have made it. */
struct open_record {
	struct record_sample record;
	struct frame frames[KRAIT_MAX_FRAMES];
	struct wait_facts facts; /* moves down, behind the frames that there are */
};

/* One wait: which thread it is of, and what was read of its stack. */
struct open_wait {
	__u64 thread_start_ns, switches;
	__u32 tid;
	struct record_sample *record;
};

struct open_waits {
	struct open_wait *list;
	long cnt;
	struct stack_walk_result result;
	struct open_record out;
};

static void begin(struct record_sample *r, const struct thread_look *look, unsigned event,
		  __u64 end_ns, __u64 period_ns)
{
	*r = (struct record_sample){
		.type = RECORD_SAMPLE,
		.owner = look->owner,
		.size = sizeof(*r),
		.time_ns = end_ns,
		.thread_start_ns = look->thread_start_ns,
		.period = period_ns,
		.thread_ptr = look->thread_ptr,
		.pid = look->pid,
		.tid = look->tid,
		.event = (__u8)event,
		/* There is nothing to be had from a slot any more. */
		.flags = SAMPLE_KERNEL | SAMPLE_HAS_SLOT,
		.anchor = ANCHOR_NOTE_NONE,
	};
	memcpy(r->comm, look->comm, sizeof(r->comm));
	r->comm[sizeof(r->comm) - 1] = '\0';
}

/* Does the futex that the thread sleeps on lie in its interpreter's GIL? See bpf/gil.h. */
static bool waits_for_gil(const struct memory *memory, const struct process *p, __u64 interp_addr,
			  const struct wait_facts *w)
{
	const struct py_offsets *off = &p->info.offsets;
	__u64 gil_addr = 0;

	if (w->syscall < 0)
		return false;
	if (off->runtime.gil != PYOFF_ABSENT)
		gil_addr = p->info.runtime_addr + (__u64)off->runtime.gil;
	else if (!interp_addr || off->interp.gil == PYOFF_ABSENT ||
		 memory_read(memory, interp_addr + (__u64)off->interp.gil, &gil_addr,
			     sizeof(gil_addr)))
		return false;
	return gil_addr && w->args[0] - gil_addr < (__u64)PYOFF_GIL_SIZE(off);
}

static void put_frames(struct open_record *out, const struct stack_walk_result *from)
{
	if (reason_outcome(from->reason) == OUTCOME_LOST)
		return;
	memcpy(out->frames, from->frames, from->frame_cnt * sizeof(*from->frames));
	out->record.cnt[SECTION_FRAMES] = (__u16)from->frame_cnt;
	out->record.size += from->frame_cnt * (__u32)sizeof(*from->frames);
}

static void put_facts(struct open_record *out, const struct wait_facts *facts)
{
	memcpy((char *)out + out->record.size, facts, sizeof(*facts));
	out->record.cnt[SECTION_WAIT] = 1;
	out->record.size += sizeof(*facts);
}

/* The thread's stack as it can be read now; nobody knows yet whether it is true. */
static void read_stack(struct open_waits *w, struct process *p, const struct thread_look *look)
{
	const struct memory *memory = probed__memory(p->probed);
	const struct py_offsets *off = &p->info.offsets;
	const struct stack_walk walk = {
		.memory = memory,
		.offsets = off,
		.runtime_addr = p->info.runtime_addr,
		.fingerprints = off->interp.code_object_generation == PYOFF_ABSENT,
	};
	struct record_sample *r = &w->out.record;
	struct wait_facts facts = look->facts;

	stack_walk_thread(&walk, look->thread_ptr, NULL, &w->result);
	r->reason = (__u8)w->result.reason;
	r->tstate_addr = w->result.tstate_addr;
	r->interp_addr = w->result.interp_addr;
	if (r->interp_addr && off->interp.code_object_generation != PYOFF_ABSENT &&
	    memory_read(memory, r->interp_addr + (__u64)off->interp.code_object_generation,
			&r->code_generation, sizeof(r->code_generation)))
		r->reason = REASON_RUNTIME_FAULT;
	facts.length_ns = r->time_ns - look->since_ns;
	if (waits_for_gil(memory, p, r->interp_addr, &facts))
		facts.flags |= WAIT_GIL;
	put_frames(&w->out, &w->result);
	put_facts(&w->out, &facts);
}

static __u64 period_of(struct thread_look *look, __u64 threshold_ns, __u64 end_ns)
{
	__u64 random = (__u64)hash_word(look->thread_start_ns ^ look->tid) << 32;
	__u32 shift = switch_threshold_shift(threshold_ns);

	if (!look->since_ns || look->since_ns >= end_ns)
		return 0;
	return switch_period(&(struct switch_point){ .left = look->left }, end_ns - look->since_ns,
			     shift, random);
}

static void add(struct open_waits *w, const struct thread_look *look)
{
	struct record_sample *copy = malloc(w->out.record.size);

	if (!copy)
		return;
	memcpy(copy, &w->out, w->out.record.size);
	w->list[w->cnt++] = (struct open_wait){ .thread_start_ns = look->thread_start_ns,
						.switches = look->switches,
						.tid = look->tid,
						.record = copy };
}

/* What there is no time for is lost, and counted so. */
static void read_all(struct open_waits *w, struct processes *ps, struct thread_look *looks,
		     long cnt, unsigned event, __u64 threshold_ns, __u64 end_ns)
{
	__u64 until_ns = clock_monotonic_ns() + TIME_NS;

	for (long i = 0; i < cnt; i++) {
		struct process *p = processes__find(ps, (pid_t)looks[i].pid);
		__u64 period_ns = period_of(&looks[i], threshold_ns, end_ns);

		if (!period_ns || !p || !p->probed)
			continue;
		begin(&w->out.record, &looks[i], event, end_ns, period_ns);
		if (clock_monotonic_ns() < until_ns)
			read_stack(w, p, &looks[i]);
		else
			w->out.record.reason = REASON_THREAD_TORN;
		add(w, &looks[i]);
	}
}

static int by_tid(const void *a, const void *b)
{
	const struct thread_look *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* A stack is true if the thread has not run since the first look. */
static void judge(struct open_waits *w, struct thread_look *looks, long cnt)
{
	qsort(looks, (size_t)cnt, sizeof(*looks), by_tid);
	for (long i = 0; i < w->cnt; i++) {
		const struct open_wait *open = &w->list[i];
		const struct thread_look key = { .tid = open->tid };
		const struct thread_look *now =
			bsearch(&key, looks, (size_t)cnt, sizeof(*looks), by_tid);

		if (!now || now->thread_start_ns != open->thread_start_ns ||
		    now->switches != open->switches)
			open->record->reason = REASON_THREAD_TORN;
	}
}

static void hand_out(struct open_waits *w, struct collector *c)
{
	for (long i = 0; i < w->cnt; i++) {
		collector__sample(c, w->list[i].record);
		free(w->list[i].record);
	}
}

__u64 open_waits_collect(struct collector *c, struct processes *ps, struct sampler *sampler,
			 unsigned event, __u64 threshold_ns, __u64 end_ns)
{
	cleanup_free struct thread_look *before = NULL, *after = NULL;
	cleanup_free struct open_waits *w = calloc(1, sizeof(*w));
	cleanup_free struct open_wait *list = NULL;
	long cnt = sampler__look_at_threads(sampler, &before);

	if (!w || cnt <= 0 || !(list = calloc((size_t)cnt, sizeof(*list)))) {
		if (cnt < 0)
			log_debug("open_waits", "threads cannot be looked at: %s",
				  strerror((int)-cnt));
		return 0;
	}
	w->list = list;
	read_all(w, ps, before, cnt, event, threshold_ns, end_ns);
	cnt = sampler__look_at_threads(sampler, &after);
	judge(w, after, cnt > 0 ? cnt : 0);
	hand_out(w, c);
	return (__u64)w->cnt;
}
