/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/walk/task_walk.h"

#include <string.h>

#include "bpf/python/fingerprint.h"
#include "bpf/read.h"
#include "bpf/python/walk.h"
#include "bpf/python/asyncio_tasks.h"

void task_walk_from(const struct task_walk_config *x, __u64 task_addr, struct task_walk_result *ret)
{
	struct task_walk t;
	struct walker w;

	memset(&t, x->garbage, sizeof(t));
	memset(&w, x->garbage, sizeof(w));
	w.memory = x->memory;
	w.fingerprints = x->fingerprints;
	w.opcodes = 0;
	task_walk_begin(&t, task_addr, x->names);
	for (int i = 0; i < KRAIT_MAX_TASK_STEPS; i++) {
		if (x->alone && t.task_cnt && !t.object_addr && !t.name_addr &&
		    t.name_at == t.name_parts && !t.entry_addr && t.seek_addr == t.seek_end_addr)
			break;
		struct frame *part = &ret->parts[t.task_at];

		if (task_looks_at_stack(&t) ?
			    task_stack_step(&t, &w, x->offsets, x->layout, part) :
			    task_step(&t, &w, x->offsets, x->layout, &ret->parts[t.cnt], part))
			break;
	}
	if (!x->alone)
		task_walk_stop(&t);
	if (t.cnt)
		task_settle(&t, &ret->parts[t.task_at]);
	ret->cnt = t.cnt;
	ret->creator_addr = x->alone && t.note & TASK_EAGER ? t.task_addr : 0;
}
