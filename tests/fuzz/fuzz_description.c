/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_description.c - any bytes as a capture's description: texts are complete and printable, and
 * lines of notes are valid or none.
 */
#include <linux/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dso/kernel_names.h"
#include "capture/perfdata/read_features.h"
#include "capture/perfdata/format.h"
#include "profile/sources.h"
#include "base/text/printable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t size)
{
	char *safe;

	if (strnlen(text, size) == size)
		abort();
	safe = printable(text);
	if (!safe || strcmp(safe, text) != 0)
		abort();
	free(safe);
}

static void check_feature(unsigned feature, const uint8_t *data, size_t size)
{
	struct perf_read_facts *f = calloc(1, sizeof(*f));
	struct cursor c = { data, data + size, true };
	struct perf_attrs attrs = { .cnt = 2 };

	perf_description_take(f, &attrs, feature, &c);
	check_text(f->host, sizeof(f->host));
	check_text(f->kernel, sizeof(f->kernel));
	check_text(f->version, sizeof(f->version));
	check_text(f->command_line, sizeof(f->command_line));
	for (unsigned i = 0; i < attrs.cnt; i++)
		check_text(attrs.events[i].name, sizeof(attrs.events[i].name));
	if (f->wall_offset_ns < 0)
		abort();
	perf_attrs_free(&attrs);
	free(f);
}

static void check_sources(const char *notes)
{
	struct sources s = { 0 };

	if (sources_read(&s, notes))
		abort();
	for (__u32 i = 0; i < s.cnt; i++) {
		const struct source_kept *k = &s.list[i];

		if (strchr(k->path, '\n') || (i && strcmp(s.list[i - 1].path, k->path) >= 0))
			abort();
		for (__u32 n = 0; n < k->cnt; n++)
			if (k->lines[n].number <= (n ? k->lines[n - 1].number : 0) ||
			    (k->lines[n].text && strchr(k->lines[n].text, '\n')))
				abort();
	}
	sources_free(&s);
}

static void check_notes(const uint8_t *data, size_t size)
{
	struct kernel_names k = { 0 };
	char *notes = malloc(size + 1);

	memcpy(notes, data, size);
	notes[size] = '\0';
	if (kernel_names_read(&k, notes) || k.cnt > KERNEL_NAMES_MAX)
		abort();
	for (__u32 i = 0; i < k.cnt; i++) {
		if (!*k.list[i].name || strpbrk(k.list[i].name, " \n") ||
		    !(k.list[i].address >> 63))
			abort();
	}
	kernel_names_free(&k);
	check_sources(notes);
	free(notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] == PERF_FEATURE_CNT - 1)
		check_notes(data + 1, size - 1);
	else
		check_feature(data[0], data + 1, size - 1);
	return 0;
}
