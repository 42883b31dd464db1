/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_symbolizer.h - a process with one code object, "old", at generation 5, and the race in
 * which it is replaced as CPython would do it: another code object at the same address, other text
 * in place of the strings, and the generation incremented.
 */
#ifndef KRAIT_TESTS_SUPPORT_SYMBOLIZER_H
#define KRAIT_TESTS_SUPPORT_SYMBOLIZER_H

#include "support_image.h"
#include "python/code/symbolizer.h"

struct fixture {
	struct image *image;
	struct py_offsets offsets;
	struct memory memory;
	struct symbolizer *s;
	struct image_code old, new;
	__u64 addr, elsewhere_addr;
	__u64 generation;
};

/* For cmocka: *state is the fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* Makes a new symbolizer that has seen nothing. */
void fixture_restart(struct fixture *f);
void use_layout_without_generation(struct fixture *f);

void fixture_set_generation(struct fixture *f, __u64 generation);
/* The race, for image.change, and its reversal. */
void fixture_replace(struct image *image, void *arg);
void fixture_undo(struct fixture *f);

/* Returns an interrupt at that generation, or one that took that code object's fingerprint. */
struct code_query query_at(const struct fixture *f, __u64 generation);
struct code_query query_by(const struct fixture *f, const struct image_code *code);

/* Returns the name, or NULL with *ret_status. Unless OK, the results must be untouched. */
const char *fixture_resolve(struct fixture *f, struct code_query q, enum symbol_status *ret_status);
void assert_name(struct fixture *f, struct code_query q, const char *name);
void assert_status(struct fixture *f, struct code_query q, enum symbol_status expected);
__u64 serial_of(struct fixture *f, struct code_query q);

#endif /* KRAIT_TESTS_SUPPORT_SYMBOLIZER_H */
