/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_symbolizer.h"

static const __u8 old_lines[] = { 0x80 | 13 << 3 | 7, 4 };

void fixture_restart(struct fixture *f)
{
	symbolizer__free(f->s);
	f->s = symbolizer__new(&f->offsets, &f->memory);
	assert_non_null(f->s);
}

int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->image = image_new();
	f->offsets = image_offsets;
	f->memory = f->image->memory;
	f->old = (struct image_code){ image_ascii(f->image, "old"), image_ascii(f->image, "o.py"),
				      image_bytes(f->image, old_lines, sizeof(old_lines)), 10, 1 };
	f->new = f->old;
	f->new.qualname_addr = image_ascii(f->image, "new");
	f->new.version = 2;
	f->addr = image_code(f->image, &f->old);
	f->elsewhere_addr = image_code(f->image, &f->old);
	f->generation = 5;
	image_set_generation(f->image, 5);
	fixture_restart(f);
	*state = f;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	symbolizer__free(f->s);
	image_free(f->image);
	free(f);
	return 0;
}

/* The address of a code object is not part of its fingerprint. */
static __u32 fingerprint_of(const struct fixture *f, const struct image_code *code)
{
	image_put_code(f->image, f->elsewhere_addr, code);
	return image_fingerprint(f->image, f->elsewhere_addr);
}

struct code_query query_at(const struct fixture *f, __u64 generation)
{
	return (struct code_query){ f->addr, IMAGE_INTERP, generation, 0, 4 };
}

struct code_query query_by(const struct fixture *f, const struct image_code *code)
{
	return (struct code_query){ f->addr, IMAGE_INTERP, 0, fingerprint_of(f, code), 4 };
}

void use_layout_without_generation(struct fixture *f)
{
	f->offsets.interp.code_object_generation = PYOFF_ABSENT;
	f->offsets.version = 0x030d00f0;
	fixture_restart(f);
}

const char *fixture_resolve(struct fixture *f, struct code_query q, enum symbol_status *ret_status)
{
	struct source_position position = { 7, 7, 7, 7 };
	struct code_symbol symbol = { .serial = 7 };

	*ret_status = symbolizer__resolve(f->s, &q, &symbol, &position);
	if (*ret_status != SYMBOL_OK) {
		assert_null(symbol.qualname);
		assert_int_equal(symbol.serial, 7);
		assert_int_equal(position.line, 7);
		return NULL;
	}
	assert_true(symbol.serial > 0);
	assert_string_equal(symbol.filename, "o.py");
	assert_int_equal(symbol.first_line, 10);
	assert_int_equal(position.line, 12);
	return symbol.qualname;
}

void assert_name(struct fixture *f, struct code_query q, const char *name)
{
	enum symbol_status status;
	const char *found = fixture_resolve(f, q, &status);

	assert_int_equal(status, SYMBOL_OK);
	assert_string_equal(found, name);
}

void assert_status(struct fixture *f, struct code_query q, enum symbol_status expected)
{
	enum symbol_status status;

	fixture_resolve(f, q, &status);
	assert_int_equal(status, expected);
}

void fixture_set_generation(struct fixture *f, __u64 generation)
{
	f->generation = generation;
	image_set_generation(f->image, generation);
}

void fixture_replace(struct image *image, void *arg)
{
	struct fixture *f = arg;

	image_put_code(image, f->addr, &f->new);
	memcpy(image_at(image, f->old.qualname_addr + 40), "bad", 3);
	fixture_set_generation(f, f->generation + 1);
}

void fixture_undo(struct fixture *f)
{
	image_put_code(f->image, f->addr, &f->old);
	memcpy(image_at(f->image, f->old.qualname_addr + 40), "old", 3);
	fixture_set_generation(f, 5);
	f->image->change_at = 0;
}

__u64 serial_of(struct fixture *f, struct code_query q)
{
	struct source_position position;
	struct code_symbol symbol;

	assert_int_equal(symbolizer__resolve(f->s, &q, &symbol, &position), SYMBOL_OK);
	return symbol.serial;
}
