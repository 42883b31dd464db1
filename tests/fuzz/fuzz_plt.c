/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_plt.c - any bytes as a library with stubs for calls between libraries: a named range
 * contains the requested offset.
 */
#include <gelf.h>
#include <linux/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "native/names/plt.h"

#define STEPS 256U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t ask(struct plt *p, GElf_Addr address)
{
	GElf_Addr start = 0;
	const char *name = plt__find(p, address, &start);

	if (name && (start > address || !plt__covers(p, address)))
		abort();
	return name ? strlen(name) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	size_t length = 0;
	struct plt *p;
	Elf *elf;

	elf_version(EV_CURRENT);
	memcpy(copy, data, size);
	elf = elf_memory(copy, size);
	p = elf ? plt__new(elf) : NULL;
	for (size_t i = 0; p && i < STEPS; i++)
		length += ask(p, i * 16);
	for (size_t i = 0; p && i < STEPS; i++)
		length += ask(p, i * size / STEPS);
	plt__free(p);
	elf_end(elf);
	free(copy);
	return length > 1UL << 40;
}
