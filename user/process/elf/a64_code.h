/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * a64_code.h - fields of arm64's instructions (Arm Architecture Reference Manual, DDI 0487, C4.1), on every machine: files
 * of another may be read, too.
 */
#ifndef KRAIT_PROCESS_ELF_A64_CODE_H
#define KRAIT_PROCESS_ELF_A64_CODE_H

#include <linux/types.h>
#include <stdbool.h>

static inline __u32 a64_bits(__u32 insn, unsigned from, unsigned count)
{
	return insn >> from & ((1U << count) - 1);
}

static inline __s64 a64_signed_bits(__u32 insn, unsigned from, unsigned count)
{
	__s64 value = a64_bits(insn, from, count);

	return value >> (count - 1) ? value - (1LL << count) : value;
}

/* Is this "adrp reg, page" at that address? Then *ret is the page. */
static inline bool a64_adrp(__u32 insn, unsigned reg, __u64 addr, __u64 *ret)
{
	if ((insn & 0x9f00001f) != (0x90000000 | reg))
		return false;
	*ret = (addr & ~0xfffULL) + ((__u64)a64_signed_bits(insn, 5, 19) << 14) +
	       (a64_bits(insn, 29, 2) << 12);
	return true;
}

#endif /* KRAIT_PROCESS_ELF_A64_CODE_H */
