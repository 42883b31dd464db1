/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nested.h - shared by test_nested.c and the programs of nested.bpf.c.
 */
#ifndef KRAIT_TESTS_NESTED_H
#define KRAIT_TESTS_NESTED_H

/* The events; a record's period tells whether it interrupted another sample. */
#define NESTED_TRACE 1
#define NESTED_CLOCK 2
#define NESTED_PLAIN 1
#define NESTED_INNER 2

#define NESTED_MAX_CPUS 1024

/* Ways to break the program, to prove that the test would notice. */
enum nested_lock {
	NESTED_LOCKED,
	NESTED_UNLOCKED, /* the inner program takes what the outer one holds */
};

#endif /* KRAIT_TESTS_NESTED_H */
