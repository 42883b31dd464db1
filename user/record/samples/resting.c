/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/resting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "record/follow/processes.h"
#include "kernel/sampler/sampler.h"
#include "record/samples/collector.h"
#include "record/unwinding/unwinding.h"
#include "process/memory/page_cache.h"
#include "process/probe/probed.h"
#include "native/rows/stack_unwind.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "python/walk/stack_walk.h"
#include "python/walk/thread_list.h"
#include "python/walk/wait_walk.h"

/* For all stacks together. One takes about a millisecond. */
#define TIME_NS (2 * NS_PER_SEC)
/*
 * Pages of a C stack to read, from its leaf on: most have no more, and each question takes as long
 * as a page.
 */
#define STACK_PAGES 4

/* A record as the kernel side would have written it. */
struct rest_record {
	struct record_sample record;
	struct frame frames[KRAIT_MAX_FRAMES];
	/* Moved down to where the frames actually end. */
	struct native_frame natives[KRAIT_MAX_NATIVE];
	struct wait_facts facts;
};

/* A thread, and what was read of its stack. */
struct rest {
	__u64 thread_start_ns, switches, runs;
	__u32 tid;
	bool is_taken; /* by the kernel side, when it came to a CPU */
	struct record_sample *record;
};

struct resting_memory {
	struct rest *list; /* hash by tid */
	long cnt;
};

struct resting {
	const struct resting_ask *ask;
	struct rest *list;
	long cnt;
	struct stack_unwind *unwind; /* NULL: no native frames */
	struct page_cache *cache; /* of that process's memory; NULL: none */
	const struct process *cached;
	struct thread_list_entry states[KRAIT_MAX_THREADS]; /* of its threads */
	__u32 state_cnt;
	struct stack_walk_result python;
	struct stack_unwind_result native;
	struct rest_record out;
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
		/* A slot would not help any more. */
		.flags = SAMPLE_KERNEL | SAMPLE_HAS_SLOT,
		.anchor = ANCHOR_NOTE_NONE,
		.ids = look->ids,
	};
	memcpy(r->comm, look->comm, sizeof(r->comm));
	r->comm[sizeof(r->comm) - 1] = '\0';
}

static void append(struct rest_record *out, enum record_section section, const void *from,
		   __u32 cnt, size_t size)
{
	memcpy((char *)out + out->record.size, from, cnt * size);
	out->record.cnt[section] = (__u16)cnt;
	out->record.size += cnt * (__u32)size;
}

static struct stack_walk walk_of(const struct process *p, const struct memory *memory)
{
	const struct py_offsets *off = &p->info.offsets;

	return (struct stack_walk){
		.memory = memory,
		.offsets = off,
		.runtime_addr = p->info.runtime_addr,
		.fingerprints = off->interp.code_object_generation == PYOFF_ABSENT,
	};
}

/*
 * The process's memory. Each page is read once, after the first look at the threads: what belongs
 * to a resting thread does not change.
 */
static const struct memory *memory_of(struct resting *r, const struct process *p)
{
	const struct memory *memory;
	struct stack_walk walk;
	bool same = r->cached == p;

	if (!same) {
		page_cache__free(r->cache);
		r->cache = page_cache__new(probed__memory(p->probed));
		r->cached = p;
	}
	memory = r->cache ? page_cache__memory(r->cache) : probed__memory(p->probed);
	if (same)
		return memory;
	walk = walk_of(p, memory);
	thread_list_read(&walk, r->states, KRAIT_MAX_THREADS, &r->state_cnt);
	return memory;
}

static const struct thread_list_entry *state_of(const struct resting *r, __u64 thread_ptr,
						__u64 native_id)
{
	for (__u32 i = 0; i < r->state_cnt; i++)
		if (thread_ptr ? THREAD_IS(r->states[i].thread_ptr, thread_ptr) :
				 r->states[i].native_id == native_id)
			return &r->states[i];
	return NULL;
}

/*
 * The thread pointer that its state knows it by. Under an emulator the kernel knows another one
 * (bpf/python/thread.h), and the thread's number tells, if the process counts as we do.
 */
static __u64 thread_ptr_of(const struct resting *r, const struct thread_look *look)
{
	const struct thread_list_entry *state =
		look->thread_ptr ? state_of(r, look->thread_ptr, 0) : NULL;

	if (!state && state_of(r, 0, look->pid))
		state = state_of(r, 0, look->tid);
	return state ? state->thread_ptr : look->thread_ptr;
}

/* A guess at where its thread state is, which the search verifies. */
static struct thread_slot slot_of(const struct resting *r, __u64 thread_ptr)
{
	const struct thread_list_entry *state = thread_ptr ? state_of(r, thread_ptr, 0) : NULL;

	return state ? (struct thread_slot){ .tstate_addr = state->tstate_addr,
					     .interp_addr = state->interp_addr } :
		       (struct thread_slot){ 0 };
}

static void read_native(struct resting *r, const struct process *p, const struct memory *memory,
			const struct thread_look *look)
{
	struct stack_unwind_of of = {
		.memory = memory,
		.now_ns = r->ask->now_ns,
		.behind_call = look->behind_syscall,
	};
	struct record_sample *record = &r->out.record;

	if (!unwinding_space(p, &of.space) || !(look->facts.flags & WAIT_HAS_SYSCALL)) {
		record->native_reason = NATIVE_NO_REGS;
		return;
	}
	memcpy(of.regs, look->regs, sizeof(of.regs));
	if (r->cache)
		page_cache__fetch(r->cache, stack_unwind_sp(of.regs), STACK_PAGES);
	stack_unwind__walk(r->unwind, &of, &r->native);
	record->native_reason = (__u8)r->native.reason;
	if (r->native.unmapped)
		record->flags |= SAMPLE_UNMAPPED;
	append(&r->out, SECTION_NATIVE, r->native.frames, r->native.cnt, sizeof(*r->native.frames));
}

static void read_python(struct resting *r, const struct process *p, const struct memory *memory,
			const struct thread_look *look)
{
	const struct py_offsets *off = &p->info.offsets;
	const struct stack_walk walk = walk_of(p, memory);
	const __u64 thread_ptr = thread_ptr_of(r, look);
	struct thread_slot slot = slot_of(r, thread_ptr);
	struct record_sample *record = &r->out.record;

	record->thread_ptr = thread_ptr;
	stack_walk_thread(&walk, thread_ptr, slot.tstate_addr ? &slot : NULL, &r->python);
	record->reason = (__u8)r->python.reason;
	record->tstate_addr = r->python.tstate_addr;
	record->interp_addr = r->python.interp_addr;
	if (record->interp_addr && off->interp.code_object_generation != PYOFF_ABSENT &&
	    memory_read(memory, record->interp_addr + (__u64)off->interp.code_object_generation,
			&record->code_generation, sizeof(record->code_generation)))
		record->reason = REASON_RUNTIME_FAULT;
	if (reason_outcome(record->reason) != OUTCOME_LOST)
		append(&r->out, SECTION_FRAMES, r->python.frames, r->python.frame_cnt,
		       sizeof(*r->python.frames));
}

/* Reads the thread's stack as it is now; whether it is valid turns out later. */
static void read_stack(struct resting *r, const struct process *p, const struct thread_look *look)
{
	const struct memory *memory = memory_of(r, p);
	struct wait_facts facts = look->facts;
	struct wait_walk wait;

	read_python(r, p, memory, look);
	if (r->unwind && reason_outcome(r->out.record.reason) != OUTCOME_LOST)
		read_native(r, p, memory, look);
	if (!r->ask->states)
		return;
	facts.length_ns = r->out.record.time_ns - look->since_ns;
	wait = (struct wait_walk){ .memory = memory,
				   .offsets = &p->info.offsets,
				   .runtime_addr = p->info.runtime_addr,
				   .interp_addr = r->out.record.interp_addr,
				   .tstate_addr = r->out.record.tstate_addr };
	facts.flags |= wait_walk_flags(&wait, &facts);
	append(&r->out, SECTION_WAIT, &facts, 1, sizeof(facts));
}

static void add(struct resting *r, const struct thread_look *look)
{
	struct record_sample *copy = malloc(r->out.record.size);

	if (!copy)
		return;
	memcpy(copy, &r->out, r->out.record.size);
	r->list[r->cnt++] = (struct rest){ .thread_start_ns = look->thread_start_ns,
					   .switches = look->switches,
					   .runs = look->runs,
					   .tid = look->tid,
					   .record = copy };
}

static void free_rests(struct rest *list, long cnt)
{
	for (long i = 0; i < cnt; i++)
		free(list[i].record);
	free(list);
}

struct resting_memory *resting_memory__new(void)
{
	return calloc(1, sizeof(struct resting_memory));
}

void resting_memory__free(struct resting_memory *m)
{
	if (!m)
		return;
	free_rests(m->list, m->cnt);
	free(m);
}

static int rest_by_tid(const void *a, const void *b)
{
	const struct rest *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Moves the records to the memory, if there is one. */
static void remember(struct resting *r)
{
	struct resting_memory *m = r->ask->memory;

	if (!m) {
		free_rests(r->list, r->cnt);
		return;
	}
	free_rests(m->list, m->cnt);
	m->list = r->list;
	m->cnt = r->cnt;
	if (m->cnt)
		qsort(m->list, (size_t)m->cnt, sizeof(*m->list), rest_by_tid);
}

/*
 * Reuses the stack from last time, if the thread has not run since. The record is what read_stack()
 * would have written.
 */
static bool recall(struct resting *r, const struct thread_look *look)
{
	const struct resting_memory *m = r->ask->memory;
	const struct rest key = { .tid = look->tid };
	const struct rest *old =
		m && m->cnt ? bsearch(&key, m->list, (size_t)m->cnt, sizeof(key), rest_by_tid) :
			      NULL;
	const struct record_sample now = r->out.record;
	struct wait_facts *facts;

	if (!old || !look->runs || old->runs != look->runs || old->switches != look->switches ||
	    old->thread_start_ns != look->thread_start_ns ||
	    reason_outcome(old->record->reason) == OUTCOME_LOST || !old->record->cnt[SECTION_WAIT])
		return false;
	memcpy(&r->out, old->record, old->record->size);
	r->out.record.time_ns = now.time_ns;
	r->out.record.period = now.period;
	facts = (void *)((char *)&r->out + r->out.record.size - sizeof(*facts));
	facts->length_ns = now.time_ns - look->since_ns;
	return true;
}

/* Stacks that there is no time for count as lost. */
static void read_all(struct resting *r, struct thread_look *looks, long cnt)
{
	const struct resting_ask *ask = r->ask;
	__u64 begin_ns = clock_monotonic_ns(), until_ns = begin_ns + TIME_NS;
	bool late = ask->stop && begin_ns > ask->taken_until_ns;

	for (long i = 0; i < cnt; i++) {
		struct process *p = processes__find(ask->processes, (pid_t)looks[i].pid);
		__u64 period_ns = p && p->probed ? ask->period(ask->ctx, &looks[i]) : 0;

		if (!period_ns)
			continue;
		begin(&r->out.record, &looks[i], ask->event, ask->now_ns, period_ns);
		if (late || looks[i].on_cpu || clock_monotonic_ns() >= until_ns)
			r->out.record.reason = REASON_THREAD_TORN;
		else if (!recall(r, &looks[i]))
			read_stack(r, p, &looks[i]);
		add(r, &looks[i]);
	}
}

static int by_tid(const void *a, const void *b)
{
	const struct thread_look *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/*
 * Was it off the CPU before, and has it not come to one since? If the kernel does not count
 * arrivals, it counts departures: then the thread must still be off it.
 */
static bool has_rested(const struct rest *r, const struct thread_look *now)
{
	if (!now || now->thread_start_ns != r->thread_start_ns || now->switches != r->switches ||
	    now->runs != r->runs)
		return false;
	return r->runs || (!now->on_cpu && now->facts.task_state);
}

static const struct thread_look *find_look(const struct thread_look *looks, long cnt, __u32 tid)
{
	const struct thread_look key = { .tid = tid };

	return cnt > 0 ? bsearch(&key, looks, (size_t)cnt, sizeof(*looks), by_tid) : NULL;
}

static void judge(struct resting *r, struct thread_look *looks, long cnt)
{
	if (cnt > 0)
		qsort(looks, (size_t)cnt, sizeof(*looks), by_tid);
	for (long i = 0; i < r->cnt; i++)
		if (!has_rested(&r->list[i], find_look(looks, cnt, r->list[i].tid)))
			r->list[i].record->reason = REASON_THREAD_TORN;
}

/*
 * What the kernel side has taken is no open wait any more. It does not take any now, so each wait is
 * either here or there.
 */
static void find_taken(struct resting *r)
{
	const struct resting_ask *ask = r->ask;
	cleanup_free struct thread_look *looks = NULL;
	bool in_time = clock_monotonic_ns() <= ask->taken_until_ns;
	long cnt;

	ask->stop(ask->ctx);
	cnt = sampler__look_at_threads(ask->sampler, &looks);
	if (cnt < 0)
		return;
	if (cnt > 0)
		qsort(looks, (size_t)cnt, sizeof(*looks), by_tid);
	for (long i = 0; i < r->cnt; i++) {
		struct rest *rest = &r->list[i];
		const struct thread_look *now = find_look(looks, cnt, rest->tid);

		/* A thread comes to end, too. */
		if (!now || now->thread_start_ns != rest->thread_start_ns)
			rest->is_taken = in_time;
		else
			rest->is_taken = !now->since_ns || now->since_ns >= ask->now_ns;
	}
}

static bool is_omitted(const struct resting_ask *ask, const struct rest *r)
{
	return r->is_taken || (ask->only_true && r->record->reason == REASON_THREAD_TORN);
}

/* Returns how many. */
static long hand_out(struct resting *r)
{
	long cnt = 0;

	for (long i = 0; i < r->cnt; i++) {
		if (is_omitted(r->ask, &r->list[i]))
			continue;
		collector__sample(r->ask->collector, r->list[i].record);
		cnt++;
	}
	return cnt;
}

/* Allocates room for that many threads. Returns 0 or -ENOMEM. */
static int prepare(struct resting *r, long cnt)
{
	r->list = calloc((size_t)cnt, sizeof(*r->list));
	if (r->ask->unwinding)
		r->unwind = stack_unwind__new(unwinding__tables(r->ask->unwinding));
	return r->list && (r->unwind || !r->ask->unwinding) ? 0 : -ENOMEM;
}

long resting_collect(const struct resting_ask *ask)
{
	cleanup_free struct thread_look *before = NULL, *after = NULL;
	cleanup_free struct resting *r = calloc(1, sizeof(*r));
	long cnt = sampler__look_at_threads(ask->sampler, &before);

	if (!r || cnt <= 0) {
		if (cnt < 0)
			log_debug("resting", "threads cannot be looked at: %s",
				  strerror((int)-cnt));
		return r ? cnt : -ENOMEM;
	}
	r->ask = ask;
	if (prepare(r, cnt)) {
		cnt = -ENOMEM;
	} else {
		read_all(r, before, cnt);
		cnt = sampler__look_at_threads(ask->sampler, &after);
		judge(r, after, cnt);
		if (ask->stop)
			find_taken(r);
		cnt = hand_out(r);
		remember(r);
		r->list = NULL;
	}
	free(r->list);
	stack_unwind__free(r->unwind);
	page_cache__free(r->cache);
	return cnt;
}
