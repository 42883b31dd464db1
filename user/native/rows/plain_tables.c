/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/plain_tables.h"

#include <stdlib.h>

#include "bpf/native/rows.h"
#include "native/rows/tables.h"

struct plain_tables {
	struct unwind_tables *tables;
	struct unwind_slab *slabs[UNWIND_SLABS_MAX];
	struct unwind_file files[UNWIND_FILES_MAX];
	struct unwind_space spaces[UNWIND_SPACES_MAX];
	struct unwind_control control;
};

static struct unwind_slab *new_slab(void *ctx, __u32 number)
{
	struct plain_tables *t = ctx;

	if (number < UNWIND_SLABS_MAX && !t->slabs[number])
		t->slabs[number] = calloc(1, sizeof(*t->slabs[number]));
	return number < UNWIND_SLABS_MAX ? t->slabs[number] : NULL;
}

struct plain_tables *plain_tables__new(__u64 bytes)
{
	struct plain_tables *t = calloc(1, sizeof(*t));
	struct unwind_memory memory;

	if (!t)
		return NULL;
	memory = (struct unwind_memory){ .files = t->files,
					 .spaces = t->spaces,
					 .control = &t->control,
					 .new_slab = new_slab,
					 .ctx = t };
	t->tables = unwind_tables__new(&memory, bytes);
	if (t->tables)
		return t;
	plain_tables__free(t);
	return NULL;
}

void plain_tables__free(struct plain_tables *t)
{
	if (!t)
		return;
	unwind_tables__free(t->tables);
	for (int i = 0; i < UNWIND_SLABS_MAX; i++)
		free(t->slabs[i]);
	free(t);
}

struct unwind_tables *plain_tables__tables(const struct plain_tables *t)
{
	return t->tables;
}
