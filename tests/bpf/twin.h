/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * twin.h - parameters from a test to the programs of twin.bpf.c.
 */
#ifndef KRAIT_TESTS_TWIN_H
#define KRAIT_TESTS_TWIN_H

/* Context of a syscall program. */
struct twin_args {
	__u64 period;
	__u64 ip, sp, fp;
};

#endif /* KRAIT_TESTS_TWIN_H */
