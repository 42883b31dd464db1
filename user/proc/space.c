/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "proc/modules.h"
#include "proc/space_room.h"
#include "abi.h"
#include "target/maps.h"
#include "target/probe_maps.h"
#include "target/probed.h"
#include "util/clock.h"

struct range {
	__u64 start, end;
};

/* How many have the lists: a process and its children. */
struct users {
	unsigned cnt;
	unsigned owner; /* whose room they take */
	__u32 ranges; /* so much of it */
};

struct lists {
	struct users *users; /* NULL: nobody has paid for them yet */
	struct mapping *code; /* by start; none overlap */
	unsigned code_cnt, code_cap;
	struct range *data; /* no code; by start, those side by side are one */
	unsigned data_cnt, data_cap;
};

struct space {
	struct space_config config;
	__u64 read_ns, digest;
	bool outdated;
	struct lists lists;
};

/* ---- reading ---------------------------------------------------------------------------------- */

static struct module *module_of_line(const struct space *s, const struct maps_line *m)
{
	char path[64 + MAPS_LINE_MAX] = "";
	struct stat st;

	if (!m->inode)
		return modules__get(s->config.modules, "", m->path, s->config.owner);
	/* The file itself, deleted or in another namespace; needs a privilege. */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)s->config.pid, m->start,
		 m->end);
	if (stat(path, &st))
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)s->config.pid, m->path);
	return modules__get(s->config.modules, path, m->path, s->config.owner);
}

/* Room for one more. 0, -E2BIG, -ENOMEM. */
static int reserve_code(struct lists *l)
{
	unsigned cap = l->code_cap ? l->code_cap * 2 : 32;
	struct mapping *grown;

	if (l->code_cnt == SPACE_MAPPINGS_MAX)
		return -E2BIG;
	if (l->code_cnt < l->code_cap)
		return 0;
	grown = reallocarray(l->code, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->code = grown;
	l->code_cap = cap;
	return 0;
}

static int add_code(struct lists *l, const struct mapping *m)
{
	int err = m->module ? reserve_code(l) : -ENOMEM;

	if (!err)
		l->code[l->code_cnt++] = *m;
	return err;
}

/* Ranges beyond the limit are treated as unknown, not as data. */
static void add_data(struct lists *l, __u64 start, __u64 end)
{
	unsigned cap = l->data_cap ? l->data_cap * 2 : 32;
	struct range *grown;

	if (l->data_cnt && l->data[l->data_cnt - 1].end == start) {
		l->data[l->data_cnt - 1].end = end;
		return;
	}
	if (l->data_cnt == SPACE_MAPPINGS_MAX)
		return;
	if (l->data_cnt == l->data_cap) {
		grown = reallocarray(l->data, cap, sizeof(*grown));
		if (!grown)
			return;
		l->data = grown;
		l->data_cap = cap;
	}
	l->data[l->data_cnt++] = (struct range){ start, end };
}

/* Is the interpreter's data in this mapping? Its code is in the same file. */
static bool holds_runtime(const struct space *s, __u64 start, __u64 end)
{
	__u64 addr = s->config.runtime_addr;

	return addr && addr >= start && addr < end;
}

/*
 * In the order of addresses; so a file that holds the interpreter is known by the time its data comes,
 * behind its code. The data may continue in a mapping without a file, right behind one of the file.
 */
static int take_lines(const struct space *s, struct lists *l, struct maps *maps)
{
	struct maps_line m;
	__u64 inode = 0;
	struct module *module = NULL;
	int result;

	while ((result = maps_next(maps, &m)) > 0) {
		if (m.inode && m.inode != inode) {
			inode = m.inode;
			module = NULL;
		}
		if (m.prot & MAPPING_EXEC) {
			const struct mapping code = { m.start, m.end, m.offset,
						      module_of_line(s, &m) };
			int err = add_code(l, &code);

			if (err)
				return err == -E2BIG ? 0 : err;
			if (m.inode)
				module = code.module;
		} else if (m.prot) {
			/* What is only reserved may become code. */
			add_data(l, m.start, m.end);
		}
		if (module && holds_runtime(s, m.start, m.end))
			module__set_interpreter(module);
	}
	return result;
}

/* The module of a file in a prober's list. */
static struct module *probed_module(const struct space *s, const struct probe_maps *maps, __u32 i)
{
	const struct probe_mapped_file *f = &maps->files[i];
	/* One that cannot be looked at yet is known by its number for this process. */
	const struct file_id guess = { .dev = MODULE_DEV_UNKNOWN - (__u64)s->config.pid,
				       .ino = f->inode };

	return modules__get_id(s->config.modules,
			       f->has_id ? &f->id :
			       f->inode	 ? &guess :
					   NULL,
			       probe_maps_name(maps, f), s->config.owner);
}

/* The same, as a prober has read them. */
static int take_probed(const struct space *s, struct lists *l, const struct probe_maps *maps)
{
	struct module *module = NULL;

	for (__u32 i = 0; i < maps->mapping_cnt; i++) {
		const struct probe_mapping *m = &maps->mappings[i];

		if (m->prot & MAPPING_EXEC) {
			struct mapping code = { m->start, m->end, m->offset, NULL };
			int err;

			code.module = m->file ? probed_module(s, maps, m->file - 1) :
						modules__get_id(s->config.modules, NULL, "",
								s->config.owner);
			err = add_code(l, &code);
			if (err)
				return err == -E2BIG ? 0 : err;
			module = code.module;
		} else {
			add_data(l, m->start, m->end);
		}
		if (module && holds_runtime(s, m->start, m->end))
			module__set_interpreter(module);
	}
	return 0;
}

static int read_probed(const struct space *s, struct lists *l)
{
	struct probe_maps maps;
	int err = probed__maps(s->config.probed, &maps);

	if (err)
		return err;
	err = take_probed(s, l, &maps);
	probe_maps_free(&maps);
	return err;
}

static int read_here(const struct space *s, struct lists *l)
{
	cleanup_maps struct maps maps = { .fd = -1 };
	int err = maps_open(&maps, s->config.pid);

	return err ? err : take_lines(s, l, &maps);
}

/* ---- whose the lists are ---------------------------------------------------------------------- */

static void lists_free(const struct space *s, struct lists *l)
{
	if (l->users && --l->users->cnt)
		return;
	if (l->users)
		quota__give(modules__room(s->config.modules)->quota, l->users->owner,
			    l->users->ranges);
	free(l->users);
	free(l->code);
	free(l->data);
}

/* What finds no room goes: data first, then code from its end. 0 or -ENOMEM. */
static int take_room(const struct space *s, struct lists *l)
{
	struct quota *q = modules__room(s->config.modules)->quota;
	struct users *users = calloc(1, sizeof(*users));

	if (!users)
		return -ENOMEM;
	*users = (struct users){ 1, s->config.owner, l->code_cnt + l->data_cnt };
	if (quota__take(q, s->config.owner, users->ranges)) {
		l->data_cnt = 0;
		users->ranges = l->code_cnt;
		while (users->ranges && quota__take(q, s->config.owner, users->ranges))
			users->ranges /= 2;
		l->code_cnt = users->ranges;
	}
	l->users = users;
	return 0;
}

static __u64 digest_of(const struct lists *l)
{
	__u64 digest = l->code_cnt;

	for (unsigned i = 0; i < l->code_cnt; i++) {
		const struct mapping *m = &l->code[i];
		const __u64 words[] = { m->start, m->end, m->offset, (__u64)(uintptr_t)m->module };

		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			digest = (digest ^ words[k]) * 0x9e3779b97f4a7c15ULL;
		digest ^= digest >> 32;
	}
	return digest;
}

/* Takes over *next. True if that changes anything. */
static bool replace(struct space *s, struct lists *next)
{
	__u64 digest = digest_of(next);
	bool changed = !s->lists.users || digest != s->digest;

	lists_free(s, &s->lists);
	s->lists = *next;
	s->digest = digest;
	return changed;
}

/* ---- its life --------------------------------------------------------------------------------- */

struct space *space__new(const struct space_config *config)
{
	struct space *s = calloc(1, sizeof(*s));

	if (s)
		s->config = *config;
	return s;
}

struct space *space__fork(const struct space *parent, struct probed *probed, pid_t pid)
{
	struct space *s = space__new(&parent->config);

	if (!s)
		return NULL;
	s->config.pid = pid;
	s->config.probed = probed;
	s->lists = parent->lists;
	s->digest = parent->digest;
	s->outdated = parent->outdated;
	if (s->lists.users)
		s->lists.users->cnt++;
	return s;
}

void space__free(struct space *s)
{
	if (!s)
		return;
	lists_free(s, &s->lists);
	free(s);
}

static __u64 used_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (__u64)ts.tv_sec * NS_PER_SEC + (__u64)ts.tv_nsec;
}

/* The executable's module, whatever it is called, has the interpreter in it. */
static void mark_executable(struct space *s)
{
	int fd = s->config.probed ? probed__file(s->config.probed) : AT_FDCWD;
	char path[64] = "";

	if (!s->config.probed)
		snprintf(path, sizeof(path), "/proc/%d/exe", (int)s->config.pid);
	if (!*path && fd < 0)
		return;
	for (unsigned i = 0; i < s->lists.code_cnt; i++) {
		if (module__is(s->lists.code[i].module, fd, path))
			module__set_interpreter(s->lists.code[i].module);
	}
}

/* It takes its owner's time. */
int space__read(struct space *s, __u64 now_ns)
{
	__u64 before_ns = used_cpu_ns();
	struct lists next = { .users = NULL };
	bool first = !s->read_ns;
	int err = s->config.probed ? read_probed(s, &next) : read_here(s, &next);

	s->read_ns = now_ns ? now_ns : 1;
	/* A process that is going has none; what it had before is better than nothing. */
	if (!err && !next.code_cnt)
		err = -ESRCH;
	if (!err)
		err = take_room(s, &next);
	space_room_was_read(modules__room(s->config.modules), s->config.owner, now_ns,
			    used_cpu_ns() - before_ns);
	s->outdated = false; /* where nothing comes of it now, nothing will soon */
	if (err) {
		lists_free(s, &next);
		return err;
	}
	err = replace(s, &next);
	if (first && !s->config.runtime_addr)
		mark_executable(s);
	return err;
}

bool space__may_read(const struct space *s, __u64 now_ns)
{
	return space_room_may_read(modules__room(s->config.modules), s->config.owner, now_ns);
}

__u64 space__read_ns(const struct space *s)
{
	return s->read_ns;
}

/* ---- mappings that are reported --------------------------------------------------------------- */

/* A copy of the code for itself, with the new mapping in place of what it lies over. */
static int with(struct lists *ret, const struct lists *old, const struct mapping *new)
{
	bool in = false;
	int err = 0;

	for (unsigned i = 0; i < old->code_cnt && !err; i++) {
		const struct mapping *m = &old->code[i];
		struct mapping before = *m, behind = *m;

		before.end = m->end < new->start ? m->end : new->start;
		behind.start = m->start > new->end ? m->start : new->end;
		behind.offset += behind.start - m->start;
		if (before.start < before.end)
			err = add_code(ret, &before);
		if (!err && !in && m->end > new->start) {
			err = add_code(ret, new);
			in = true;
		}
		if (!err && behind.start < behind.end)
			err = add_code(ret, &behind);
	}
	return err || in ? err : add_code(ret, new);
}

static int copy_data(struct lists *ret, const struct lists *old, const struct mapping *new)
{
	for (unsigned i = 0; i < old->data_cnt; i++) {
		const struct range *r = &old->data[i];

		if (r->start < new->start)
			add_data(ret, r->start, r->end < new->start ? r->end : new->start);
		if (r->end > new->end)
			add_data(ret, r->start > new->end ? r->start : new->end, r->end);
	}
	return 0;
}

int space__map(struct space *s, const struct mapping *new)
{
	const struct mapping *known = space__find(s, new->start);
	struct lists next = { .users = NULL };
	int err;

	if (new->start >= new->end)
		return -EINVAL;
	if (known && !memcmp(known, new, sizeof(*new)))
		return 0;
	err = with(&next, &s->lists, new);
	if (!err)
		err = copy_data(&next, &s->lists, new);
	if (!err)
		err = take_room(s, &next);
	if (err) {
		lists_free(s, &next);
		return err;
	}
	replace(s, &next);
	return 0;
}

/* NULL: its file has not been met, or could not be told from others. */
static struct module *reported_module(const struct space *s, const struct record_mmap *record)
{
	if (!record->file.inode)
		return modules__get_id(s->config.modules, NULL, "", s->config.owner);
	return modules__find(s->config.modules, &record->file);
}

void space__report(struct space *s, const struct record_mmap *record, __u64 now_ns)
{
	const struct mapping new = { record->start, record->end, record->offset,
				     reported_module(s, record) };
	__u64 before_ns = used_cpu_ns();

	if (record->last)
		s->config.reported = false;
	if (!new.module || !space__may_read(s, now_ns) || space__map(s, &new))
		s->outdated = true;
	space_room_was_read(modules__room(s->config.modules), s->config.owner, now_ns,
			    used_cpu_ns() - before_ns);
}

bool space__is_outdated(const struct space *s)
{
	return s->outdated;
}

bool space__is_reported(const struct space *s)
{
	return s->config.reported;
}

/* ---- asking ----------------------------------------------------------------------------------- */

const struct mapping *space__find(const struct space *s, __u64 addr)
{
	unsigned low = 0, high = s->lists.code_cnt;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		const struct mapping *m = &s->lists.code[middle];

		if (addr < m->start)
			high = middle;
		else if (addr >= m->end)
			low = middle + 1;
		else
			return m;
	}
	return NULL;
}

bool space__is_data(const struct space *s, __u64 addr)
{
	unsigned low = 0, high = s->lists.data_cnt;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (addr < s->lists.data[middle].start)
			high = middle;
		else if (addr >= s->lists.data[middle].end)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

const struct mapping *space__mappings(const struct space *s, unsigned *ret_cnt)
{
	*ret_cnt = s->lists.code_cnt;
	return s->lists.code;
}

__u64 space__digest(const struct space *s)
{
	return s->digest;
}

struct modules *space__modules(const struct space *s)
{
	return s->config.modules;
}

struct probed *space__probed(const struct space *s)
{
	return s->config.probed;
}

pid_t space__pid(const struct space *s)
{
	return s->config.pid;
}
