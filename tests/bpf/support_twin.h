/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_twin.h - runs the twin of the sampling programs in this process, and compares its output
 * with what the same headers say on the host.
 *
 * Header only: the Makefile links one test with one object, and two tests share this.
 */
#ifndef KRAIT_TESTS_SUPPORT_TWIN_H
#define KRAIT_TESTS_SUPPORT_TWIN_H

#include "support_own.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "kernel/sampler/record.h"
#include "kernel/sampler/sampler.h"
#include "support_walker.h"
#include "twin.h"
#include "twin.skel.h"

#define TWIN_PERIOD 0x1234567ULL

struct twin_test {
	struct twin *skel;
	struct ring_buffer *ring;
	struct fake *fake;
	struct fake_stack stack;
	struct stack_walk_result host;
	struct proc_info proc;
	__u32 pid;
	int records, bad_records, codes;
	struct record_sample record;
	struct frame frames[KRAIT_MAX_FRAMES];
};

static void twin_sample(void *ctx, const struct record_sample *record)
{
	struct twin_test *t = ctx;

	t->records++;
	t->record = *record;
	memcpy(t->frames, record__frames(record), record->cnt[SECTION_FRAMES] * sizeof(*t->frames));
}

static void twin_bad_record(void *ctx)
{
	((struct twin_test *)ctx)->bad_records++;
}

/* Receives snapshots of the fake's code objects; native/names/ has tests of their content. */
static void twin_code(void *ctx, const struct record_code *record)
{
	((struct twin_test *)ctx)->codes++;
}

static int twin_record(void *ctx, void *data, size_t size)
{
	struct sampler_handler handler = {
		.sample = twin_sample, .code = twin_code, .bad_record = twin_bad_record, .ctx = ctx
	};

	record_dispatch(&handler, data, size);
	return 0;
}

static int twin_load(struct twin_test *t)
{
	struct twin *skel = t->skel = twin__open();

	if (!skel)
		return -1;
	skel->rodata->cpu_cnt = libbpf_num_possible_cpus();
	bpf_map__set_max_entries(skel->maps.scratch, CONTEXT_CNT * libbpf_num_possible_cpus());
	bpf_map__set_max_entries(skel->maps.ring, 1 << 20);
	return twin__load(skel);
}

static int twin_new(void **state)
{
	struct twin_test *t = calloc(1, sizeof(*t));

	*state = t;
	if (!t || twin_load(t))
		return -1;
	t->ring = ring_buffer__new(bpf_map__fd(t->skel->maps.ring), twin_record, t, NULL);
	t->pid = getpid();
	return t->ring ? 0 : -1;
}

static int twin_free(void **state)
{
	struct twin_test *t = *state;

	ring_buffer__free(t->ring);
	twin__destroy(t->skel);
	if (t->fake)
		fake_free(t->fake);
	free(t);
	return 0;
}

/* Makes an empty, tracked interpreter of that version at real addresses. */
static void twin_begin(struct twin_test *t, int version)
{
	if (t->fake)
		fake_free(t->fake);
	t->fake = fake_new(&fake_versions[version], 0, 4 << 20);
	t->proc = (struct proc_info){ .runtime_addr = t->fake->runtime_addr,
				      .start_ns = own_start_ns(),
				      .flags = PROC_PYTHON,
				      .seen = 1 };
	t->skel->data_layouts->layouts[0] = t->fake->offsets;
	own_put(t->skel->maps.procs, t->pid, &t->proc);
}

/* Interrupts this thread once; the records stay in the ring. */
static void twin_fire(struct twin_test *t, bool has_loop)
{
	struct twin_args args = { TWIN_PERIOD, TWIN_PERIOD, TWIN_PERIOD, TWIN_PERIOD };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args, .ctx_size_in = sizeof(args));
	struct bpf_program *program = has_loop ? t->skel->progs.twin_loop :
						 t->skel->progs.twin_bounded;

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &opts), 0);
	assert_int_equal(opts.retval, 0);
}

/* Reads the pending records. Returns how many samples. */
static int twin_consume(struct twin_test *t)
{
	t->records = 0;
	assert_true(ring_buffer__consume(t->ring) >= 0);
	assert_int_equal(t->bad_records, 0);
	return t->records;
}

/* Interrupts this thread once and reads the resulting records. */
static int twin_interrupt(struct twin_test *t, bool has_loop)
{
	twin_fire(t, has_loop);
	return twin_consume(t);
}

static void assert_twin_says(struct twin_test *t, __u32 reason)
{
	assert_int_equal(t->record.reason, reason);
	assert_int_equal(t->record.pid, t->pid);
	assert_int_equal(t->record.tid, gettid());
	assert_int_equal(t->record.period, TWIN_PERIOD);
}

/* Checks that both flavours agree with the host. Returns the reason, for more checks. */
static __u32 assert_twins_agree(struct twin_test *t)
{
	for (int has_loop = 0; has_loop < 2; has_loop++) {
		host_sample(t->fake, own_thread_pointer(), NULL, &t->host);
		assert_int_equal(twin_interrupt(t, has_loop), 1);
		assert_twin_says(t, t->host.reason);
		if (reason_outcome(t->host.reason) == OUTCOME_LOST) {
			assert_int_equal(t->record.cnt[SECTION_FRAMES], 0);
			continue;
		}
		assert_int_equal(t->record.tstate_addr, t->host.tstate_addr);
		assert_int_equal(t->record.interp_addr, t->host.interp_addr);
		assert_int_equal(t->record.cnt[SECTION_FRAMES], t->host.frame_cnt);
		for (__u32 i = 0; i < t->host.frame_cnt; i++)
			assert_memory_equal(&t->frames[i], &t->host.frames[i],
					    offsetof(struct frame, fingerprint));
	}
	return t->host.reason;
}

/* Prints the reason and ends the process if the twin cannot run. */
static void twin_skip_if_impossible(void)
{
	const char *why = NULL;

	if (geteuid())
		why = "not root";
	else if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) != 1)
		why = "this kernel has no syscall programs (5.14)";
	else if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_SYSCALL, BPF_FUNC_loop, NULL) != 1)
		why = "this kernel has no bpf_loop (5.17)";
	if (!why)
		return;
	printf("1..0 # SKIP %s\n", why);
	exit(0);
}

#endif /* KRAIT_TESTS_SUPPORT_TWIN_H */
