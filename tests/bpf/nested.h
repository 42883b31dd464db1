/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nested.h - what test_nested.c and the programs of nested.bpf.c agree on.
 */
#ifndef KRAIT_TESTS_NESTED_H
#define KRAIT_TESTS_NESTED_H

/* The events; what a record says of its period shows whether it interrupted another sample. */
#define NESTED_TRACE 1
#define NESTED_CLOCK 2
#define NESTED_PLAIN 1
#define NESTED_INNER 2

#define NESTED_MAX_CPUS 1024

/* What breaks the program, to show that the test would see it. */
enum nested_lock {
	NESTED_LOCKED,
	NESTED_UNLOCKED, /* the inner program takes what the outer one has */
};

#endif /* KRAIT_TESTS_NESTED_H */
