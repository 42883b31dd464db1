/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_nested.c - a sample that interrupts another one of the same thread, on the same CPU, tears nothing.
 *
 * This process has a fake interpreter's deep stack in its memory. A tracepoint's program walks it at each
 * getppid(), with interrupts on, and a clock of some kHz interrupts it there: both must say what is true, and
 * what they say, one after the other, must merge to it. With the locks taken out the test must see that.
 */
#include "support_own.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "nested.h"
#include "nested.skel.h"
#include "kernel/sampler/record.h"
#include "kernel/sampler/sampler.h"
#include "record/stack/stacks.h"

#define VERSION 2 /* 3.15, which has anchors */
#define FRAMES 1500
#define ANCHOR_AT 400 /* frames above the anchor */
#define HZ 3000
#define RING (16 << 20)
#define SLOT 7
#define EPOCH 11
/* Enough for the two to have met in every place that takes some time. */
#define MEETINGS 100
#define SECONDS_MAX 60

struct nested_test {
	struct nested *skel;
	struct ring_buffer *ring;
	struct bpf_link *links[2];
	int clock_fd; /* owned by its link */
	struct fake *fake;
	struct fake_stack stack;
	struct stacks *stacks;
	struct last_stack *last;
	__u64 start_ns;
	/* counts of one phase */
	int outer, inner, deltas, inner_notes, wrong, bad_records;
	struct event_counts before[3];
};

/* ---- records ---------------------------------------------------------------------------------- */

static void on_sample(void *ctx, const struct record_sample *record)
{
	struct nested_test *t = ctx;
	struct stack *stack;

	t->start_ns = record->thread_start_ns;
	t->outer += record->event == NESTED_TRACE;
	t->deltas += record->anchor == ANCHOR_NOTE_DELTA;
	if (record->period == NESTED_INNER) {
		t->inner++;
		t->inner_notes += record->anchor != ANCHOR_NOTE_NONE;
	}
	if (record->reason != REASON_PYTHON ||
	    stacks__merge(t->stacks, &t->last, record, record__frames(record), &stack) ||
	    !own_stack_is(&t->stack, stack->frames, stack->cnt, true))
		t->wrong++;
}

static void on_bad_record(void *ctx)
{
	((struct nested_test *)ctx)->bad_records++;
}

static int on_record(void *ctx, void *data, size_t size)
{
	struct sampler_handler handler = { .sample = on_sample,
					   .bad_record = on_bad_record,
					   .ctx = ctx };

	record_dispatch(&handler, data, size);
	return 0;
}

/* ---- programs --------------------------------------------------------------------------------- */

static int load(struct nested_test *t)
{
	bool has_loop = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1;
	struct nested *skel = t->skel = nested__open();

	if (!skel)
		return -1;
	bpf_program__set_autoload(skel->progs.trace_loop, has_loop);
	bpf_program__set_autoload(skel->progs.clock_loop, has_loop);
	bpf_program__set_autoload(skel->progs.trace_bounded, !has_loop);
	bpf_program__set_autoload(skel->progs.clock_bounded, !has_loop);
	skel->rodata->cpu_cnt = libbpf_num_possible_cpus();
	skel->rodata->sample_bytes_max = RING - RING / 16;
	bpf_map__set_max_entries(skel->maps.scratch, CONTEXT_CNT * libbpf_num_possible_cpus());
	bpf_map__set_max_entries(skel->maps.ring, RING);
	skel->bss->traced_pid = getpid();
	skel->bss->traced_syscall = SYS_getppid;
	if (nested__load(skel))
		return -1;
	t->links[0] =
		bpf_program__attach(has_loop ? skel->progs.trace_loop : skel->progs.trace_bounded);
	return t->links[0] ? 0 : -1;
}

static int start_clock(struct nested_test *t)
{
	bool has_loop = bpf_program__autoload(t->skel->progs.clock_loop);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = HZ,
		.disabled = 1,
	};
	int fd = t->clock_fd =
		(int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -1;
	t->links[1] = bpf_program__attach_perf_event(
		has_loop ? t->skel->progs.clock_loop : t->skel->progs.clock_bounded, fd);
	return t->links[1] ? 0 : -1;
}

static int set_up(void **state)
{
	struct nested_test *t = calloc(1, sizeof(*t));

	*state = t;
	if (!t || load(t))
		return -1;
	t->ring = ring_buffer__new(bpf_map__fd(t->skel->maps.ring), on_record, t, NULL);
	t->stacks = stacks__new();
	if (!t->ring || !t->stacks)
		return -1;
	t->fake = fake_new(&fake_versions[VERSION], 0, 16 << 20);
	own_stack(&t->stack, t->fake, FRAMES, t->skel->data_layouts->layouts, t->skel->maps.procs);
	return start_clock(t);
}

static int tear_down(void **state)
{
	struct nested_test *t = *state;

	bpf_link__destroy(t->links[1]);
	bpf_link__destroy(t->links[0]);
	ring_buffer__free(t->ring);
	nested__destroy(t->skel);
	stacks__forget(t->stacks, &t->last);
	stacks__free(t->stacks);
	fake_free(t->fake);
	free(t);
	return 0;
}

/* ---- phases ----------------------------------------------------------------------------------- */

static struct event_counts counts(struct nested_test *t, __u32 event)
{
	struct event_counts *values = calloc(libbpf_num_possible_cpus(), sizeof(*values)),
			    sum = { 0 };

	assert_int_equal(
		bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.event_counts), &event, values), 0);
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		sum.interrupts += values[cpu].interrupts;
		sum.ring_full += values[cpu].ring_full;
		sum.nested += values[cpu].nested;
	}
	free(values);
	return sum;
}

static __u64 nested_since(struct nested_test *t, __u32 event)
{
	return counts(t, event).nested - t->before[event].nested;
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Runs until the programs have met often enough or a record was wrong. */
static void run(struct nested_test *t, enum sample_context context, enum nested_lock lock)
{
	time_t end = now() + SECONDS_MAX;
	__u64 met = t->skel->bss->met + MEETINGS;

	t->outer = t->inner = t->deltas = t->inner_notes = t->wrong = t->bad_records = 0;
	for (__u32 event = 1; event < 3; event++)
		t->before[event] = counts(t, event);
	t->skel->bss->trace_context = context;
	t->skel->bss->lock = lock;
	assert_int_equal(ioctl(t->clock_fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	while (t->skel->bss->met < met && !t->wrong && now() < end) {
		for (int i = 0; i < 20; i++)
			syscall(SYS_getppid);
		assert_true(ring_buffer__consume(t->ring) >= 0);
	}
	assert_int_equal(ioctl(t->clock_fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	assert_true(ring_buffer__consume(t->ring) >= 0);
	assert_true(t->wrong || t->skel->bss->met >= met);
}

static void samples_in_contexts_of_their_own_are_both_true(void **state)
{
	struct nested_test *t = *state;

	run(t, CONTEXT_TRACE, NESTED_LOCKED);
	assert_int_equal(t->wrong + t->bad_records, 0);
	assert_true(t->inner >= MEETINGS && t->outer >= MEETINGS / 10);
	assert_int_equal(nested_since(t, NESTED_TRACE) + nested_since(t, NESTED_CLOCK), 0);
}

/* If the rule of contexts is broken, the inner sample is lost and counted. */
static void memory_in_use_is_not_given_out_again(void **state)
{
	struct nested_test *t = *state;

	run(t, CONTEXT_EVENT, NESTED_LOCKED);
	assert_int_equal(t->wrong + t->bad_records, 0);
	/* Some ran before the outer one had taken the memory, or after. */
	assert_true(t->inner * 4 < MEETINGS);
	assert_true(nested_since(t, NESTED_CLOCK) >= MEETINGS / 2);
	assert_int_equal(nested_since(t, NESTED_TRACE), 0);
}

/* Control: the same test without the lock. */
static void without_the_lock_stacks_are_torn(void **state)
{
	struct nested_test *t = *state;

	run(t, CONTEXT_EVENT, NESTED_UNLOCKED);
	assert_true(t->wrong + t->bad_records > 0);
}

/* From here on the thread has a slot, and an anchor written by user space. */
static void give_anchor(struct nested_test *t)
{
	const struct py_offsets *off = &t->fake->offsets;
	static struct anchor anchor = { .epoch = EPOCH, .seq = 5 };
	struct thread_ref ref = { .start_ns = t->start_ns, .slot = SLOT, .anchor = 0 };

	anchor.tstate_addr = t->stack.tstate_addr;
	anchor.addr_cnt = KRAIT_ANCHOR_FRAMES;
	anchor.state_epoch = 0;
	for (__u32 i = 0; i < KRAIT_ANCHOR_FRAMES; i++)
		anchor.addrs[i] = fake_expected(&t->stack, ANCHOR_AT + i)->frame_addr;
	fake_put(t->fake, t->stack.tstate_addr + off->thread.last_profiled_frame, anchor.addrs[0]);
	fake_put(t->fake, t->stack.tstate_addr + off->thread.last_profiled_frame_seq, anchor.seq);
	own_put(t->skel->maps.anchors, 0, &anchor);
	own_put(t->skel->maps.threads, gettid(), &ref);
}

static void a_threads_slot_and_anchor_are_the_outer_samples(void **state)
{
	struct nested_test *t = *state;
	struct thread_slot slot;
	__u32 key = SLOT;

	give_anchor(t);
	run(t, CONTEXT_TRACE, NESTED_LOCKED);
	assert_int_equal(t->wrong + t->bad_records, 0);
	assert_true(t->inner >= MEETINGS && t->deltas >= MEETINGS / 10);
	/* Except those that ran before the outer one had taken them, or after. */
	assert_true(t->inner_notes * 4 < t->inner);
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.slots), &key, &slot), 0);
	assert_int_equal(slot.tstate_addr, t->stack.tstate_addr);
	assert_int_equal(slot.taken, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_in_contexts_of_their_own_are_both_true),
		cmocka_unit_test(memory_in_use_is_not_given_out_again),
		cmocka_unit_test(without_the_lock_stacks_are_torn),
		cmocka_unit_test(a_threads_slot_and_anchor_are_the_outer_samples),
	};

	if (geteuid()) {
		printf("1..0 # SKIP not root\n");
		return 0;
	}
	return cmocka_run_group_tests_name("sampler: nested", tests, set_up, tear_down);
}
