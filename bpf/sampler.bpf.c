/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sampler.bpf.c - the entry points of perf events: one interrupt becomes one record (sample.h).
 *
 * There are two programs with the same content: one uses bpf_loop() (5.17+), which verifies in a
 * few hundred instructions, the other a bounded for loop for older kernels. User space loads the
 * one that this kernel accepts.
 */
#include "bpf/fault.h"
#include "bpf/sample.h"
#include "bpf/wait/switch_cpu.h"

/* There is more than one perf event, and each carries its index (kernel_task.h). */
const volatile bool several_events = false;

/* A bit for each perf event that is a clock, if every one of its ticks comes here. */
const volatile __u32 clock_events = 0;

/*
 * A bit for each event that has several timers; and for each of those whose samples can take longer than the time
 * between two of their ticks.
 */
const volatile __u32 grid_events = 0, crowded_events = 0;

/* The mean time between two ticks of an event with several timers, as it begins. User space sets it before the start. */
volatile __u64 grids_period_ns[KRAIT_MAX_EVENTS] = {};

/* Indexed by event. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KRAIT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, struct ticks);
} ticks SEC(".maps");

static __always_inline bool has_grids(__u32 index)
{
	return grid_events >> masked(index, KRAIT_MAX_EVENTS - 1) & 1;
}

static __always_inline bool may_crowd(__u32 index)
{
	return crowded_events >> masked(index, KRAIT_MAX_EVENTS - 1) & 1;
}

/* NULL if the event has no ticks, or not all of them come here. */
static __always_inline struct ticks *ticks_of(__u32 index)
{
	if (!(clock_events >> masked(index, KRAIT_MAX_EVENTS - 1) & 1))
		return NULL;
	return bpf_map_lookup_elem(&ticks, &index);
}

/*
 * The time by the clock that the scheduler goes by, as it is now: cpu-clock's handler has just read
 * it (cpu_clock_event_update(), kernel/events/core.c). For another clock it is as old as the run
 * queue's last update.
 */
static __always_inline __u64 scheduler_now_ns(const void *ctx, struct task_struct *task)
{
	const struct bpf_perf_event_data_kern *kern = ctx;
	struct perf_event *event = BPF_CORE_READ(kern, event);
	__u64 ns = 0;

	if (BPF_CORE_READ(event, attr.config) == PERF_COUNT_SW_CPU_CLOCK)
		bpf_core_read(&ns, sizeof(ns), &event->hw.prev_count);
	else if (bpf_core_field_exists(task->se.cfs_rq))
		ns = BPF_CORE_READ(task, se.cfs_rq, rq, clock);
	return ns;
}

/*
 * How long the current thread has been on this CPU, and its interrupts samples. Kernels built
 * without CONFIG_SCHED_INFO do not say when a thread came; those of distributions have it.
 */
static __always_inline __u64 on_cpu_ns(const void *ctx, const struct proc_info *proc, __u64 now_ns)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 sampled_ns = passed(proc->sampled_ns, now_ns), on_ns;

	if (!bpf_core_field_exists(task->sched_info.last_arrival))
		return sampled_ns;
	on_ns = passed(BPF_CORE_READ(task, sched_info.last_arrival), scheduler_now_ns(ctx, task));
	return on_ns < sampled_ns ? on_ns : sampled_ns;
}

/* Notes the tick; returns how many before it the thread has missed. */
static __always_inline __u64 take_tick(struct tick *tick, const void *ctx,
				       const struct proc_info *proc, __u64 now_ns, __u64 period_ns,
				       bool one_of_many)
{
	__u64 points =
		tick_passes(tick, now_ns, period_ns, one_of_many ? period_ns / TICK_EARLY : 0);

	return points ? tick_missed(tick, points, now_ns, on_cpu_ns(ctx, proc, now_ns)) : 0;
}

/*
 * switch.bpf.c is loaded, and decides which thread a tick belongs to if it hits a CPU on its way to
 * another thread.
 */
const volatile bool note_ticks = false;

/* struct rq: the next switch will not update the clock (kernel/sched/sched.h). */
#define RQCF_REQ_SKIP 1

/* True if the tick was noted and will become a sample later. */
static __always_inline bool is_on_its_way(__u32 event, __u64 period_ns, __u32 cnt)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct switch_cpu *cpu;
	struct rq *rq;

	/* Of several clocks only the first one is noted. */
	if (!bpf_core_field_exists(task->se.cfs_rq) || clock_events & ((1U << event) - 1))
		return false;
	rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	if (!(BPF_CORE_READ(rq, clock_update_flags) & RQCF_REQ_SKIP) ||
	    BPF_CORE_READ(task, flags) & PF_EXITING)
		return false;
	cpu = switch_cpu();
	if (!cpu)
		return false;
	cpu->noted.period_ns = period_ns;
	cpu->noted.event = event;
	tick_note(&cpu->noted, BPF_CORE_READ(rq, clock), (__u32)bpf_get_current_pid_tgid(), cnt);
	return true;
}

static __always_inline struct thread_wait *current_wait(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u64 start_ns = task_start_ns(task);

	for (int second = 0; second < 2; second++) {
		__u32 place = wait_place(tid, second);
		struct thread_wait *w = bpf_map_lookup_elem(&waits, &place);

		if (w && w->thread_start_ns == start_ns && w->tid == tid)
			return w;
	}
	return NULL;
}

/*
 * The time that the tick's sample stands for: more if ticks before it never came, less if the
 * thread's samples already stand for too much.
 */
static __always_inline __u64 made_up(__u64 now_ns, __u64 period_ns, __u64 missed)
{
	struct thread_wait *w = note_ticks ? current_wait() : NULL;
	__u64 ns = period_ns * (missed + 1), on_ns;

	if (!w)
		return ns;
	if (w->task_state == TASK_STATE_ON_CPU) {
		on_ns = w->on_ns + passed(w->since_ns, now_ns);
		ns = tick_eased(on_ns, w->sampled_ns,
				tick_made_up(on_ns, w->sampled_ns, period_ns, missed), period_ns);
	}
	w->sampled_ns += ns;
	return ns;
}

/*
 * The mean time that a sample stands for, if user space keeps changing the clocks' rate (--jitter);
 * else 0.
 */
const volatile __u64 jitter_period_ns = 0;

/*
 * What a clock's tick stands for since user space changed the rate; AS_BEGUN: it has not. The
 * kernel's own sample_period keeps its first value (perf_swevent_hrtimer() reports last_period).
 */
#define AS_BEGUN (~0ULL)
volatile __u64 clock_period_ns = AS_BEGUN;

static __always_inline __u64 period_of(const struct bpf_perf_event_data *ctx, __u32 index)
{
	__u64 changed = clock_period_ns;

	if (changed != AS_BEGUN && clock_events >> masked(index, KRAIT_MAX_EVENTS - 1) & 1)
		return changed;
	return has_grids(index) ? grids_period_ns[masked(index, KRAIT_MAX_EVENTS - 1)] :
				  ctx->sample_period;
}

/* The period of the timer itself, which is longer if there are several, and which user space changes. */
static __always_inline __u64 timer_period(const struct bpf_perf_event_data *ctx, __u32 index,
					  __u64 period_ns)
{
	const struct bpf_perf_event_data_kern *kern = (const void *)ctx;

	if (!jitter_period_ns && !has_grids(index))
		return period_ns;
	return BPF_CORE_READ(kern, event, hw.sample_period);
}

/*
 * The events are another program's, perf's: each interrupt is also a sample of its own, if we return 1, and a record's
 * period is the time that this sample has by the clock that it chose; 0: it is not known yet.
 */
const volatile bool rides_along = false;

/*
 * Newer kernels prepare the sample before they call the program (perf_prepare_sample() in __bpf_overflow_handler(),
 * kernel/events/core.c), which sets the flag; 6.1 does so only after that.
 */
static __always_inline __u64 sample_time(const void *ctx)
{
	const struct bpf_perf_event_data_kern *kern = ctx;
	struct perf_sample_data *data = BPF_CORE_READ(kern, data);
	__u64 flags = 0;

	if (bpf_core_field_exists(data->sample_flags))
		flags = BPF_CORE_READ(data, sample_flags);
	return flags & PERF_SAMPLE_TIME ? BPF_CORE_READ(data, time) : 0;
}

/* How much of a process's time its samples may take (--budget), in thousandths; 0: however much. */
const volatile __u32 budget_permille = 0;

/*
 * What the tick's sample stands for; 0: it becomes none, so that the samples of the process keep within the budget,
 * and the thread's next one stands for it, too. Which ticks become samples, chance says: nothing keeps in step with it.
 */
__weak __noinline __u64 within_budget(__u64 period_ns)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid(), every;
	__u32 pid = pid_tgid >> 32, tid = (__u32)pid_tgid, index;
	const struct proc_info *proc = bpf_map_lookup_elem(&procs, &pid);
	const struct thread_ref *ref = bpf_map_lookup_elem(&threads, &tid);
	struct thread_slot *slot;

	if (!proc || !ref)
		return period_ns;
	index = ref->slot;
	slot = bpf_map_lookup_elem(&slots, &index);
	if (!slot || slot->start_ns != task_start_ns((struct task_struct *)bpf_get_current_task()))
		return period_ns;
	every = 1 + proc->walk_recent_ns * 1000ULL / (budget_permille * whole_period_ns);
	if (every > 1 && bpf_get_prandom_u32() % every) {
		slot->spared += period_ns;
		return 0;
	}
	period_ns += slot->spared;
	slot->spared = 0;
	return period_ns;
}

/* See wants_chains(). */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} sample_chains SEC(".maps");

/* Looked up again: else the verifier follows all of take_sample() once with ticks and once without. */
static __always_inline void note_done(__u32 index)
{
	struct ticks *ticks = may_crowd(index) ? ticks_of(index) : NULL;

	if (ticks)
		ticks->done_ns = bpf_ktime_get_ns();
}

/* now_ns: when the program looked at the clock. */
static __always_inline void take_of_event(struct bpf_perf_event_data *ctx, struct proc_info *proc,
					  __u32 index, __u64 period, __u64 missed, __u64 now_ns,
					  __u64 began_ns, bool has_loop)
{
	take_sample(
		&(struct trigger){
			.ctx = ctx,
			.now_ns = now_ns,
			.time_ns = now_ns,
			.period = period,
			.missed = missed,
			.event = index,
			.context = CONTEXT_EVENT,
			.in_kernel = !MODE_IS_USER(context_reg(ctx, UNWIND_WORD_MODE)),
			.regs = { context_reg(ctx, UNWIND_WORD_IP),
				  context_reg(ctx, UNWIND_WORD_SP),
				  context_reg(ctx, UNWIND_WORD_FP) },
			.regs_addr = (__u64)context_regs(ctx),
			.has_loop = has_loop,
			.has_kernel_stack = true,
			.began_ns = began_ns,
			.chains = has_loop ? &sample_chains : NULL,
		},
		proc);
}

/* Negative results are errors (bpf_perf_event_read(), kernel/trace/bpf_trace.c). */
#define READ_ERROR (~0ULL - 4095)

/*
 * At each sample of a group's leader, also of other processes: what its members have counted since is this sample's. If it
 * becomes none, the next one's, if it is of the same process. pid: 0: of none that is tracked.
 */
static __always_inline void read_members(__u32 leader, __u32 pid)
{
	const __u32 bits = group_members[masked(leader, KRAIT_MAX_EVENTS - 1)];

	for (__u32 i = 0; i < KRAIT_MAX_EVENTS; i++) {
		__u32 member = i;
		struct member_count *m;
		__u64 value;

		if (!(bits >> i & 1))
			continue;
		m = bpf_map_lookup_elem(&member_counts, &member);
		value = bpf_perf_event_read(&group_events,
					    bpf_get_smp_processor_id() * KRAIT_MAX_EVENTS + i);
		if (!m || value > READ_ERROR)
			continue;
		member_count_add(m, value, pid);
	}
}

/* Most ticks hit others than tracked processes, and must cost next to nothing. */
static __always_inline void on_event(struct bpf_perf_event_data *ctx, __u64 began_ns, bool has_loop)
{
	struct proc_info *proc = tracked_process();
	__u64 now_ns, period, missed = 0, skipped = 0;
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct ticks *ticks;
	struct tick *tick;
	__u32 index;

	if (!proc && !note_ticks && !has_groups)
		return;
	now_ns = bpf_ktime_get_ns();
	if (now_ns > end_ns)
		return;
	index = several_events ? event_index(ctx) : 0;
	if (has_groups)
		read_members(index, proc ? bpf_get_current_pid_tgid() >> 32 : 0);
	period = period_of(ctx, index);
	ticks = ticks_of(index);
	if (ticks && proc) {
		tick = &ticks->grids[has_grids(index) ? ctx->sample_period & KRAIT_GRID_MASK : 0];
		missed = take_tick(tick, ctx, proc, now_ns, timer_period(ctx, index, period),
				   has_grids(index));
		if (may_crowd(index) && tick_crowds(ticks, tick, now_ns, period)) {
			miss_ticks(index, missed + 1);
			tick_skip(ticks, tid, missed + 1);
			return;
		}
		skipped = tick_skipped(ticks, tid);
	}
	if (jitter_period_ns)
		period = jitter_period_ns;
	if (note_ticks && ticks &&
	    is_on_its_way(masked(index, KRAIT_MAX_EVENTS - 1), period,
			  make_up_ticks ? missed + 1 : 1)) {
		if (!make_up_ticks)
			miss_ticks(index, missed);
		return;
	}
	if (!proc)
		return;
	if (rides_along)
		period = sample_time(ctx);
	if (ticks) {
		miss_ticks(index, missed);
		if (make_up_ticks) {
			period = made_up(now_ns, period, missed);
			missed = 0;
		}
		if (budget_permille) {
			period = within_budget(period);
			if (!period) {
				tick_skip(ticks, tid, missed + skipped);
				return;
			}
		}
	}
	take_of_event(ctx, proc, index, period, missed + skipped, now_ns, began_ns, has_loop);
	note_done(index);
}

/* The program of that name runs work(), its time counts, and it returns result. */
#define EVENT_PROGRAM(name, work, has_loop, result)                                                \
	int name(struct bpf_perf_event_data *ctx)                                                  \
	{                                                                                          \
		__u64 began_ns = own_begin();                                                      \
                                                                                                   \
		work(ctx, began_ns, has_loop);                                                     \
		own_end(began_ns);                                                                 \
		return result;                                                                     \
	}

SEC("perf_event")
EVENT_PROGRAM(sample_loop, on_event, true, rides_along)

SEC("perf_event")
EVENT_PROGRAM(sample_bounded, on_event, false, rides_along)

SEC("?perf_event")
int sample_chained(struct bpf_perf_event_data *ctx)
{
	__u64 began_ns = 0;
	__u32 event = 0;

	if (continue_sample(CONTEXT_EVENT, &event, &began_ns)) {
		note_done(masked(event, KRAIT_MAX_EVENTS - 1));
		own_end(began_ns);
	}
	return rides_along;
}

/* The event whose page faults are thinned (fault.h). */
const volatile __u32 fault_event = 0;
/* log2 of a page's size, and of the pages of one page table, which a huge page replaces; 0: none does */
const volatile __u32 fault_page_shift = 12, fault_region_shift = 0;

/*
 * For each of some regions: which process it is of, and the page of its first fault. A second fault of that page begins a
 * new life of the region. What another region puts there costs a sample more.
 */
#define FAULT_REGIONS 4096
__u64 fault_regions[FAULT_REGIONS] SEC(".data.faults") = { 0 };

static __always_inline bool is_first_in_region(__u64 page)
{
	__u64 pid = bpf_get_current_pid_tgid() >> 32, region = page >> fault_region_shift;
	__u64 id = (pid << 26 ^ region) << 16, first = page & 0xffff;
	__u64 *at = &fault_regions[masked((__u32)(region ^ pid * 31), FAULT_REGIONS - 1)];
	__u64 was = *at;

	if (was >> 16 == id >> 16 && (was & 0xffff) != first)
		return false;
	*at = id | first;
	return true;
}

/* The note of the fault; 0: it is not wanted. */
static __always_inline __u64 take_fault(__u64 addr, __u32 shift)
{
	__u64 page = addr >> fault_page_shift;
	__u32 flags = 0;

	if (fault_chooses(page, shift))
		flags = FAULT_CHOSEN;
	else if (!fault_region_shift || !fault_chooses_region(page, shift, fault_region_shift))
		return 0;
	if (fault_region_shift && is_first_in_region(page))
		flags |= FAULT_FIRST;
	return flags ? fault_note(page, shift, flags) : 0;
}

/* A page fault, as the kernel begins to serve it. */
static __always_inline void on_fault(struct bpf_perf_event_data *ctx, __u64 began_ns, bool has_loop)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct proc_info *proc = bpf_map_lookup_elem(&procs, &pid);
	__u64 note, now_ns;

	/* Most faults of the machine end here, and leave no trace in fault_regions. */
	if (!proc || !(proc->flags & PROC_PYTHON))
		return;
	note = take_fault(ctx->addr, FAULT_SHIFT_BEGIN + masked(proc->faults.rise, 31));
	if (!note)
		return;
	proc = tracked_process();
	now_ns = bpf_ktime_get_ns();
	if (!proc || now_ns > end_ns)
		return;
	fault_pay(&proc->faults, now_ns);
	take_of_event(ctx, proc, fault_event, note, 0, now_ns, began_ns, has_loop);
}

SEC("?perf_event")
EVENT_PROGRAM(fault_loop, on_fault, true, 0)

SEC("?perf_event")
EVENT_PROGRAM(fault_bounded, on_fault, false, 0)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
