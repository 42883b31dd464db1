/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/opcodes.h"

#include <stdio.h>

_Static_assert((OPCODE_MINOR_LAST - OPCODE_MINOR_FIRST + 2) * 256 <= OPCODE_LIMIT,
	       "a number for each opcode of each minor");

__u16 opcode_of(__u32 version, __u8 byte)
{
	__u32 minor = version >> 16 & 0xff;

	if (version >> 24 != 3 || minor < OPCODE_MINOR_FIRST || minor > OPCODE_MINOR_LAST || !byte)
		return 0;
	return (__u16)((minor - OPCODE_MINOR_FIRST + 1) << 8 | byte);
}

const struct opcode_info *opcode_info(__u16 opcode)
{
	const unsigned minor = opcode >> 8;
	const __u8 byte = opcode & 0xff;

	if (!minor || minor > OPCODE_MINOR_LAST - OPCODE_MINOR_FIRST + 1 || !byte)
		return NULL;
	for (unsigned i = 0; i < opcodes_known_cnt; i++)
		if (opcodes_known[i].bytes[minor - 1] == byte)
			return &opcodes_known[i];
	return NULL;
}

unsigned opcode_minor(__u16 opcode)
{
	return opcode ? (opcode >> 8) + OPCODE_MINOR_FIRST - 1U : 0;
}

const char *opcode_name(__u16 opcode, char buf[OPCODE_NAME_SIZE])
{
	const struct opcode_info *info = opcode_info(opcode);

	if (info)
		return info->name;
	if (!opcode)
		return "";
	snprintf(buf, OPCODE_NAME_SIZE, "opcode 3.%u:%u", opcode_minor(opcode), opcode & 0xff);
	return buf;
}

enum opcode_form opcode_form(__u16 opcode)
{
	const struct opcode_info *info = opcode_info(opcode);

	return info ? (enum opcode_form)info->form : OPCODE_PLAIN;
}

const char *opcode_form_name(enum opcode_form form)
{
	static const char *const names[OPCODE_FORM_CNT] = {
		[OPCODE_PLAIN] = "",
		[OPCODE_GENERIC] = "not specialised",
		[OPCODE_SPECIAL] = "specialised",
		[OPCODE_INSTRUMENTED] = "instrumented",
		[OPCODE_JIT] = "jit",
	};

	return names[form];
}
