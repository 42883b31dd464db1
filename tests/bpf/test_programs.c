/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_programs.c - two samplers loaded at the same time: if the verifier refuses a program of
 * each, each error has its own reason. Also: which processes a sampler tracks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "krait.skel.h"
#include "kernel/sampler/probe.h"
#include "kernel/sampler/programs.h"
#include "kernel/sampler/sampler.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/system/event.h"
#include "support_own.h"

/* Timeout for waiting for the other thread's verifier, which normally takes far less. */
#define MEETING_S 20

/* What one thread loads, and what the verifier says about it. */
struct refused {
	struct bpf_insn first;
	const char *reason;
	struct krait_bpf *skel;
	int types_fd, result;
	struct error err;
};

/*
 * Both threads have their verifier's log and have noted the reason before either goes on: if they
 * shared one buffer, it would be wrong for one of them.
 */
static libbpf_print_fn_t product_print;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrival = PTHREAD_COND_INITIALIZER;
static unsigned arrived;

static void meet_the_other(void)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += MEETING_S;
	pthread_mutex_lock(&lock);
	arrived++;
	pthread_cond_broadcast(&arrival);
	while (arrived < 2 && !err)
		err = pthread_cond_timedwait(&arrival, &lock, &until);
	pthread_mutex_unlock(&lock);
}

static int print_and_meet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char text[256];
	va_list copy;
	int result;

	va_copy(copy, ap);
	vsnprintf(text, sizeof(text), fmt, copy);
	va_end(copy);
	result = product_print(level, fmt, ap);
	if (level == LIBBPF_WARN && strstr(text, "BEGIN PROG LOAD LOG"))
		meet_the_other();
	return result;
}

/* A single program that begins with an invalid instruction. */
static void open_bad(struct refused *r)
{
	cleanup_free struct bpf_insn *insns = NULL;
	struct bpf_program *program;
	size_t cnt;

	r->skel = programs_open(&r->types_fd);
	assert_non_null(r->skel);
	bpf_object__for_each_program(program, r->skel->obj)
		bpf_program__set_autoload(program, false);
	bpf_program__set_autoload(r->skel->progs.process_exec, true);
	bpf_map__set_max_entries(r->skel->maps.ring, 1 << 16);
	cnt = bpf_program__insn_cnt(r->skel->progs.process_exec);
	insns = calloc(cnt, sizeof(*insns));
	assert_non_null(insns);
	memcpy(insns, bpf_program__insns(r->skel->progs.process_exec), cnt * sizeof(*insns));
	insns[0] = r->first;
	assert_int_equal(bpf_program__set_insns(r->skel->progs.process_exec, insns, cnt), 0);
}

static void *load_bad(void *arg)
{
	struct refused *r = arg;

	r->result = programs_load(r->skel, &r->err);
	return NULL;
}

static void each_load_has_its_own_reason(void **state)
{
	struct refused list[] = {
		{ .first = { .code = BPF_ALU64 | BPF_MOV | BPF_X, .src_reg = BPF_REG_5 },
		  .reason = "R5 !read_ok" },
		{ .first = { .code = BPF_LDX | BPF_MEM | BPF_DW, .src_reg = BPF_REG_10, .off = 8 },
		  .reason = "invalid read from stack" },
	};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		open_bad(&list[i]);
	product_print = libbpf_set_print(print_and_meet);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, load_bad, &list[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	libbpf_set_print(product_print);
	assert_int_equal(arrived, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_not_equal(list[i].result, 0);
		assert_non_null(strstr(list[i].err.text, list[i].reason));
		krait_bpf__destroy(list[i].skel);
		if (list[i].types_fd >= 0)
			close(list[i].types_fd);
	}
}

/*
 * Nobody would count the interrupts of other processes: tracking one means to declare that it is
 * Python.
 */
static void only_python_is_tracked(void **state)
{
	const struct sampler_handler nobody = { 0 };
	struct event_spec clock;
	struct sampler_config config = { .events = &clock, .event_cnt = 1 };
	struct proc_info info = { .start_ns = own_start_ns() };
	struct error err = { .text = "" };
	struct sampler *s;

	assert_int_equal(event_parse(&clock, "cpu-clock", strlen("cpu-clock"), (char[8]){ 0 }, 8),
			 0);
	s = sampler__new(&config, &nobody, &err);
	assert_string_equal(err.text, "");
	assert_non_null(s);
	assert_int_equal(sampler__track(s, getpid(), &info), -EINVAL);
	info.flags = (__u32)~PROC_PYTHON;
	assert_int_equal(sampler__track(s, getpid(), &info), -EINVAL);
	info.flags = PROC_PYTHON;
	assert_int_equal(sampler__track(s, getpid(), &info), 0);
	sampler__free(s);
}

/* Which programs are loaded where the kernel has these. */
static void configure(struct krait_bpf **ret, bool bpf_loop, bool tail_calls)
{
	const struct features features = { .bpf_loop = bpf_loop, .tail_calls = tail_calls };
	const struct event_code code = { 0 };
	struct event_spec events[3];
	const struct sampler_config config = { .events = events, .event_cnt = 3 };
	char error[8];
	int types_fd;

	assert_int_equal(
		event_parse(&events[0], "cpu-clock", strlen("cpu-clock"), error, sizeof(error)), 0);
	events[1] = events[2] = events[0];
	events[1].type = events[2].type = PERF_TYPE_TRACEPOINT;
	events[2].code = &code;
	*ret = programs_open(&types_fd);
	assert_non_null(*ret);
	if (types_fd >= 0)
		close(types_fd);
	assert_int_equal(programs_configure(*ret, &config, false, &features), 0);
}

/*
 * A kernel without calls of other programs (arm64 before 6.0, no JIT compiler) still has probes and tracepoints if it has
 * bpf_loop(); and the program without such calls walks stacks.
 */
static void probes_need_only_bpf_loop(void **state)
{
	for (int i = 0; i < 4; i++) {
		const bool bpf_loop = i & 1, tail_calls = i & 2;
		struct krait_bpf *skel;

		configure(&skel, bpf_loop, tail_calls);
		assert_int_equal(bpf_program__autoload(skel->progs.probe_tracepoint), bpf_loop);
		assert_int_equal(bpf_program__autoload(skel->progs.probe_code), bpf_loop);
		assert_int_equal(bpf_program__autoload(skel->progs.sample_loop),
				 bpf_loop && tail_calls);
		assert_int_equal(bpf_program__autoload(skel->progs.sample_bounded),
				 !(bpf_loop && tail_calls));
		krait_bpf__destroy(skel);
	}
}

/* What was missing may be there for the next process. */
static void chains_are_loaded_once_there_is_memory(void **state)
{
	const struct sampler_handler nobody = { 0 };
	const struct task_layout layout = { .start_ns = own_start_ns() };
	struct event_spec clock;
	struct sampler_config config = { .events = &clock, .event_cnt = 1, .tasks = true };
	struct error err = { .text = "" };
	struct rlimit room, none;
	struct sampler *s;
	int result;

	assert_int_equal(event_parse(&clock, "cpu-clock", strlen("cpu-clock"), (char[8]){ 0 }, 8),
			 0);
	s = sampler__new(&config, &nobody, &err);
	assert_non_null(s);
	assert_int_equal(getrlimit(RLIMIT_AS, &room), 0);
	none = (struct rlimit){ .rlim_cur = 1 << 20, .rlim_max = room.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	result = sampler__set_tasks(s, getpid(), &layout);
	assert_int_equal(setrlimit(RLIMIT_AS, &room), 0);
	assert_int_equal(result, -ENOMEM);
	assert_int_equal(sampler__set_tasks(s, getpid(), &layout), 0);
	sampler__free(s);
}

/* The largest number that a descriptor of this process has there in its fdinfo (kernel/bpf/syscall.c); 0: none has it. */
static unsigned largest_of(const char *format)
{
	unsigned largest = 0, number;
	char path[64], line[128];

	for (int fd = 0; fd < 256; fd++) {
		cleanup_fclose FILE *f = NULL;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, format, &number) == 1 && number > largest)
				largest = number;
	}
	return largest;
}

/* The id of the newest BPF program that this process has open; the kernel counts them. */
static unsigned newest_program(void)
{
	return largest_of("prog_id: %u");
}

static bool is_attached(void)
{
	return largest_of("link_id: %u");
}

/* Rates may differ, and nothing else that the programs know. Nothing is attached before there is a sampler. */
static void what_was_loaded_ahead_is_taken_if_it_suits(void **state)
{
	const struct sampler_handler nobody = { 0 };
	struct event_spec clock;
	struct sampler_config config = { .events = &clock, .event_cnt = 1, .native = true };
	struct error err = { .text = "" };
	struct sampler *s;
	unsigned ahead;

	assert_int_equal(event_parse(&clock, "cpu-clock", strlen("cpu-clock"), (char[8]){ 0 }, 8),
			 0);
	for (int other = 0; other < 2; other++) {
		clock.frequency = 997;
		config.opcodes = false;
		assert_int_equal(sampler_load_ahead(&config, &err), 0);
		assert_false(is_attached());
		ahead = newest_program();
		assert_int_not_equal(ahead, 0);
		clock.frequency = 499;
		config.opcodes = other;
		s = sampler__new(&config, &nobody, &err);
		if (!s)
			fail_msg("%s", err.text);
		assert_true(is_attached());
		if (other)
			assert_true(newest_program() > ahead);
		else
			assert_int_equal(newest_program(), ahead);
		sampler__free(s);
		assert_int_equal(newest_program(), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_load_has_its_own_reason),
		cmocka_unit_test(probes_need_only_bpf_loop),
		cmocka_unit_test(only_python_is_tracked),
		cmocka_unit_test(what_was_loaded_ahead_is_taken_if_it_suits),
		cmocka_unit_test(chains_are_loaded_once_there_is_memory),
	};

	if (geteuid()) {
		puts("1..0 # SKIP not root");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
