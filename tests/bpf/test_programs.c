/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_programs.c - two samplers that are loaded at once: where the verifier refuses a program of each, each error has
 * the reason of its own. And which processes a sampler tracks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "krait.skel.h"
#include "sampler/programs.h"
#include "sampler/sampler.h"
#include "util/cleanup.h"
#include "util/error.h"
#include "util/event.h"
#include "support_own.h"

#define ROUNDS 40

/* What one thread loads again and again, and what the verifier says of it. */
struct refused {
	struct bpf_insn first;
	const char *reason;
	unsigned right, other;
	char said[512]; /* the last one that was not right */
};

/* One program alone, that begins with a bad instruction. */
static int load_bad(const struct bpf_insn *first, struct error *err)
{
	cleanup_free struct bpf_insn *insns = NULL;
	struct bpf_program *program;
	size_t cnt;
	struct krait_bpf *skel;
	int types_fd, result;

	skel = programs_open(&types_fd);
	if (!skel)
		return -1;
	bpf_object__for_each_program(program, skel->obj)
		bpf_program__set_autoload(program, false);
	bpf_program__set_autoload(skel->progs.process_exec, true);
	bpf_map__set_max_entries(skel->maps.ring, 1 << 16);
	cnt = bpf_program__insn_cnt(skel->progs.process_exec);
	insns = calloc(cnt, sizeof(*insns));
	assert_non_null(insns);
	memcpy(insns, bpf_program__insns(skel->progs.process_exec), cnt * sizeof(*insns));
	insns[0] = *first;
	result = bpf_program__set_insns(skel->progs.process_exec, insns, cnt);
	if (!result)
		result = programs_load(skel, err);
	krait_bpf__destroy(skel);
	if (types_fd >= 0)
		close(types_fd);
	return result;
}

static void *load_again(void *arg)
{
	struct refused *r = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct error err = { .text = "" };

		if (load_bad(&r->first, &err) && strstr(err.text, r->reason)) {
			r->right++;
		} else {
			r->other++;
			snprintf(r->said, sizeof(r->said), "%s", err.text);
		}
	}
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
		assert_int_equal(pthread_create(&threads[i], NULL, load_again, &list[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(list[i].said, "");
		assert_int_equal(list[i].right, ROUNDS);
	}
}

/* The interrupts of others would count for nobody: whoever tracks says that it is Python, nobody says so instead. */
static void only_python_is_tracked(void **state)
{
	const struct sampler_handler nobody = { 0 };
	struct event_spec clock;
	struct sampler_config config = { .events = &clock, .event_cnt = 1 };
	struct proc_info info = { .start_ns = own_start_ns() };
	struct error err = { .text = "" };
	struct sampler *s;

	assert_int_equal(event_parse(&clock, "cpu-clock", strlen("cpu-clock")), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_load_has_its_own_reason),
		cmocka_unit_test(only_python_is_tracked),
	};

	if (geteuid()) {
		puts("1..0 # SKIP not root");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
