/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * section.h - builds a record: the header first, then one section after the other (record.h).
 *
 * record.size is where the next section begins. A caller writes its elements to section_room(), in
 * place, and then appends them with section_append().
 *
 * Must hold: sections come in the order of enum record_section; nothing is written beyond the room
 * of struct scratch.
 */
#ifndef KRAIT_BPF_SECTION_H
#define KRAIT_BPF_SECTION_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/map/scratch.h"

/* Room for sections, in words; one is left over (section_room()). */
#define BODY_WORDS                                                                                 \
	((sizeof(((struct scratch *)0)->frames) + sizeof(((struct scratch *)0)->room)) /           \
		 sizeof(__u64) -                                                                   \
	 1)

/* Where the next section goes, plus skip words; NULL if fewer than cnt words are left. */
static __always_inline __u64 *section_room(struct scratch *s, __u64 skip, __u64 cnt)
{
	__u64 pos = (s->record.size - sizeof(s->record)) / sizeof(__u64) + skip;

	/* Bounded first, to one word more: a bound that cannot be reached is code that kernels remove, slowly. */
	pos = at_most(pos, BODY_WORDS - cnt + 1);
	return pos > BODY_WORDS - cnt ? NULL : (__u64 *)s->frames + pos;
}

static __always_inline void section_append(struct record_sample *record,
					   enum record_section section, __u32 cnt)
{
	record->cnt[section] = cnt;
	record->size += cnt * section_unit(section);
}

/* Bytes of the whole record. */
static __always_inline __u64 record_size(const struct record_sample *record)
{
	return at_most(record->size, sizeof(*record) + BODY_WORDS * sizeof(__u64));
}

#endif /* KRAIT_BPF_SECTION_H */
