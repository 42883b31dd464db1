/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/identify/unpublished.h"

#include <errno.h>
#include <stdio.h>

#include "process/identify/dwarf_jobs.h"
#include "process/elf/elf_runtime.h"
#include "python/layout/py_builtin_offsets.h"
#include "python/layout/py_verify.h"
#include "base/data/memory.h"

#define LEVEL_FINAL 0xf

static bool is_known_minor(__u32 version)
{
	return version >> 24 == 3 && py_builtin_offsets_find(version >> 16 & 0xff);
}

/* What another process of this file has proved holds for one that has not begun to run. */
static int take_proved(struct unpublished *u)
{
	const struct py_offsets *o = &u->elf->proved;
	__u64 head_addr;
	int r = memory_read(u->memory, u->runtime_addr + (__u64)o->runtime.interpreters_head,
			    &head_addr, sizeof(head_addr));

	if (r)
		return r;
	u->offsets = *o;
	u->source = u->elf->proved_by;
	u->initialised = head_addr != 0;
	return 0;
}

static int try_offsets(struct unpublished *u, const struct py_offsets *o, enum py_source source)
{
	char what[96];
	int r;

	r = py_verify(u->memory, o, u->runtime_addr, what, sizeof(what));
	if (r == -ENODATA)
		snprintf(u->why, sizeof(u->why), "krait's %s do not fit it: %s",
			 source == PY_SOURCE_TABLE ? "offsets" : "offsets from its DWARF", what);
	if (r)
		return r;
	u->offsets = *o;
	u->offsets.version = u->elf->py_version;
	u->source = source;
	u->initialised = true;
	return 0;
}

static int try_table(struct unpublished *u)
{
	__u32 version = u->elf->py_version;

	if ((version >> 4 & 0xf) != LEVEL_FINAL) {
		snprintf(u->why, sizeof(u->why), "krait does not know the layout of pre-releases");
		return -ENODATA;
	}
	return try_offsets(u, py_builtin_offsets_find(version >> 16 & 0xff), PY_SOURCE_TABLE);
}

static int try_dwarf(struct unpublished *u)
{
	const struct dwarf_request request = {
		.file = u->elf->id,
		.uid = u->uid,
		.path = u->path,
		.root = u->root,
		.version = u->elf->py_version,
		.build_id = u->elf->build_id,
		.build_id_len = u->elf->build_id_len,
	};
	struct py_offsets o;
	char what[96];
	size_t len;
	int r;

	r = dwarf_jobs__get(u->jobs, &request, &o, what, sizeof(what));
	if (!r)
		return try_offsets(u, &o, PY_SOURCE_DWARF);
	if (r == -EINPROGRESS) {
		snprintf(u->why, sizeof(u->why), "%s", what);
		return r;
	}
	for (len = 0; u->why[len]; len++)
		;
	snprintf(u->why + len, sizeof(u->why) - len, ", and %s", what);
	return -ENODATA;
}

int unpublished_find(struct unpublished *u)
{
	int r;

	if (u->elf->proved_by)
		return take_proved(u);
	if (!u->elf->py_version) {
		snprintf(u->why, sizeof(u->why), "its exact version is unknown");
		return -ENOTSUP;
	}
	if (!is_known_minor(u->elf->py_version)) {
		snprintf(u->why, sizeof(u->why), "it publishes no debug offsets; krait supports %s",
			 PY_SUPPORTED);
		return -ENOTSUP;
	}
	if (dwarf_jobs__is_running(u->jobs, &u->elf->id)) {
		snprintf(u->why, sizeof(u->why), "its debug information is still being read");
		return -EINPROGRESS;
	}
	r = try_table(u);
	if (r == -ENODATA)
		r = try_dwarf(u);
	return r == -ENODATA ? -ENOTSUP : r;
}
