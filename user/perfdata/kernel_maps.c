/* SPDX-License-Identifier: BSD-2-Clause */
#include "perfdata/kernel_maps.h"

#include <stdlib.h>
#include <string.h>

#include "emit/emitter.h"
#include "perfdata/kernel_modules.h"
#include "perfdata/perf_writer.h"

#define MODULES "/proc/modules"

static int tell_text(struct kernel_maps *k, const struct emit_options *o, struct perf_writer *w)
{
	struct perf_mapping text = { .path = "[kernel.kallsyms]_text" };

	if (k->text || !o->find_kernel ||
	    o->find_kernel(o->find_kernel_ctx, &text.start, &text.size))
		return 0;
	k->text = true;
	text.offset = text.start;
	return perf_writer__kernel(w, &text);
}

static bool is_told(const struct kernel_maps *k, const struct kernel_module *m)
{
	for (int i = 0; i < k->module_cnt; i++) {
		if (k->modules[i].start == m->start && !strcmp(k->modules[i].name, m->name))
			return true;
	}
	return false;
}

int kernel_maps_tell(struct kernel_maps *k, const struct emit_options *o, struct perf_writer *w)
{
	struct kernel_module *list = NULL;
	int err = tell_text(k, o, w), cnt = kernel_modules_read(&list, MODULES);

	for (int i = 0; i < cnt && !err; i++) {
		const struct perf_mapping mapping = {
			.start = list[i].start,
			.size = list[i].size,
			.path = list[i].name,
		};

		if (!is_told(k, &list[i]))
			err = perf_writer__kernel(w, &mapping);
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
