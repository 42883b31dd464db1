/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_elf_symbols.c - any bytes as a library: an answer for an offset holds in its neighbourhood,
 * names are valid texts, and places of probes lie in the file.
 */
#include <linux/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "native/names/elf_symbols.h"
#include "native/names/probe_places.h"

#define STEPS 64U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t ask(struct elf_symbols *s, __u64 offset)
{
	struct elf_place place;

	elf_symbols__place(s, offset, &place);
	if (place.start > offset || place.end <= offset)
		abort();
	return place.name ? strlen(place.name) : 0;
}

static size_t ask_source(struct elf_symbols *s, __u64 offset)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	bool is_split;
	unsigned cnt = elf_symbols__source(s, offset, frames, &is_split);
	size_t length = 0;

	if (cnt > SOURCE_FRAMES_MAX)
		abort();
	for (unsigned i = 0; i < cnt; i++) {
		if (frames[i].line < 0)
			abort();
		length += frames[i].name ? strlen(frames[i].name) : 0;
		length += frames[i].file ? strlen(frames[i].file) : 0;
	}
	return length;
}

static void ask_probes(int fd, size_t size)
{
	static const struct {
		enum probe_kind kind;
		const char *name;
	} asked[] = { { PROBE_MARK, "setjmp" },
		      { PROBE_MARK, "python:gc__start" },
		      { PROBE_FUNCTION, "main" },
		      { PROBE_FUNCTION, "main+4" } };
	struct parser_probes found;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		if (probe_places(fd, asked[i].kind, asked[i].name, &found))
			continue;
		if (found.cnt > PROBE_PLACES_MAX || !memchr(found.there, 0, sizeof(found.there)))
			abort();
		for (__u32 k = 0; k < found.cnt; k++)
			if (found.list[k].offset >= size || found.list[k].counter_offset >= size)
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_symbols *s = NULL;
	__u8 id[BUILD_ID_MAX];
	size_t length = 0;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!elf_symbols__new(&s, fd, -1)) {
		for (size_t i = 0; i < STEPS; i++)
			length += ask(s, i * size / STEPS) + ask_source(s, i * size / STEPS);
		length += ask(s, 1ULL << 40);
		if (elf_symbols__build_id(s, id) > BUILD_ID_MAX)
			abort();
		length += elf_symbols__has_table(s);
		elf_symbols__free(s);
	}
	ask_probes(fd, size);
	close(fd);
	return length > 1UL << 40;
}
