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
#include "session/made_code.h"
#include "session/unwind_files.h"
#include "symbol/native.h"
#include "unwind/elf_rows.h"
#include "unwind/tables.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/hash.h"
#include "util/log.h"
#include "util/quota.h"
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
/* Until files are asked for again that could not be read now: at first, and at most. */
#define AGAIN_NS 2000000ULL
#define AGAIN_RARE_NS 1000000000ULL

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
	struct quota *made_words;
	struct native_files *native_files; /* borrowed */
	__u64 made_cnt; /* processes with made code so far */
	struct shared_space *spaces;
	struct unwind_mapping list[UNWIND_MAPPINGS_MAX];
	struct process **waiting; /* whose files' rows are still to be read */
	unsigned waiting_cnt, waiting_cap;
	__u64 step_ns, again_ns; /* the next step; the pause before it, 0 none */
	bool started;
	__u64 waited_ns; /* for rows, before the start */
};

struct unwinding *unwinding__new(struct sampler *sampler, struct native_files *native_files)
{
	struct unwinding *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->sampler = sampler;
	u->tables = sampler__unwind_tables(sampler);
	u->native_files = native_files;
	u->files = unwind_files__new(u->tables);
	u->made_words = quota__new(MADE_WORDS_MAX, MADE_WORDS_MAX / 8);
	if (u->files && u->made_words)
		return u;
	unwinding__free(u);
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
	quota__free(u->made_words);
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

/*
 * The mappings that its rows are of. What is reported ahead of the records that wait (mmap_events.h) is not put into
 * the process's space, in which those records' frames are still to be named.
 */
static struct space *view_of(const struct process *p)
{
	return p->unwind_ahead ? p->unwind_ahead : p->space;
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

/* Which files come first: those that every stack goes through, then the many small ones. */
#define TURNS 4
static int turn_of(const struct mapping *m)
{
	__u64 size = m->end - m->start;

	if (module__origin(m->module) != ORIGIN_OTHER || !strcmp(module__name(m->module), VDSO))
		return 0;
	return size < 256 << 10 ? 1 : size < 4 << 20 ? 2 : 3;
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

/*
 * Those of its files that have none yet, until then (CLOCK_MONOTONIC). True: some of them have rows now. What is
 * left waits.
 */
static bool settle_files(struct unwinding *u, struct process *p, __u64 now_ns, __u64 until_ns)
{
	bool some = false, left = false;
	const struct mapping *list;
	unsigned cnt;

	list = space__mappings(view_of(p), &cnt);
	for (int turn = 0; turn < TURNS; turn++) {
		for (unsigned i = 0; i < cnt; i++) {
			if (turn_of(&list[i]) != turn || is_settled(u, &list[i]))
				continue;
			if (clock_monotonic_ns() >= until_ns) {
				wait_for_rows(u, p);
				return true;
			}
			if (settle_file(u, p, &list[i], now_ns))
				some = true;
			else
				left = true;
		}
	}
	if (left || space__is_outdated(view_of(p)))
		wait_for_rows(u, p);
	else
		stop_waiting(u, p);
	return some;
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

	list = space__mappings(view_of(p), &cnt);
	if (cnt > UNWIND_MAPPINGS_MAX)
		cnt = UNWIND_MAPPINGS_MAX;
	s->files = calloc(cnt ? cnt : 1, sizeof(*s->files));
	if (!s->files)
		return -ENOMEM;
	for (unsigned i = 0; i < cnt; i++) {
		struct unwind_mapping *m = &u->list[i];

		*m = (struct unwind_mapping){
			.start = list[i].start,
			.end = list[i].end,
			.bias = list[i].start - list[i].offset,
			.file = hold_file(u, s, &list[i]),
		};
		if (p->made && made_code_is(&list[i]))
			m->file = made_code__number(p->made, &list[i], &m->bias);
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

/* ---- code that was made ----------------------------------------------------------------------- */

static bool has_made_code(const struct process *p)
{
	const struct mapping *list;
	unsigned cnt;

	list = space__mappings(view_of(p), &cnt);
	for (unsigned i = 0; i < cnt; i++)
		if (made_code_is(&list[i]))
			return true;
	return false;
}

/* True: its numbers are others. */
static bool look_at_made_code(struct unwinding *u, struct process *p, bool mapped, __u64 now_ns)
{
	const struct made_code_tools tools = { u->tables, u->files, u->native_files,
					       u->made_words };

	if (!p->made && has_made_code(p)) {
		p->made = made_code__new(&tools);
		p->made_number = ++u->made_cnt;
	}
	return p->made && made_code__look(p->made, p, view_of(p), mapped, now_ns);
}

/* Of the mappings as the kernel has them: with made code they are the process's own. */
static __u64 digest_of(const struct process *p)
{
	__u64 digest = space__digest(view_of(p));
	__u64 generation = p->made ? made_code__generation(p->made) : 0;

	if (!generation)
		return digest;
	return hash_step(hash_step(hash_step(0, digest), p->made_number), generation) | 1;
}

/* ---- processes -------------------------------------------------------------------------------- */

/* False: there is no room. */
static bool give_mappings(struct unwinding *u, struct process *p)
{
	__u64 digest = digest_of(p);
	struct shared_space *s = acquire(u, p, digest);

	if (!s)
		return false;
	if (sampler__set_space(u->sampler, p->pid, p->start_ns, s->space))
		log_debug("unwind", "%d has no native stacks", p->pid);
	if (p->unwind_digest)
		release(u, p->unwind_digest);
	p->unwind_digest = digest;
	return true;
}

/* Reads what was reported ahead, if it is time. */
static void read_ahead(struct process *p, __u64 now_ns)
{
	struct space *ahead = p->unwind_ahead;

	if (ahead && space__is_outdated(ahead) &&
	    now_ns >= space__read_ns(ahead) + NATIVE_OUTDATED_NS &&
	    space__may_read(ahead, now_ns) && space__read(ahead, now_ns) < 0)
		log_debug("unwind", "the mappings of %d cannot be read", p->pid);
}

static void forget_ahead(struct process *p)
{
	space__free(p->unwind_ahead);
	p->unwind_ahead = NULL;
}

/* Names were looked for in other mappings than before: those that were reported ahead have come, or there are more. */
static void compare_ahead(struct process *p)
{
	__u64 digest = space__digest(p->space);

	if (!p->unwind_ahead || digest == p->unwind_named)
		return;
	p->unwind_named = digest;
	if (space__digest(p->unwind_ahead) == digest)
		forget_ahead(p);
	else
		space__outdate(p->unwind_ahead);
}

static void update(struct unwinding *u, struct process *p, __u64 now_ns)
{
	read_ahead(p, now_ns);
	if (space__digest(view_of(p)) == p->unwind_seen)
		return;
	if (!give_mappings(u, p))
		return;
	p->unwind_seen = space__digest(view_of(p));
	p->unwind_pause_ns = 0;
	/* Each file is of use as soon as it has been read: the mappings are there. */
	settle_now(u, p, now_ns);
	if (look_at_made_code(u, p, true, now_ns))
		give_mappings(u, p);
}

void unwinding__update(struct unwinding *u, struct process *p, __u64 now_ns)
{
	if (!p->native || !p->space)
		return;
	native__catch_up(p->native, now_ns);
	compare_ahead(p);
	update(u, p, now_ns);
}

void unwinding__mapped(struct unwinding *u, struct process *p, __u64 now_ns)
{
	if (!p->native || !p->space || p->state != PROCESS_TRACKED)
		return;
	if (!p->unwind_ahead) {
		p->unwind_ahead = space__fork(p->space, space__probed(p->space), p->pid);
		p->unwind_named = space__digest(p->space);
	}
	if (!p->unwind_ahead)
		return;
	space__outdate(p->unwind_ahead);
	update(u, p, now_ns);
	if (space__is_outdated(p->unwind_ahead))
		wait_for_rows(u, p);
}

__u64 unwinding__step(struct unwinding *u, __u64 now_ns)
{
	bool some = false;
	struct process *p;

	if (!u->waiting_cnt)
		return 0;
	if (now_ns < u->step_ns)
		return u->step_ns;
	/* Each in its turn: one that cannot be served does not stand in the way of others. */
	p = u->waiting[0];
	stop_waiting(u, p);
	update(u, p, now_ns);
	if (p->unwind_digest)
		some = settle_files(u, p, now_ns, clock_monotonic_ns() + STEP_PATIENCE_NS);
	if (some)
		u->again_ns = 0;
	else
		u->again_ns = u->again_ns ? 2 * u->again_ns : AGAIN_NS;
	if (u->again_ns > AGAIN_RARE_NS)
		u->again_ns = AGAIN_RARE_NS;
	u->step_ns = now_ns + u->again_ns;
	return u->waiting_cnt ? u->step_ns : 0;
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
	list = space__mappings(view_of(p), &cnt);
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

void unwinding__missed_made(struct unwinding *u, struct process *p, __u64 now_ns)
{
	if (p->native && p->space && look_at_made_code(u, p, false, now_ns))
		give_mappings(u, p);
}

void unwinding__forget(struct unwinding *u, struct process *p)
{
	stop_waiting(u, p);
	if (p->unwind_digest)
		release(u, p->unwind_digest);
	p->unwind_digest = p->unwind_seen = 0;
	made_code__free(p->made);
	p->made = NULL;
	forget_ahead(p);
}
