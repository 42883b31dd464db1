/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/space/space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "bpf/abi.h"
#include "process/space/code_list.h"
#include "process/space/modules.h"
#include "process/space/space_room.h"
#include "process/proc/maps.h"
#include "process/probe/probe_maps.h"
#include "process/probe/probed.h"
#include "base/system/clock.h"

struct space {
	struct space_config config;
	__u64 read_ns, digest;
	bool outdated, fixed;
	bool cut; /* counted as one whose list is cut */
	struct code_list list;
	struct module *interpreter; /* borrowed; NULL: not found yet */
};

static struct quota *room_of(const struct space *s)
{
	return modules__room(s->config.modules)->quota;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static struct module *module_of_line(const struct space *s, const struct maps_line *m)
{
	char path[64 + MAPS_LINE_MAX] = "";
	struct stat st;

	if (!m->inode)
		return modules__get(s->config.modules, "", m->path, s->config.owner);
	/* The file itself, even if deleted or in another namespace; needs a privilege. */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)s->config.pid,
		 m->link_start, m->link_end);
	if (stat(path, &st))
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)s->config.pid, m->path);
	return modules__get(s->config.modules, path, m->path, s->config.owner);
}

/* Is the interpreter's data in this mapping? Its code is in the same file. */
static bool holds_runtime(const struct space *s, __u64 start, __u64 end)
{
	__u64 addr = s->config.runtime_addr;

	return addr && addr >= start && addr < end;
}

/*
 * In the order of addresses, so a file that contains the interpreter is known by the time its data
 * comes, after its code. The data may continue in a mapping without a file, right behind one of the
 * file. *holder: the file's module; unchanged if there is none.
 */
static int take_lines(const struct space *s, struct code_list *l, struct maps *maps,
		      struct module **holder)
{
	struct maps_line m;
	__u64 inode = 0;
	struct module *module = NULL;
	int result;

	while ((result = maps_next_code(maps, &m)) > 0) {
		if (m.inode && m.inode != inode) {
			inode = m.inode;
			module = NULL;
		}
		if (m.prot & MAPPING_EXEC) {
			const struct mapping code = {
				m.start, m.end, m.offset, { module_of_line(s, &m) }
			};
			int err = code_list_add(l, &code);

			if (err)
				return err == -E2BIG ? 0 : err;
			if (m.inode)
				module = code.module;
		} else if (m.prot) {
			/* Memory that is merely reserved may become code. */
			code_list_add_data(l, m.start, m.end);
		}
		if (module && holds_runtime(s, m.start, m.end))
			*holder = module;
	}
	return result;
}

/* The module of a file in a prober's list. */
static struct module *probed_module(const struct space *s, const struct probe_maps *maps, __u32 i)
{
	const struct probe_mapped_file *f = &maps->files[i];
	/* A file that cannot be examined yet is identified by its inode, for this process. */
	const struct file_id guess = { .dev = MODULE_DEV_UNKNOWN - (__u64)s->config.pid,
				       .ino = f->inode };

	return modules__get_id(s->config.modules,
			       f->has_id ? &f->id :
			       f->inode	 ? &guess :
					   NULL,
			       probe_maps_name(maps, f), s->config.owner);
}

/* The same from a prober's list. */
static int take_probed(const struct space *s, struct code_list *l, const struct probe_maps *maps,
		       struct module **holder)
{
	struct module *module = NULL;

	for (__u32 i = 0; i < maps->mapping_cnt; i++) {
		const struct probe_mapping *m = &maps->mappings[i];
		bool has_file = m->file && maps->files[m->file - 1].inode;

		if (has_file && (m->prot & MAPPING_EXEC || holds_runtime(s, m->start, m->end)))
			module = probed_module(s, maps, m->file - 1);
		if (m->prot & MAPPING_EXEC) {
			struct mapping code = { m->start, m->end, m->offset, { module } };
			int err;

			if (!has_file)
				code.module = m->file ? probed_module(s, maps, m->file - 1) :
							modules__get_id(s->config.modules, NULL, "",
									s->config.owner);
			err = code_list_add(l, &code);
			if (err)
				return err == -E2BIG ? 0 : err;
		} else {
			code_list_add_data(l, m->start, m->end);
		}
		if (module && holds_runtime(s, m->start, m->end))
			*holder = module;
	}
	return 0;
}

static int read_probed(const struct space *s, struct code_list *l, struct module **holder)
{
	struct probe_maps maps;
	int err = probed__maps(s->config.probed, &maps);

	if (err)
		return err;
	err = take_probed(s, l, &maps, holder);
	probe_maps_free(&maps);
	return err;
}

static int read_here(const struct space *s, struct code_list *l, struct module **holder)
{
	cleanup_maps struct maps maps = { .fd = -1 };
	int err = maps_open(&maps, s->config.pid);

	return err ? err : take_lines(s, l, &maps, holder);
}

/* Takes over *next. True if that changes anything. */
static bool replace(struct space *s, struct code_list *next)
{
	__u64 digest = code_list_digest(next);
	bool changed = !s->list.users || digest != s->digest;

	code_list_free(&s->list, room_of(s));
	s->list = *next;
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
	code_list_share(&s->list, &parent->list);
	s->digest = parent->digest;
	s->interpreter = parent->interpreter;
	s->outdated = parent->outdated;
	return s;
}

void space__free(struct space *s)
{
	if (!s)
		return;
	code_list_free(&s->list, room_of(s));
	free(s);
}

static __u64 used_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (__u64)ts.tv_sec * NS_PER_SEC + (__u64)ts.tv_nsec;
}

/*
 * The module with the file in which the interpreter was found. A file that nobody could read is
 * told by where the data is: holder.
 */
static void find_interpreter(struct space *s, struct module *holder)
{
	for (unsigned i = 0; i < s->list.code_cnt; i++) {
		struct module *m = s->list.code[i].module;

		if (!module__has_file(m, &s->config.runtime_file))
			continue;
		s->interpreter = m;
		if (s->config.alone)
			module__note_interpreter(m);
		return;
	}
	if (holder)
		s->interpreter = holder;
}

void space__set_interpreter(struct space *s, struct module *module)
{
	s->interpreter = module;
}

enum module_origin space__origin(const struct space *s, const struct module *module)
{
	enum module_origin origin = module__origin(module);

	if (module != s->interpreter || origin == ORIGIN_INTERPRETER)
		return origin;
	return s->config.alone ? ORIGIN_INTERPRETER : ORIGIN_EMBEDDER;
}

static void note_cut(struct space *s, const struct code_list *next)
{
	struct space_room *room = modules__room(s->config.modules);

	if (!next->cut || s->cut || room->cut_pid == s->config.pid)
		return;
	s->cut = true;
	if (!room->cut_cnt++)
		room->cut_pid = s->config.pid;
}

/* Uses its owner's time. */
int space__read(struct space *s, __u64 now_ns)
{
	__u64 before_ns = used_cpu_ns();
	struct code_list next = { .users = NULL };
	struct module *holder = NULL;
	int err = s->config.probed ? read_probed(s, &next, &holder) : read_here(s, &next, &holder);

	s->read_ns = now_ns ? now_ns : 1;
	/* An exiting process has none; what it had before is better than nothing. */
	if (!err && !next.code_cnt)
		err = -ESRCH;
	if (!err)
		err = code_list_pay(&next, room_of(s), s->config.owner);
	space_room_was_read(modules__room(s->config.modules), s->config.owner, now_ns,
			    used_cpu_ns() - before_ns);
	s->outdated = false; /* if this changes nothing, asking again soon will not either */
	if (err) {
		code_list_free(&next, room_of(s));
		return err;
	}
	note_cut(s, &next);
	err = replace(s, &next);
	find_interpreter(s, holder);
	return err;
}

void space__fix(struct space *s)
{
	s->fixed = true;
	s->outdated = false;
	/* From now on nobody reads it, even for the first time. */
	if (!s->read_ns)
		s->read_ns = 1;
}

bool space__may_read(const struct space *s, __u64 now_ns)
{
	return !s->fixed &&
	       space_room_may_read(modules__room(s->config.modules), s->config.owner, now_ns);
}

__u64 space__read_ns(const struct space *s)
{
	return s->read_ns;
}

/* ---- mappings that are reported --------------------------------------------------------------- */

int space__map(struct space *s, const struct mapping *new)
{
	const struct mapping *known = space__find(s, new->start);
	struct code_list next = { .users = NULL };
	int err;

	if (new->start >= new->end)
		return -EINVAL;
	if (known && !memcmp(known, new, sizeof(*new)))
		return 0;
	err = code_list_with(&next, &s->list, new);
	if (!err)
		err = code_list_pay(&next, room_of(s), s->config.owner);
	if (err) {
		code_list_free(&next, room_of(s));
		return err;
	}
	replace(s, &next);
	return 0;
}

/* NULL: its file is not known, or cannot be told from others. */
static struct module *reported_module(const struct space *s, const struct record_mmap *record)
{
	if (!record->file.inode)
		return modules__get_id(s->config.modules, NULL, "", s->config.owner);
	return modules__find(s->config.modules, &record->file);
}

static bool is_of_file(const struct mapping *m)
{
	return m && module__inode(m->module);
}

void space__report(struct space *s, const struct record_mmap *record, __u64 now_ns)
{
	const struct mapping new = {
		record->start, record->end, record->offset, { reported_module(s, record) }
	};
	__u64 before_ns = used_cpu_ns();

	if (record->last)
		s->config.reported = false;
	/* Code that a file's was moved to is told by what is around it (maps.h). */
	if (!record->file.inode && is_of_file(space__find(s, record->start)))
		s->outdated = true;
	else if (!new.module || !space__may_read(s, now_ns) || space__map(s, &new))
		s->outdated = true;
	space_room_was_read(modules__room(s->config.modules), s->config.owner, now_ns,
			    used_cpu_ns() - before_ns);
}

void space__outdate(struct space *s)
{
	s->outdated = true;
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
	return code_list_find(&s->list, addr);
}

bool space__is_data(const struct space *s, __u64 addr)
{
	return code_list_data(&s->list, addr);
}

bool space__data(const struct space *s, __u64 addr, __u64 *ret_start, __u64 *ret_end)
{
	const struct code_list_range *r = code_list_data(&s->list, addr);

	if (!r)
		return false;
	*ret_start = r->start;
	*ret_end = r->end;
	return true;
}

const struct mapping *space__mappings(const struct space *s, unsigned *ret_cnt)
{
	*ret_cnt = s->list.code_cnt;
	return s->list.code;
}

__u64 space__digest(const struct space *s)
{
	return s->digest;
}

struct probed *space__probed(const struct space *s)
{
	return s->config.probed;
}

pid_t space__pid(const struct space *s)
{
	return s->config.pid;
}
