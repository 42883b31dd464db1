/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_symbolizer.h - a process with one code object, "old", at generation 5, and the race in which
 * it is replaced the way CPython would: another code object at the same address, other text where the
 * strings were, the generation one up.
 */
#ifndef KRAIT_TESTS_SUPPORT_SYMBOLIZER_H
#define KRAIT_TESTS_SUPPORT_SYMBOLIZER_H

#include "support_image.h"
#include "symbol/symbolizer.h"

struct fixture {
	struct image *image;
	struct py_offsets offsets;
	struct memory memory;
	struct symbolizer *s;
	struct image_code old, new;
	__u64 addr;
	__u64 generation;
};

/* For cmocka: *state is the fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* A new symbolizer, which has seen nothing. */
void fixture_restart(struct fixture *f);
void use_layout_without_generation(struct fixture *f);

void fixture_set_generation(struct fixture *f, __u64 generation);
/* The race, for image.change, and back again. */
void fixture_replace(struct image *image, void *arg);
void fixture_undo(struct fixture *f);

/* An interrupt at that generation; one that took the fingerprint of that code object. */
struct code_query query_at(const struct fixture *f, __u64 generation);
struct code_query query_by(const struct fixture *f, const struct image_code *code);

/* The name, or NULL and *ret_status. What is not OK must not touch the results. */
const char *fixture_resolve(struct fixture *f, struct code_query q, enum symbol_status *ret_status);
void assert_name(struct fixture *f, struct code_query q, const char *name);
void assert_status(struct fixture *f, struct code_query q, enum symbol_status expected);
__u64 serial_of(struct fixture *f, struct code_query q);

#endif /* KRAIT_TESTS_SUPPORT_SYMBOLIZER_H */
