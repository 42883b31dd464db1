/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/unwinding/unwind_settle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/follow/processes.h"
#include "process/space/modules.h"
#include "record/unwinding/unwind_files.h"
#include "native/names/native.h"
#include "native/rows/elf_rows.h"
#include "native/rows/tables.h"
#include "base/data/cleanup.h"
#include "base/text/log.h"
#include "base/system/vdso.h"

int unwind_turn(const struct mapping *m)
{
	__u64 size = m->end - m->start;

	if (module__is_interpreter(m->module) || module__origin(m->module) != ORIGIN_OTHER ||
	    !strcmp(module__name(m->module), VDSO_NAME))
		return 0;
	return size < 256 << 10 ? 1 : size < 4 << 20 ? 2 : 3;
}

bool unwind_has_file(const struct mapping *m)
{
	const char *name = module__name(m->module);

	return *name && (*name != '[' || !strcmp(name, VDSO_NAME));
}

/* Puts what elf_rows() made into the tables, in their format. */
static int set_table(struct unwind_tables *tables, __u32 number, const struct row_table *t,
		     __u32 now)
{
	cleanup_free __u32 *page_rows = calloc(t->page_cnt, sizeof(*page_rows));
	struct unwind_rows rows = {
		.first_page = (__u32)t->first_page,
		.page_cnt = t->page_cnt,
		.rule_cnt = t->rule_cnt,
		.row_cnt = t->row_cnt,
		.rules = t->rules,
		.page_rows = page_rows,
		.rows = t->rows,
	};

	if (!page_rows)
		return -ENOMEM;
	for (__u32 i = 0; i < t->page_cnt; i++)
		page_rows[i] = t->pages[i + 1] - t->pages[i];
	return unwind_tables__set_rows(tables, number, &rows, now);
}

/*
 * Reads krait's own vdso, which is the same in all processes. A process may have unmapped part of
 * its own, and all share these rows.
 */
static int read_vdso(struct unwind_tables *tables, __u32 number, __u32 now)
{
	cleanup_close int fd = vdso_image();
	struct row_table table;
	int err;

	if (fd < 0)
		return fd;
	err = elf_rows(fd, &table);
	if (err)
		return err;
	err = set_table(tables, number, &table, now);
	row_table_free(&table);
	return err;
}

static int read_rows(struct unwind_tables *tables, struct process *p, const struct mapping *m,
		     __u32 number, __u64 now_ns)
{
	__u32 now = (__u32)(now_ns >> UNWIND_NOW_SHIFT);
	struct unwind_rows rows;
	int err;

	if (!strcmp(module__name(m->module), VDSO_NAME))
		return read_vdso(tables, number, now);
	err = native__rows(p->native, m, now_ns, &rows);
	return err ? err : unwind_tables__set_rows(tables, number, &rows, now);
}

__u32 unwind_file_of(const struct unwind_files *files, const struct mapping *m)
{
	return unwind_has_file(m) ? unwind_files__find(files, m->module) : 0;
}

bool unwind_is_settled(const struct unwind_tables *tables, __u32 number)
{
	return !number || unwind_tables__is_settled(tables, number) ||
	       unwind_tables__is_dropped(tables, number);
}

bool unwind_is_missed(struct unwind_tables *tables, __u32 number)
{
	return number && unwind_tables__is_wanted(tables, number) &&
	       !unwind_tables__is_settled(tables, number);
}

bool unwind_settle(struct unwind_tables *tables, __u32 number, struct process *p,
		   const struct mapping *m, __u64 now_ns)
{
	int err = read_rows(tables, p, m, number, now_ns);

	if (err)
		log_debug("unwind", "%s has no rows: %s", module__name(m->module), strerror(-err));
	/* The process could not be asked now, but may be later. */
	if (err == -EAGAIN || err == -ENOSPC)
		return false;
	if (err)
		unwind_tables__set_none(tables, number);
	return true;
}
