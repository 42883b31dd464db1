/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_nop.h - fills a slot of the DSO's text: an instruction of this machine that does nothing,
 * with a CPython opcode as its operand; 0: none.
 */
#ifndef KRAIT_CAPTURE_DSO_DSO_NOP_H
#define KRAIT_CAPTURE_DSO_DSO_NOP_H

#include <linux/types.h>
#include <string.h>

#include "bpf/arch.h"
#include "capture/dso/dso.h"

static inline void dso_nop_put(__u8 slot[DSO_SLOT], __u8 opcode)
{
	const __u32 word = ARCH_NOP(opcode);

	memcpy(slot, &word, sizeof(word));
}

/* For a file of any machine. */
static inline __u8 dso_nop_opcode(const __u8 slot[DSO_SLOT])
{
	const __u32 word = slot[0] | (__u32)slot[1] << 8 | (__u32)slot[2] << 16 |
			   (__u32)slot[3] << 24;

	if ((word & 0xffffffU) == 0x401f0fU)
		return slot[3];
	return (word & 0xffffe01fU) == 0xd280001fU ? (__u8)(word >> 5) : 0;
}

#endif /* KRAIT_CAPTURE_DSO_DSO_NOP_H */
