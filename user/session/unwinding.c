/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/unwinding.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "follow/processes.h"
#include "sampler/sampler.h"
#include "proc/modules.h"
#include "symbol/native.h"
#include "unwind/elf_rows.h"
#include "unwind/tables.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/log.h"

#define VDSO "[vdso]"
/* Between two looks at the files of a process whose rows are missed. */
#define RETRY_NS 200000000ULL

/*
 * The start of a recording begins to read no more rows after this time of them, which one process never
 * needs; others are read when they are missed. Not sooner: a leaf in code whose rows are missing may be placed
 * below its caller.
 */
#define START_PATIENCE_NS 500000000ULL

/* Mappings that one or more processes have. */
struct shared_space {
	__u64 digest;
	__u32 space;
	unsigned users;
	UT_hash_handle hh;
};

struct unwinding {
	struct sampler *sampler;
	struct unwind_tables *tables;
	struct shared_space *spaces;
	struct unwind_mapping list[UNWIND_MAPPINGS_MAX];
	bool started;
	__u64 waited_ns; /* for rows, before the start */
};

struct unwinding *unwinding__new(struct sampler *sampler)
{
	struct unwinding *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->sampler = sampler;
	u->tables = sampler__unwind_tables(sampler);
	return u;
}

void unwinding__free(struct unwinding *u)
{
	struct shared_space *s, *next;

	if (!u)
		return;
	HASH_ITER(hh, u->spaces, s, next) {
		HASH_DEL(u->spaces, s);
		free(s);
	}
	free(u);
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* What elf_rows() has made, in the form that goes to the tables. */
static int set_table(struct unwinding *u, __u32 number, const struct row_table *t, __u32 now)
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
	return unwind_tables__set_rows(u->tables, number, &rows, now);
}

/*
 * The kernel's image, which is the same in all processes: krait's own, whole, since a process may have
 * unmapped a part of its own, and all have these rows.
 */
static int read_vdso(struct unwinding *u, __u32 number, __u32 now)
{
	cleanup_close int fd = memfd_create("vdso", MFD_CLOEXEC);
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct row_table table;
	size_t size;
	int err;

	if (fd < 0 || !image)
		return -ENODATA;
	/* Its section headers come last. */
	size = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
	if (write(fd, image, size) != (ssize_t)size)
		return -ENODATA;
	err = elf_rows(fd, &table);
	if (err)
		return err;
	err = set_table(u, number, &table, now);
	row_table_free(&table);
	return err;
}

static int read_rows(struct unwinding *u, struct process *p, const struct mapping *m, __u32 number,
		     __u64 now_ns)
{
	__u32 now = (__u32)(now_ns >> UNWIND_NOW_SHIFT);
	struct unwind_rows rows;
	int err;

	if (!strcmp(module__name(m->module), VDSO))
		return read_vdso(u, number, now);
	err = native__rows(p->native, m, now_ns, &rows);
	return err ? err : unwind_tables__set_rows(u->tables, number, &rows, now);
}

/* The number of a mapping's file; 0: it is none, or cannot have rows. */
static __u32 number_of(const struct mapping *m)
{
	const char *name = module__name(m->module);
	__u32 number = module__number(m->module) + 1;

	/* Code that was made, and what the kernel maps beside [vdso]. */
	if (!*name || (*name == '[' && strcmp(name, VDSO) != 0) || number >= UNWIND_FILES_MAX)
		return 0;
	return number;
}

/* The rows of a mapping's file are there from now on, if they can be. */
static void settle_file(struct unwinding *u, struct process *p, const struct mapping *m,
			__u64 now_ns)
{
	__u32 number = number_of(m);
	int err;

	if (!number || unwind_tables__is_settled(u->tables, number))
		return;
	err = read_rows(u, p, m, number, now_ns);
	if (err)
		log_debug("unwind", "%s has no rows: %s", module__name(m->module), strerror(-err));
	/* Those who could not be asked now may be later. */
	if (err && err != -EAGAIN && err != -ENOSPC)
		unwind_tables__set_none(u->tables, number);
}

/* ---- mappings --------------------------------------------------------------------------------- */

static void release(struct unwinding *u, __u64 digest)
{
	struct shared_space *s;

	HASH_FIND(hh, u->spaces, &digest, sizeof(digest), s);
	if (!s || --s->users)
		return;
	unwind_tables__drop_space(u->tables, s->space);
	HASH_DEL(u->spaces, s);
	free(s);
}

static __u32 fill_list(struct unwinding *u, const struct process *p)
{
	const struct mapping *list;
	unsigned mapping_cnt;
	__u32 cnt = 0;

	list = space__mappings(p->space, &mapping_cnt);
	for (unsigned i = 0; i < mapping_cnt && cnt < UNWIND_MAPPINGS_MAX; i++) {
		u->list[cnt++] = (struct unwind_mapping){
			.start = list[i].start,
			.end = list[i].end,
			.bias = list[i].start - list[i].offset,
			.file = number_of(&list[i]),
		};
	}
	return cnt;
}

/* The space of these mappings, with one more user; NULL: there is no room. */
static struct shared_space *acquire(struct unwinding *u, const struct process *p, __u64 digest)
{
	struct shared_space *s;

	HASH_FIND(hh, u->spaces, &digest, sizeof(digest), s);
	if (s) {
		s->users++;
		return s;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->digest = digest;
	s->users = 1;
	s->space = unwind_tables__set_space(u->tables, 0, u->list, fill_list(u, p));
	if (!s->space) {
		free(s);
		return NULL;
	}
	HASH_ADD(hh, u->spaces, digest, sizeof(s->digest), s);
	return s;
}

void unwinding__update(struct unwinding *u, struct process *p, __u64 now_ns)
{
	const struct mapping *list;
	struct shared_space *s;
	unsigned cnt;
	__u64 digest;

	if (!p->native || !p->space)
		return;
	native__catch_up(p->native, now_ns);
	if (space__digest(p->space) == p->unwind_digest)
		return;
	digest = space__digest(p->space);
	s = acquire(u, p, digest);
	if (!s)
		return;
	if (sampler__set_space(u->sampler, p->pid, p->start_ns, s->space))
		log_debug("unwind", "%d has no native stacks", p->pid);
	if (p->unwind_digest)
		release(u, p->unwind_digest);
	p->unwind_digest = digest;
	/* Each file is of use as soon as it has been read: the mappings are there. */
	list = space__mappings(p->space, &cnt);
	for (unsigned i = 0; i < cnt && (u->started || u->waited_ns < START_PATIENCE_NS); i++) {
		__u64 begin_ns = clock_monotonic_ns();

		settle_file(u, p, &list[i], now_ns);
		u->waited_ns += clock_monotonic_ns() - begin_ns;
	}
}

void unwinding__started(struct unwinding *u)
{
	u->started = true;
}

void unwinding__missed(struct unwinding *u, struct process *p, __u64 now_ns)
{
	const struct mapping *list;
	unsigned cnt;

	if (!p->native || !p->space || now_ns < p->unwind_retry_ns)
		return;
	p->unwind_retry_ns = now_ns + RETRY_NS;
	list = space__mappings(p->space, &cnt);
	for (unsigned i = 0; i < cnt; i++) {
		__u32 number = number_of(&list[i]);

		if (number && unwind_tables__is_wanted(u->tables, number))
			settle_file(u, p, &list[i], now_ns);
	}
}

void unwinding__forget(struct unwinding *u, struct process *p)
{
	if (p->unwind_digest)
		release(u, p->unwind_digest);
	p->unwind_digest = 0;
}
