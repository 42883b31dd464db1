/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_relocation.c - krait's programs are relocated the same with an excerpt of the kernel's types
 * as with all of them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "krait.skel.h"
#include "kernel/sampler/kernel_btf.h"
#include "base/data/cleanup.h"

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static struct krait_bpf *load(const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types);
	struct krait_bpf *skel = krait_bpf__open_opts(&opts);

	assert_non_null(skel);
	bpf_map__set_max_entries(skel->maps.scratch, libbpf_num_possible_cpus());
	bpf_map__set_max_entries(skel->maps.ring, 1 << 20);
	/* Without bpf_loop() in the kernel, this one cannot be loaded. */
	bpf_program__set_autoload(skel->progs.sample_loop,
				  libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop,
							  NULL) == 1);
	bpf_program__set_autoload(skel->progs.runtime_begin,
				  libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE,
							  BPF_FUNC_get_attach_cookie, NULL) == 1);
	assert_int_equal(krait_bpf__load(skel), 0);
	return skel;
}

/* Descriptors of maps differ each time. */
static bool is_map(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg;
}

static void assert_same_program(const struct bpf_program *a, const struct bpf_program *b)
{
	const struct bpf_insn *x = bpf_program__insns(a), *y = bpf_program__insns(b);

	assert_int_equal(bpf_program__insn_cnt(a), bpf_program__insn_cnt(b));
	for (size_t i = 0; i < bpf_program__insn_cnt(a); i++) {
		struct bpf_insn left = x[i], right = y[i];

		if (is_map(&left) && is_map(&right))
			left.imm = right.imm = 0;
		if (memcmp(&left, &right, sizeof(left)))
			fail_msg("%s differs at instruction %zu", bpf_program__name(a), i);
	}
}

static void the_excerpt_relocates_programs_as_all_types_do(void **state)
{
	cleanup_close int types = memfd_create("types", MFD_CLOEXEC);
	struct krait_bpf *plain = load(NULL), *skel;
	struct bpf_program *a, *b = NULL;
	__u32 func;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	assert_int_equal(
		kernel_btf_write(bpf_object__btf(plain->obj), KERNEL_BTF, types, "", &func), 0);
	skel = load(path);
	bpf_object__for_each_program(a, plain->obj) {
		b = bpf_object__next_program(skel->obj, b);
		assert_string_equal(bpf_program__name(a), bpf_program__name(b));
		assert_same_program(a, b);
	}
	krait_bpf__destroy(plain);
	krait_bpf__destroy(skel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_excerpt_relocates_programs_as_all_types_do),
	};

	if (geteuid()) {
		puts("1..0 # SKIP not root");
		return 0;
	}
	libbpf_set_print(silent);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
