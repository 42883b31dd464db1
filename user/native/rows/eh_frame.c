/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/eh_frame.h"
#include "base/data/search.h"
#include "base/data/vec.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AUGMENTATION_MAX 16

/* A CIE, and the format of its functions' entries. */
struct layout {
	__u64 at; /* in the section */
	__u8 pointer; /* encoding of addresses */
	bool augmented; /* entries have augmentation data */
	__u32 common;
};

struct reader {
	struct eh_frame *f;
	const struct eh_section *s;
	struct layout *layouts; /* sorted by at */
	__u32 cnt, cap, last;
};

/* An entry of either kind, before it is interpreted. */
struct raw_entry {
	struct cfi_cursor body; /* after the id */
	__u64 at, id_at; /* offsets of the entry and of its id in the section */
	__u64 id;
	bool is_wide; /* 64-bit DWARF */
};

void eh_frame_init(struct eh_frame *f)
{
	*f = (struct eh_frame){ .budget = EH_BUDGET };
}

void eh_frame_free(struct eh_frame *f)
{
	free(f->entries);
	free(f->commons);
	eh_frame_init(f);
}

/* ---- pointers --------------------------------------------------------------------------------- */

static bool read_pointer(struct cfi_cursor *c, __u8 format, __u64 *ret)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		*ret = cfi_fixed(c, 8);
		break;
	case DW_EH_PE_udata2:
		*ret = cfi_fixed(c, 2);
		break;
	case DW_EH_PE_sdata2:
		*ret = (__u64)(__s64)(__s16)cfi_fixed(c, 2);
		break;
	case DW_EH_PE_udata4:
		*ret = cfi_fixed(c, 4);
		break;
	case DW_EH_PE_sdata4:
		*ret = (__u64)(__s64)(__s32)cfi_fixed(c, 4);
		break;
	case DW_EH_PE_uleb128:
		*ret = cfi_uleb(c);
		break;
	case DW_EH_PE_sleb128:
		*ret = (__u64)cfi_sleb(c);
		break;
	default:
		return false;
	}
	return !c->bad;
}

bool eh_frame_pointer(struct cfi_cursor *c, __u8 encoding, const struct eh_section *s, __u64 *ret)
{
	__u64 here = s->address + (__u64)(c->pos - s->data);

	if (!read_pointer(c, encoding & 0xf, ret))
		return false;
	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		return true;
	case DW_EH_PE_pcrel:
		*ret += here;
		return true;
	default:
		return false;
	}
}

/* ---- what functions have in common ------------------------------------------------------------- */

/* The machine's state at the first instruction of a function, after a call. */
static void set_convention(struct cfi_common *c)
{
	c->initial = (struct cfi_state){ 0 };
	if (!UNWIND_RA_IN_REGISTER)
		c->initial.ra.how = CFI_UNKNOWN;
}

/* Parses the augmentation's letters and its data. false: unknown to krait. */
static bool read_augmentation(struct cfi_cursor *c, const char *letters, struct layout *layout,
			      struct cfi_common *common)
{
	struct cfi_cursor data;
	__u64 len, unused;

	if (!*letters)
		return true;
	if (*letters != 'z')
		return false;
	layout->augmented = true;
	len = cfi_uleb(c);
	data.pos = cfi_bytes(c, len);
	if (!data.pos)
		return false;
	data.end = data.pos + len;
	data.bad = false;
	while (*++letters) {
		switch (*letters) {
		case 'R':
			layout->pointer = (__u8)cfi_fixed(&data, 1);
			break;
		case 'L':
			cfi_fixed(&data, 1);
			break;
		case 'P':
			/* The value of the personality does not matter, only its length. */
			if (!read_pointer(&data, cfi_fixed(&data, 1) & 0xf, &unused))
				return false;
			break;
		case 'S':
			common->signal = true;
			break;
		case 'B': /* arm64: key for signing the return address */
			break;
		default:
			return false;
		}
	}
	return !data.bad;
}

static bool read_letters(struct cfi_cursor *c, char ret[AUGMENTATION_MAX])
{
	for (int i = 0; i < AUGMENTATION_MAX; i++) {
		ret[i] = (char)cfi_fixed(c, 1);
		if (!ret[i])
			return !c->bad;
	}
	return false;
}

/* Runs the instructions of the CIE itself, which set the initial state of all its functions. */
static bool run_initial(struct eh_frame *f, struct cfi_common *common, struct cfi_cursor *c)
{
	struct cfi_machine m;

	set_convention(common);
	cfi_begin(&m, common, 0, &f->budget);
	if (cfi_run(&m, c) != CFI_END)
		return false;
	common->initial = m.state;
	return true;
}

static bool read_common(struct reader *r, struct raw_entry *e, struct layout *layout,
			struct cfi_common *common)
{
	struct cfi_cursor *c = &e->body;
	char letters[AUGMENTATION_MAX];
	__u8 version = (__u8)cfi_fixed(c, 1);

	if ((version != 1 && version != 3 && version != 4) || !read_letters(c, letters))
		return false;
	if (version == 4 && (cfi_fixed(c, 1) != 8 || cfi_fixed(c, 1)))
		return false;
	common->code_align = cfi_uleb(c);
	common->data_align = cfi_sleb(c);
	common->ra_reg = version == 1 ? cfi_fixed(c, 1) : cfi_uleb(c);
	return read_augmentation(c, letters, layout, common) && run_initial(r->f, common, c);
}

static int add_common(struct reader *r, struct raw_entry *e)
{
	struct layout layout = { .at = e->at };
	struct cfi_common common = { 0 };
	struct eh_frame *f = r->f;

	if (!read_common(r, e, &layout, &common))
		common.bad = true;
	if (f->common_cnt == EH_COMMONS_MAX)
		return -E2BIG;
	if (vec_reserve(f->commons, f->common_cap, f->common_cnt + 1) ||
	    vec_reserve(r->layouts, r->cap, r->cnt + 1))
		return -ENOMEM;
	layout.common = f->common_cnt;
	f->commons[f->common_cnt++] = common;
	r->layouts[r->cnt++] = layout;
	return 0;
}

/* ---- functions -------------------------------------------------------------------------------- */

/* The CIE at that offset, or NULL. */
static const struct layout *find_layout(struct reader *r, __u64 at)
{
	__u32 i;

	if (r->last < r->cnt && r->layouts[r->last].at == at)
		return &r->layouts[r->last];
	i = (__u32)sorted_below(r->cnt, n, r->layouts[n].at < at);
	if (i == r->cnt || r->layouts[i].at != at)
		return NULL;
	r->last = i;
	return &r->layouts[i];
}

/* Offset of the CIE: .debug_frame contains it, .eh_frame the distance to it. */
static __u64 common_at(const struct reader *r, const struct raw_entry *e)
{
	return r->s->is_debug_frame ? e->id : e->id_at - e->id;
}

static bool read_function(struct reader *r, struct raw_entry *e, struct eh_entry *ret)
{
	const struct layout *layout = find_layout(r, common_at(r, e));
	struct cfi_cursor *c = &e->body;
	__u64 len;

	if (!layout || r->f->commons[layout->common].bad ||
	    !eh_frame_pointer(c, layout->pointer, r->s, &ret->start) ||
	    !read_pointer(c, layout->pointer & 0xf, &len))
		return false;
	if (layout->augmented)
		cfi_bytes(c, cfi_uleb(c));
	/* The linker leaves entries of discarded functions: at 0, or empty. */
	if (c->bad || !len || !ret->start || len > ~0ULL - ret->start)
		return false;
	ret->end = ret->start + len;
	ret->code = c->pos;
	ret->code_size = (__u32)(c->end - c->pos);
	ret->common = layout->common;
	return true;
}

static int add_function(struct reader *r, struct raw_entry *e)
{
	struct eh_frame *f = r->f;
	struct eh_entry entry;

	if (!read_function(r, e, &entry))
		return 0;
	if (f->entry_cnt == EH_ENTRIES_MAX)
		return -E2BIG;
	if (vec_reserve(f->entries, f->entry_cap, f->entry_cnt + 1))
		return -ENOMEM;
	entry.order = f->entry_cnt;
	f->entries[f->entry_cnt++] = entry;
	return 0;
}

/* ---- entries ---------------------------------------------------------------------------------- */

static bool is_common(const struct reader *r, const struct raw_entry *e)
{
	if (!r->s->is_debug_frame)
		return !e->id;
	return e->id == (e->is_wide ? ~0ULL : 0xffffffffULL);
}

/* Returns 1 and the next entry, 0 at the end. Skips empty ones. */
static int next_entry(const struct reader *r, struct cfi_cursor *c, struct raw_entry *ret)
{
	__u64 len;

	while (c->end - c->pos >= 4) {
		ret->at = (__u64)(c->pos - r->s->data);
		len = cfi_fixed(c, 4);
		ret->is_wide = len == 0xffffffff;
		if (ret->is_wide)
			len = cfi_fixed(c, 8);
		if (!len && r->s->ends_at_zero)
			return 0;
		if (!len)
			continue;
		ret->body.pos = cfi_bytes(c, len);
		if (!ret->body.pos)
			return 0;
		ret->body.end = ret->body.pos + len;
		ret->body.bad = false;
		ret->id_at = (__u64)(ret->body.pos - r->s->data);
		/* In .eh_frame it always has four bytes, as linkers and libgcc assume. */
		ret->id = cfi_fixed(&ret->body, ret->is_wide && r->s->is_debug_frame ? 8 : 4);
		if (!ret->body.bad)
			return 1;
	}
	return 0;
}

/* Reads all entries of one kind. */
static int read_entries(struct reader *r, bool commons)
{
	struct cfi_cursor c = { .pos = r->s->data, .end = r->s->data + r->s->size };
	struct raw_entry e;
	int err = 0;

	while (!err && next_entry(r, &c, &e)) {
		if (is_common(r, &e) == commons)
			err = commons ? add_common(r, &e) : add_function(r, &e);
	}
	return err;
}

int eh_frame_add(struct eh_frame *f, const struct eh_section *s)
{
	struct reader r = { .f = f, .s = s };
	int err = read_entries(&r, true);

	if (!err)
		err = read_entries(&r, false);
	free(r.layouts);
	return err;
}
