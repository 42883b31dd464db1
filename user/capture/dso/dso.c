/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso.c - assigns addresses; dso_elf.c writes what they stand for.
 */
#include "capture/dso/dso.h"
#include "base/data/vec.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Units of one code object that get their own slots; generated code has 100,000. */
#define MAX_UNITS (1U << 20)
#define FUNCTION_ALIGN 16U

_Static_assert(DSO_FULL_TEXT + DSO_TEXT_OFFSET + (MAX_UNITS + 2) * DSO_SLOT + FUNCTION_ALIGN <
		       DSO_STRIDE - 0x1000,
	       "the last function of a generation stays in its range");
_Static_assert((__u64)DSO_MAX_GENERATIONS *DSO_STRIDE <= DSO_OPCODE_STRIDE, "a place has 32 bits");

/* An array that is indexed by id and grows with it; new elements are 0. */
struct id_map {
	__u32 *values;
	__u32 cnt;
};

struct generation {
	__u32 first; /* index of its first function */
	__u32 end; /* offset of the end of its last slot */
	__u8 build_id[DSO_BUILD_ID_SIZE];
};

struct dso {
	struct dso_function *functions;
	__u32 function_cnt, function_cap;
	struct id_map by_code; /* index of the function + 1 */
	struct id_map by_frame; /* number of the slot, from DSO_BASE; 0: none yet */
	struct generation generations[DSO_MAX_GENERATIONS];
	__u32 generation_cnt;
	char *sources; /* dso__keep_sources() */
};

void dso__free(struct dso *d)
{
	if (!d)
		return;
	free(d->functions);
	free(d->by_code.values);
	free(d->by_frame.values);
	free(d->sources);
	free(d);
}

static __u32 *id_map_at(struct id_map *m, __u32 id)
{
	__u32 cnt = m->cnt ? m->cnt : 1024;
	__u32 *values;

	if (id < m->cnt)
		return &m->values[id];
	while (cnt <= id)
		cnt *= 2;
	values = reallocarray(m->values, cnt, sizeof(*values));
	if (!values)
		return NULL;
	memset(values + m->cnt, 0, (cnt - m->cnt) * sizeof(*values));
	m->values = values;
	m->cnt = cnt;
	return &m->values[id];
}

/* The first four bytes, which the file names contain, differ within a recording. */
static void make_build_id(struct dso *d, __u8 *id)
{
	__u32 number;

	memcpy(id, d->generations[0].build_id, DSO_BUILD_ID_SIZE);
	memcpy(&number, id, sizeof(number));
	number = htobe32(be32toh(number) + d->generation_cnt);
	memcpy(id, &number, sizeof(number));
}

/* The generation with room for one more function; NULL: none. */
static struct generation *open_generation(struct dso *d)
{
	struct generation *g = &d->generations[d->generation_cnt - 1];

	if (d->function_cnt - g->first < DSO_FULL_FUNCTIONS &&
	    g->end < DSO_TEXT_OFFSET + DSO_FULL_TEXT)
		return g;
	if (d->generation_cnt == DSO_MAX_GENERATIONS)
		return NULL;
	g = &d->generations[d->generation_cnt];
	*g = (struct generation){ .first = d->function_cnt, .end = DSO_TEXT_OFFSET };
	make_build_id(d, g->build_id);
	d->generation_cnt++;
	return g;
}

static struct dso_function *add_function(struct dso *d, __u32 slot_cnt)
{
	struct generation *g = open_generation(d);
	__u32 offset;

	if (!g)
		return NULL;
	offset = (g->end + FUNCTION_ALIGN - 1) / FUNCTION_ALIGN * FUNCTION_ALIGN;
	if (vec_reserve(d->functions, d->function_cap, d->function_cnt + 1))
		return NULL;
	d->functions[d->function_cnt] = (struct dso_function){
		.generation = d->generation_cnt - 1,
		.offset = offset,
		.slot_cnt = slot_cnt,
	};
	g->end = offset + slot_cnt * DSO_SLOT;
	return &d->functions[d->function_cnt++];
}

/* The function of a code object, which has two slots more than units. */
static const struct dso_function *code_function(struct dso *d, const struct dict *dict, __u32 code)
{
	__u32 units = dict__code_at(dict, code)->unit_cnt;
	__u32 *index = id_map_at(&d->by_code, code);
	struct dso_function *f;

	if (!index)
		return NULL;
	if (*index)
		return &d->functions[*index - 1];
	f = add_function(d, (units < MAX_UNITS ? units : MAX_UNITS) + 2);
	if (!f)
		return NULL;
	f->code = code;
	*index = d->function_cnt;
	return f;
}

/* The first slot stands for everything that finds no room; its symbol says so. */
struct dso *dso__new(void)
{
	struct dso *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->generation_cnt = 1;
	d->generations[0].end = DSO_TEXT_OFFSET;
	if (add_function(d, 1) &&
	    getrandom(d->generations[0].build_id, DSO_BUILD_ID_SIZE, 0) == DSO_BUILD_ID_SIZE)
		return d;
	dso__free(d);
	return NULL;
}

static __u32 place(struct dso *d, const struct dict *dict, __u32 frame)
{
	const struct profile_frame *pf = dict__frame_at(dict, frame);
	const struct dso_function *f;
	struct dso_function *own;
	__u32 unit;

	if (pf->code) {
		f = code_function(d, dict, pf->code);
		if (!f)
			return DSO_TEXT_OFFSET;
		unit = pf->unit >= 0 && (__u32)pf->unit < f->slot_cnt - 2 ? (__u32)pf->unit :
		       pf->line > 0					  ? f->slot_cnt - 2 :
									    f->slot_cnt - 1;
		return f->generation * DSO_STRIDE + f->offset + DSO_SLOT * unit;
	}
	own = frame ? add_function(d, 1) : NULL;
	if (!own)
		return DSO_TEXT_OFFSET;
	own->frame = frame;
	return own->generation * DSO_STRIDE + own->offset;
}

__u64 dso__address(struct dso *d, const struct dict *dict, __u32 frame)
{
	__u32 *at = id_map_at(&d->by_frame, frame);

	if (!at)
		return 0;
	if (!*at)
		*at = place(d, dict, frame);
	return DSO_BASE + dict__frame_at(dict, frame)->opcode * DSO_OPCODE_STRIDE + *at + 1;
}

__u32 dso__generations(const struct dso *d)
{
	return d->generation_cnt;
}

const __u8 *dso__build_id(const struct dso *d, __u32 generation)
{
	return d->generations[generation].build_id;
}

const struct dso_function *dso__functions(const struct dso *d, __u32 generation, __u32 *ret_cnt)
{
	__u32 end = generation + 1 < d->generation_cnt ? d->generations[generation + 1].first :
							 d->function_cnt;

	*ret_cnt = end - d->generations[generation].first;
	return d->functions + d->generations[generation].first;
}

__u32 dso__end(const struct dso *d, __u32 generation)
{
	return d->generations[generation].end;
}

int dso__keep_sources(struct dso *d, const char *folder)
{
	free(d->sources);
	d->sources = strdup(folder);
	return d->sources ? 0 : -ENOMEM;
}

const char *dso__sources(const struct dso *d)
{
	return d->sources;
}
