/* SPDX-License-Identifier: BSD-2-Clause */
#include "keep/merge_processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "perfdata/perf_reader.h"

/*
 * A machine has at most 4 million at once; beyond this limit processes are announced again and
 * again.
 */
#define PROCESSES_MAX (1U << 20)

struct merge_process {
	int pid;
	bool named;
	unsigned libraries;
	UT_hash_handle hh;
};

void merge_processes_clear(struct merge_processes *ps)
{
	struct merge_process *p, *next;

	HASH_ITER(hh, ps->list, p, next) {
		HASH_DEL(ps->list, p);
		free(p);
	}
}

void merge_processes_free(struct merge_processes *ps)
{
	merge_processes_clear(ps);
	strtab_free(&ps->kernel);
	ps->kernel = (struct strtab){ 0 };
}

static struct merge_process *get(struct merge_processes *ps, int pid)
{
	struct merge_process *p;

	HASH_FIND_INT(ps->list, &pid, p);
	if (p)
		return p;
	if (HASH_COUNT(ps->list) >= PROCESSES_MAX)
		merge_processes_clear(ps);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	HASH_ADD_INT(ps->list, pid, p);
	return p;
}

int merge_processes_begin(struct merge_processes *ps, int pid, bool again)
{
	struct merge_process *p = get(ps, pid);
	bool is_new;

	if (!p)
		return -ENOMEM;
	is_new = !p->named;
	p->named = true;
	if (is_new || again)
		p->libraries = 0;
	return is_new;
}

unsigned *merge_processes_libraries(struct merge_processes *ps, int pid)
{
	struct merge_process *p = get(ps, pid);

	return p ? &p->libraries : NULL;
}

bool merge_processes_is_new_kernel(struct merge_processes *ps, const struct perf_read *mapping)
{
	char text[PERF_READER_TEXT];
	int len = snprintf(text, sizeof(text), "%llx %llx %s", mapping->start, mapping->size,
			   mapping->text);

	if (len < 0 || len >= (int)sizeof(text))
		return false;
	if (!ps->kernel.texts && strtab_init(&ps->kernel))
		return true;
	if (strtab_find(&ps->kernel, text, (size_t)len))
		return false;
	strtab_add(&ps->kernel, text, (size_t)len, 0);
	return true;
}
