/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_core.c - a process as it was when its core file was made.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/core/core.h"
#include "look/dump/look.h"
#include "look/dump/look_list.h"
#include "record/samples/still.h"
#include "python/layout/py_builtin_offsets.h"
#include "base/data/vec.h"

/*
 * Its offsets come from its memory, read here, or are krait's own: the reader is trusted only about
 * locations.
 */
static int take_offsets(struct look_process *p, const struct core_python *python)
{
	const struct memory *memory = core__memory(p->core);
	__u8 table[PY_TABLE_MAX];
	const struct py_offsets *builtin;

	p->process.runtime_addr = python->runtime_addr;
	p->process.version = python->version;
	p->process.alone = python->alone;
	if (memory_read(memory, python->runtime_addr, table, sizeof(table)))
		return -EFAULT;
	if (py_debug_table_has_cookie(table, sizeof(table)))
		return py_offsets_parse(table, sizeof(table), &p->process.offsets, p->process.why,
					sizeof(p->process.why));
	builtin = py_builtin_offsets_find(python->version >> 16 & 0xff);
	if (!builtin)
		return -ENOTSUP;
	p->process.offsets = *builtin;
	p->process.offsets.version = python->version;
	return 0;
}

/* Adds a mapping, for native frames. */
static int add_mapping(struct look_process *p, const struct core_mapping *m,
		       const struct core_python *python, const int *fds, struct still_mapping *ret)
{
	char *name = core__file_name(p->core, m->file);

	if (!name)
		return -ENOMEM;
	*ret = (struct still_mapping){
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.name = name,
		.fd = fds[m->file],
		.interpreter = !strncmp(name, python->file, sizeof(python->file) - 1),
	};
	return 0;
}

struct mappings {
	struct still_mapping *list;
	__u32 cnt, cap;
};

static int list_mappings(struct look_process *p, const struct core_python *python, const int *fds,
			 struct mappings *ret)
{
	const struct core_mapping *part;
	__u32 at = 0;
	int cnt, err = 0;

	while (!err && (cnt = core__code(p->core, &at, &part)) > 0) {
		/* Asking for names overwrites the answer. */
		struct core_mapping *own = malloc((size_t)cnt * sizeof(*own));

		if (!own || vec_reserve(ret->list, ret->cap, ret->cnt + (__u32)cnt))
			err = -ENOMEM;
		if (own)
			memcpy(own, part, (size_t)cnt * sizeof(*own));
		for (int i = 0; i < cnt && !err; i++) {
			if (own[i].file >= CORE_FILES_MAX || own[i].start >= own[i].end)
				continue;
			err = add_mapping(p, &own[i], python, fds, &ret->list[ret->cnt]);
			ret->cnt += !err;
		}
		free(own);
	}
	return err ? err : cnt;
}

static int name_core(struct look_process *p, const struct core_python *python, const int *fds)
{
	struct mappings m = { 0 };
	int err = still__has_natives(p->still) ? list_mappings(p, python, fds, &m) : 0;

	if (!err) {
		p->named = still__open_core(p->still, &p->process, m.list, m.cnt);
		err = p->named ? 0 : -ENOMEM;
	}
	for (__u32 i = 0; i < m.cnt; i++)
		free((char *)m.list[i].name);
	free(m.list);
	if (err) {
		p->result = err;
		snprintf(p->process.why, sizeof(p->process.why), "its mappings: %s",
			 strerror(-err));
	}
	return err;
}

int look__take_core(struct look_process *p, struct core *core, const int *fds)
{
	struct core_python python;

	p->core = core;
	p->result = core__python(core, &python, p->process.why, sizeof(p->process.why));
	if (!p->result)
		p->result = take_offsets(p, &python);
	if (p->result)
		return p->result;
	snprintf(p->process.file, sizeof(p->process.file), "%s", python.file);
	if (name_core(p, &python, fds))
		return p->result;
	return look_list_take(p, false);
}
