/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/eh_rows.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "native/rows/cfi.h"
#include "native/rows/code_rows.h"
#include "native/rows/code_state.h"
#include "native/rows/eh_frame.h"
#include "native/rows/row_table.h"
#include "base/data/compare.h"

static int compare(const void *a, const void *b)
{
	const struct eh_entry *x = a, *y = b;

	return compare_numbers(x->start, y->start) ?: compare_numbers(x->order, y->order);
}

static void sort(struct eh_frame *f)
{
	for (__u32 i = 1; i < f->entry_cnt; i++) {
		if (f->entries[i].start < f->entries[i - 1].start) {
			qsort(f->entries, f->entry_cnt, sizeof(*f->entries), compare);
			return;
		}
	}
}

/*
 * glibc's entries for arm64's resolver and its twin for profilers (sysdeps/aarch64/dl-trampoline.S) begin where the
 * header of stubs ends, and count from sp as it is there: they say that the return address is above the CFA.
 */
static bool begins_behind_header(const struct eh_entry *e)
{
	static const __u8 ra_above[] = { DW_CFA_offset_extended_sf, UNWIND_REG_RA, 0x7f };
	/* At the first instruction, or behind one that marks a target of jumps. */
	const __u64 at = e->code_size && e->code[0] == DW_CFA_advance_loc + 1;

	return CODE_BINDING_DEPTH && e->code_size >= at + sizeof(ra_above) &&
	       !memcmp(e->code + at, ra_above, sizeof(ra_above));
}

static void count_from_stub(struct unwind_rule *rule)
{
	rule->off += CODE_BINDING_DEPTH;
	/* The last instruction: what the header has pushed is back in its registers. */
	if (rule->ra == UNWIND_RA_CFA && rule->reg == UNWIND_REG_SP && !rule->off) {
		rule->ra = UNWIND_RA_REG;
		rule->ra_off = UNWIND_REG_RA;
	}
	if (rule->ra == UNWIND_RA_CFA)
		rule->ra_off -= CODE_BINDING_DEPTH;
	if (rule->fp == UNWIND_FP_CFA)
		rule->fp_off -= CODE_BINDING_DEPTH;
}

/* Makes one function's rows, starting at offset from. */
static void put_function(struct eh_frame *f, const struct eh_entry *e, __u64 from,
			 struct row_table *t)
{
	const struct cfi_common *common = &f->commons[e->common];
	const bool behind_header = begins_behind_header(e);
	struct cfi_cursor c = { .pos = e->code, .end = e->code + e->code_size };
	struct cfi_machine m;
	struct unwind_rule rule;
	enum cfi_step step;

	cfi_begin(&m, common, e->start, &f->budget);
	do {
		__u64 begin = m.pc;
		struct cfi_state held;

		/* The state changes at the next step of pc, and holds from here to there. */
		step = cfi_run(&m, &c);
		held = m.state;
		if (step == CFI_BAD || m.pc < begin) {
			row_table_put_none(t, begin > from ? begin : from);
			return;
		}
		if (step == CFI_ADVANCED && m.pc <= from)
			continue;
		rule = cfi_rule(&held, common->signal);
		if (behind_header)
			count_from_stub(&rule);
		row_table_put(t, begin > from ? begin : from, &rule);
	} while (step == CFI_ADVANCED && m.pc < e->end);
}

/* Code without an entry, from..to: makes rows from the code itself. */
static void put_hole(const struct eh_holes *holes, __u64 from, __u64 to, struct row_table *t)
{
	__u64 start, end, len;

	for (__u64 at = from; at < to && !holes->next(holes->ctx, at, &start, &end); at = end) {
		const __u8 *code;

		if (start < at)
			start = at;
		if (end > to)
			end = to;
		if (start >= end)
			return;
		if (!code_rows_fit(start, end - start))
			continue;
		code = holes->read(holes->ctx, start, end - start, &len);
		if (code)
			code_rows(code, len, start, t);
	}
}

/* The code after clone()'s system call; the new thread has no caller, and the next entry says so. */
static bool put_clone(const struct eh_holes *holes, __u64 from, const struct eh_entry *next,
		      struct row_table *t)
{
	const __u64 size = next->start - from;
	struct unwind_rule rule;
	const __u8 *code;
	__u64 len;

	if (size > CODE_CLONE_MAX || next->code_size < 2 || next->code[0] != DW_CFA_undefined ||
	    next->code[1] != UNWIND_REG_RA)
		return false;
	code = holes->read(holes->ctx, from, size, &len);
	if (!code || len != size || !code_is_clone(code, size, &rule))
		return false;
	row_table_put(t, from, &rule);
	return true;
}

static void put_all(struct eh_frame *f, const struct eh_holes *holes, struct row_table *t)
{
	__u64 end = 0;

	for (__u32 i = 0; i < f->entry_cnt && !t->err; i++) {
		const struct eh_entry *e = &f->entries[i];

		if (e->end <= end)
			continue;
		if (e->start > end) {
			if (t->rule_cnt)
				row_table_put_none(t, end);
			if (!put_clone(holes, end, e, t))
				put_hole(holes, end, e->start, t);
			if (t->rule_cnt)
				row_table_put_none(t, e->start);
		}
		put_function(f, e, e->start > end ? e->start : end, t);
		end = e->end;
	}
	if (t->rule_cnt)
		row_table_put_none(t, end);
	put_hole(holes, end, ~0ULL, t);
}

int eh_rows(struct eh_frame *f, const struct eh_holes *holes, struct row_table *ret)
{
	sort(f);
	put_all(f, holes, ret);
	return row_table_end(ret);
}
