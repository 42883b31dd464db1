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
#include "session/unwind_files.h"
#include "symbol/native.h"
#include "unwind/elf_rows.h"
#include "unwind/tables.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/vec.h"

#define VDSO "[vdso]"

/*
 * Between two looks at the files of a process whose rows are missed: shortest, and longest where nothing
 * comes of them.
 */
#define RETRY_NS 2000000ULL
#define RETRY_RARE_NS 200000000ULL

/*
 * The start of a recording begins to read no more rows after this time of them, which one process hardly ever
 * needs; the rest is read while sampling goes on, first what is missed.
 */
#define START_PATIENCE_NS 500000000ULL
/* The same at one go, later on: records wait meanwhile. */
#define STEP_PATIENCE_NS 20000000ULL

/* Mappings that one or more processes have. */
struct shared_space {
	__u64 digest;
	__u32 space;
	unsigned users;
	__u32 *files; /* numbers that it holds */
	__u32 file_cnt;
	UT_hash_handle hh;
};

struct unwinding {
	struct sampler *sampler;
	struct unwind_tables *tables;
	struct unwind_files *files;
	struct shared_space *spaces;
	struct unwind_mapping list[UNWIND_MAPPINGS_MAX];
	struct process **waiting; /* whose files' rows are still to be read */
	unsigned waiting_cnt, waiting_cap;
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
	u->files = unwind_files__new(u->tables);
	if (u->files)
		return u;
	free(u);
	return NULL;
}

static void free_space(struct shared_space *s)
{
	free(s->files);
	free(s);
}

void unwinding__free(struct unwinding *u)
{
	struct shared_space *s, *next;

	if (!u)
		return;
	HASH_ITER(hh, u->spaces, s, next) {
		HASH_DEL(u->spaces, s);
		free_space(s);
	}
	unwind_files__free(u->files);
	free(u->waiting);
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

/* Code that was made, and what the kernel maps beside [vdso], have no file. */
static bool has_file(const struct mapping *m)
{
	const char *name = module__name(m->module);

	return *name && (*name != '[' || !strcmp(name, VDSO));
}

/* It has rows, or none for good. */
static bool is_settled(const struct unwinding *u, const struct mapping *m)
{
	__u32 number = has_file(m) ? unwind_files__find(u->files, m->module) : 0;

	return !number || unwind_tables__is_settled(u->tables, number);
}

/* The rows of a mapping's file are there from now on, if they can be. False: they may be later. */
static bool settle_file(struct unwinding *u, struct process *p, const struct mapping *m,
			__u64 now_ns)
{
	__u32 number = unwind_files__find(u->files, m->module);
	int err = read_rows(u, p, m, number, now_ns);

	if (err)
		log_debug("unwind", "%s has no rows: %s", module__name(m->module), strerror(-err));
	/* Those who could not be asked now may be later. */
	if (err == -EAGAIN || err == -ENOSPC)
		return false;
	if (err)
		unwind_tables__set_none(u->tables, number);
	return true;
}

/* Every stack goes through these. */
static bool is_common(const struct mapping *m)
{
	return module__origin(m->module) != ORIGIN_OTHER || !strcmp(module__name(m->module), VDSO);
}

/* ---- processes that wait for rows --------------------------------------------------------------- */

static void stop_waiting(struct unwinding *u, struct process *p)
{
	if (!p->unwind_waits)
		return;
	p->unwind_waits = false;
	for (unsigned i = 0; i < u->waiting_cnt; i++) {
		if (u->waiting[i] == p) {
			u->waiting[i] = u->waiting[--u->waiting_cnt];
			return;
		}
	}
}

/* Without memory for it they are read when they are missed. */
static void wait_for_rows(struct unwinding *u, struct process *p)
{
	if (p->unwind_waits || vec_reserve(u->waiting, u->waiting_cap, u->waiting_cnt + 1))
		return;
	u->waiting[u->waiting_cnt++] = p;
	p->unwind_waits = true;
}

/* Those of its files that have none yet, common ones first, until then (CLOCK_MONOTONIC). */
static void settle_files(struct unwinding *u, struct process *p, __u64 now_ns, __u64 until_ns)
{
	const struct mapping *list;
	unsigned cnt;

	list = space__mappings(p->space, &cnt);
	for (int common = 1; common >= 0; common--) {
		for (unsigned i = 0; i < cnt; i++) {
			if (is_common(&list[i]) != common || is_settled(u, &list[i]))
				continue;
			if (clock_monotonic_ns() >= until_ns) {
				wait_for_rows(u, p);
				return;
			}
			settle_file(u, p, &list[i], now_ns);
		}
	}
	stop_waiting(u, p);
}

static void settle_now(struct unwinding *u, struct process *p, __u64 now_ns)
{
	__u64 begin_ns = clock_monotonic_ns(), patience_ns = STEP_PATIENCE_NS;

	if (!u->started)
		patience_ns = START_PATIENCE_NS - u->waited_ns;
	settle_files(u, p, now_ns, begin_ns + patience_ns);
	if (u->started)
		return;
	u->waited_ns += clock_monotonic_ns() - begin_ns;
	if (u->waited_ns > START_PATIENCE_NS)
		u->waited_ns = START_PATIENCE_NS;
}

bool unwinding__step(struct unwinding *u, __u64 now_ns)
{
	struct process *p;

	if (!u->waiting_cnt)
		return false;
	p = u->waiting[u->waiting_cnt - 1];
	settle_files(u, p, now_ns, clock_monotonic_ns() + STEP_PATIENCE_NS);
	return u->waiting_cnt;
}

/* ---- mappings --------------------------------------------------------------------------------- */

static void release(struct unwinding *u, __u64 digest)
{
	struct shared_space *s;

	HASH_FIND(hh, u->spaces, &digest, sizeof(digest), s);
	if (!s || --s->users)
		return;
	unwind_tables__drop_space(u->tables, s->space);
	for (__u32 i = 0; i < s->file_cnt; i++)
		unwind_files__release(u->files, s->files[i]);
	HASH_DEL(u->spaces, s);
	free_space(s);
}

/* One number for each mapping of a file, held by the space. */
static __u32 hold_file(struct unwinding *u, struct shared_space *s, const struct mapping *m)
{
	__u32 number = has_file(m) ? unwind_files__hold(u->files, m->module) : 0;

	if (number)
		s->files[s->file_cnt++] = number;
	return number;
}

static int fill_list(struct unwinding *u, struct shared_space *s, const struct process *p)
{
	const struct mapping *list;
	unsigned cnt;

	list = space__mappings(p->space, &cnt);
	if (cnt > UNWIND_MAPPINGS_MAX)
		cnt = UNWIND_MAPPINGS_MAX;
	s->files = calloc(cnt ? cnt : 1, sizeof(*s->files));
	if (!s->files)
		return -ENOMEM;
	for (unsigned i = 0; i < cnt; i++) {
		u->list[i] = (struct unwind_mapping){
			.start = list[i].start,
			.end = list[i].end,
			.bias = list[i].start - list[i].offset,
			.file = hold_file(u, s, &list[i]),
		};
	}
	s->space = unwind_tables__set_space(u->tables, 0, u->list, cnt);
	return s->space ? 0 : -ENOSPC;
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
	HASH_ADD(hh, u->spaces, digest, sizeof(s->digest), s);
	if (!fill_list(u, s, p))
		return s;
	release(u, digest);
	return NULL;
}

void unwinding__update(struct unwinding *u, struct process *p, __u64 now_ns)
{
	struct shared_space *s;
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
	p->unwind_pause_ns = 0;
	/* Each file is of use as soon as it has been read: the mappings are there. */
	settle_now(u, p, now_ns);
}

void unwinding__started(struct unwinding *u)
{
	u->started = true;
}

void unwinding__missed(struct unwinding *u, struct process *p, __u64 now_ns)
{
	const struct mapping *list;
	bool found = false;
	unsigned cnt;

	if (!p->native || !p->space || now_ns < p->unwind_retry_ns)
		return;
	list = space__mappings(p->space, &cnt);
	for (unsigned i = 0; i < cnt; i++) {
		__u32 number = has_file(&list[i]) ? unwind_files__find(u->files, list[i].module) :
						    0;

		if (number && unwind_tables__is_wanted(u->tables, number) &&
		    !unwind_tables__is_settled(u->tables, number))
			found |= settle_file(u, p, &list[i], now_ns);
	}
	/* Rarer, the longer nothing comes of it. */
	p->unwind_pause_ns = found ? RETRY_NS : 2 * p->unwind_pause_ns;
	if (p->unwind_pause_ns < RETRY_NS)
		p->unwind_pause_ns = RETRY_NS;
	if (p->unwind_pause_ns > RETRY_RARE_NS)
		p->unwind_pause_ns = RETRY_RARE_NS;
	p->unwind_retry_ns = now_ns + p->unwind_pause_ns;
}

void unwinding__forget(struct unwinding *u, struct process *p)
{
	stop_waiting(u, p);
	if (p->unwind_digest)
		release(u, p->unwind_digest);
	p->unwind_digest = 0;
}
