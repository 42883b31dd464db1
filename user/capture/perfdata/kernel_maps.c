/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/kernel_maps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/emitter.h"
#include "capture/perfdata/perf_writer.h"
#include "process/space/mapping.h"
#include "base/data/cleanup.h"
#include "base/data/vec.h"

#define MODULES "/proc/modules"

/* ---- modules ---------------------------------------------------------------------------------- */

/* "ext4 1130496 1 - Live 0xffffffffc0a00000 (E)" */
static bool parse_line(const char *line, struct kernel_module *ret)
{
	unsigned long long size, start;
	char name[sizeof(ret->name) - 2];

	if (sscanf(line, "%61s %llu %*u %*s Live 0x%llx", name, &size, &start) != 3 || !size ||
	    !start || start > ~0ULL - size)
		return false;
	ret->start = start;
	ret->size = size;
	snprintf(ret->name, sizeof(ret->name), "[%s]", name);
	return true;
}

int kernel_modules_read(struct kernel_module **ret, const char *path)
{
	cleanup_fclose FILE *f = fopen(path, "re");
	struct kernel_module *list = NULL, module;
	int cnt = 0, cap = 0;
	/* A line lists all users of a module; none is this long. */
	char line[8192];

	if (!f)
		return -errno;
	while (cnt < KERNEL_MODULES_MAX && fgets(line, sizeof(line), f)) {
		if (!parse_line(line, &module))
			continue;
		if (vec_reserve(list, cap, cnt + 1)) {
			free(list);
			return -ENOMEM;
		}
		list[cnt++] = module;
	}
	*ret = list;
	return cnt;
}

/* ---- records ---------------------------------------------------------------------------------- */

static int write_text(struct kernel_maps *k, const struct emit_options *o, struct perf_writer *w)
{
	struct mapping text = { 0 };
	__u64 size;

	if (k->text || o->find_kernel(o->find_kernel_ctx, &text.start, &size))
		return 0;
	k->text = true;
	text.end = text.start + size;
	text.offset = text.start;
	return perf_writer__kernel(w, &text, "[kernel.kallsyms]_text");
}

static bool is_written(const struct kernel_maps *k, const struct kernel_module *m)
{
	for (int i = 0; i < k->module_cnt; i++) {
		if (k->modules[i].start == m->start && !strcmp(k->modules[i].name, m->name))
			return true;
	}
	return false;
}

int kernel_maps_write(struct kernel_maps *k, const struct emit_options *o, struct perf_writer *w)
{
	struct kernel_module *list = NULL;
	int err, cnt;

	/* Nobody may know. */
	if (!o->find_kernel)
		return 0;
	err = write_text(k, o, w);
	cnt = kernel_modules_read(&list, MODULES);

	for (int i = 0; i < cnt && !err; i++) {
		const struct mapping at = {
			list[i].start, list[i].start + list[i].size, 0, { NULL }
		};

		if (!is_written(k, &list[i]))
			err = perf_writer__kernel(w, &at, list[i].name);
	}
	if (cnt < 0)
		return err; /* a kernel without modules */
	free(k->modules);
	k->modules = list;
	k->module_cnt = cnt;
	return err;
}

void kernel_maps_free(struct kernel_maps *k)
{
	free(k->modules);
	*k = (struct kernel_maps){ 0 };
}
