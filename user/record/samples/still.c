/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/still.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "record/follow/processes.h"
#include "native/names/symbol_reader.h"
#include "process/space/modules.h"
#include "process/space/space.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/profile.h"
#include "record/unwinding/made_code.h"
#include "record/samples/native_part.h"
#include "record/samples/own.h"
#include "record/samples/stack_nodes.h"
#include "record/unwinding/unwind_files.h"
#include "record/unwinding/unwind_settle.h"
#include "record/unwinding/unwind_spaces.h"
#include "record/stack/stacks.h"
#include "python/code/symbolizer.h"
#include "native/names/native.h"
#include "native/rows/plain_tables.h"
#include "native/rows/stack_unwind.h"
#include "native/rows/tables.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/data/hash.h"
#include "base/share/quota.h"

/* As in a recording. */
#define ROWS_BYTES (64ULL << 20)
/* Files that one stack may have rows read for. */
#define WALKS_MAX 64

/* A record as the kernel side would have written it. */
struct still_record {
	struct record_sample record;
	struct native_frame natives[KRAIT_MAX_NATIVE];
};

struct still {
	struct profile *profile; /* whose dictionary names are in; it counts nothing */
	struct stack_nodes nodes; /* includes the native part, which is owned */
	struct stack stack; /* the last one */
	struct frame frames[KRAIT_MAX_FRAMES]; /* of it, root first */
	/* For native frames; NULL: not wanted. */
	struct modules *modules;
	struct native_files *native_files;
	struct plain_tables *memory;
	struct unwind_tables *tables; /* in it */
	struct unwind_files *files;
	struct unwind_spaces *spaces;
	struct stack_unwind *unwind;
	struct quota *made_words;
	__u64 made_cnt; /* processes with generated code so far */
	struct stack_unwind_result walked;
	struct still_record record;
};

struct still_process {
	struct still *still;
	struct process process;
	struct process_own own; /* of the process */
	__u64 digest; /* of its mappings in the tables; 0: none */
	__u32 space; /* their number */
	struct made_code *made; /* its generated code; NULL: none */
	__u64 made_number;
	bool changed; /* its mappings have changed meanwhile */
	bool made_seen; /* its generated code has been examined */
};

static bool make_natives(struct still *s)
{
	const struct native_part_options options = { .native = true };

	s->modules = modules__new();
	s->native_files = s->modules ? native_files__new(s->modules) : NULL;
	s->memory = plain_tables__new(ROWS_BYTES);
	s->made_words = quota__new(MADE_WORDS_MAX, MADE_WORDS_MAX / 8);
	if (!s->native_files || !s->memory || !s->made_words)
		return false;
	s->tables = plain_tables__tables(s->memory);
	s->nodes.natives = native_part__new(&options, s->native_files, s->profile->dict);
	s->unwind = stack_unwind__new(s->tables);
	s->files = unwind_files__new(s->tables);
	s->spaces = s->files ? unwind_spaces__new(s->tables, s->files) : NULL;
	return s->nodes.natives && s->unwind && s->spaces;
}

struct still *still__new(bool natives)
{
	struct still *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->profile = profile__new();
	s->nodes.naming.profile = s->profile;
	s->nodes.whole = true;
	if (s->profile && (!natives || make_natives(s)))
		return s;
	still__free(s);
	return NULL;
}

bool still__has_natives(const struct still *s)
{
	return s->nodes.natives;
}

void still__prepare(struct still *s)
{
	if (s->native_files)
		symbol_reader__prepare(native_files__reader(s->native_files));
}

void still__free(struct still *s)
{
	if (!s)
		return;
	native_part__free(s->nodes.natives);
	stack_nodes_free(&s->nodes);
	free(s->stack.named.list);
	unwind_spaces__free(s->spaces);
	unwind_files__free(s->files);
	stack_unwind__free(s->unwind);
	plain_tables__free(s->memory);
	quota__free(s->made_words);
	native_files__free(s->native_files);
	modules__free(s->modules);
	profile__free(s->profile);
	free(s);
}

/* ---- processes -------------------------------------------------------------------------------- */

static struct space *new_space(const struct still *s, const struct py_process *info,
			       struct probed *probed)
{
	return space__new(&(struct space_config){
		.modules = s->modules,
		.probed = probed,
		.pid = info->pid,
		.runtime_addr = info->runtime_addr,
		.runtime_file = info->file_id,
		.alone = info->alone,
	});
}

static struct still_process *new_process(struct still *s, const struct py_process *info,
					 struct probed *probed)
{
	struct still_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->still = s;
	p->process.own = &p->own;
	p->process.pid = info->pid;
	p->process.info = *info;
	p->process.probed = probed;
	if (!s->modules)
		return p;
	p->process.space = new_space(s, info, probed);
	if (p->process.space)
		p->process.native = native__new(s->native_files, p->process.space);
	if (p->process.native)
		return p;
	still__close(p);
	return NULL;
}

/*
 * Puts its mappings into the tables, in place of its earlier ones. Without room it has no native
 * frames.
 */
static void give_mappings(struct still_process *p)
{
	struct process *process = &p->process;
	__u64 digest = space__digest(process->space);
	__u32 space;

	if (p->made)
		digest = hash_step(hash_step(0, digest), p->made_number) | 1;
	space = unwind_spaces__acquire(p->still->spaces, digest, process->space, p->made,
				       process->owner);

	if (p->digest)
		unwind_spaces__release(p->still->spaces, p->digest);
	p->digest = space ? digest : 0;
	p->space = space;
}

struct still_process *still__open(struct still *s, const struct py_process *info,
				  struct probed *probed)
{
	struct still_process *p = new_process(s, info, probed);

	if (!p || !s->modules)
		return p;
	p->changed = space__read(p->process.space, clock_monotonic_ns()) < 0;
	space__fix(p->process.space);
	give_mappings(p);
	return p;
}

bool still__check(struct still_process *p)
{
	struct space *now;

	if (!p->process.space)
		return true;
	now = new_space(p->still, &p->process.info, p->process.probed);
	if (!now || space__read(now, clock_monotonic_ns()) < 0 ||
	    space__digest(now) != space__digest(p->process.space))
		p->changed = true;
	space__free(now);
	return !p->changed;
}

void still__close(struct still_process *p)
{
	if (!p)
		return;
	if (p->digest)
		unwind_spaces__release(p->still->spaces, p->digest);
	made_code__free(p->made);
	native__free(p->process.native);
	space__free(p->process.space);
	symbolizer__free(p->process.symbolizer);
	free(p);
}

/* ---- cores ------------------------------------------------------------------------------------ */

/* Opens a file that was given; one that was not given will not be searched for. */
static void open_given(struct still *s, struct module *module, int fd)
{
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (!native_files__wants_file(s->native_files, module)) {
		cleanup_close_(&copy);
		return;
	}
	if (copy < 0) {
		native_files__open(s->native_files, module, NULL, 0, NULL);
		return;
	}
	native_files__open_fd(s->native_files, module, copy, false);
	native_files__read(s->native_files, module);
	native_files__search_debug(s->native_files, module, NULL);
}

static int map(struct still_process *p, const struct still_mapping *m)
{
	struct mapping mapping = { m->start, m->end, m->offset, { NULL } };
	struct modules *modules = p->still->modules;
	struct file_id id;
	struct stat st;
	bool here = m->fd >= 0 && !fstat(m->fd, &st);

	if (here)
		id = file_id_of(&st);
	mapping.module = modules__get_id(modules, here ? &id : NULL, m->name, 0);
	if (!mapping.module)
		return -ENOMEM;
	if (m->interpreter)
		space__set_interpreter(p->process.space, mapping.module);
	open_given(p->still, mapping.module, here ? m->fd : -1);
	return space__map(p->process.space, &mapping);
}

struct still_process *still__open_core(struct still *s, const struct py_process *info,
				       const struct still_mapping *list, __u32 cnt)
{
	struct still_process *p = new_process(s, info, NULL);

	if (!p || !s->modules)
		return p;
	space__fix(p->process.space);
	for (__u32 i = 0; i < cnt; i++)
		if (map(p, &list[i]) == -ENOMEM) {
			still__close(p);
			return NULL;
		}
	/* Its memory is not available. */
	p->made_seen = true;
	give_mappings(p);
	return p;
}

/* ---- stacks ----------------------------------------------------------------------------------- */

/* Rows that the last walk missed are now available. */
static bool settle_missed(struct still_process *p)
{
	const struct still *s = p->still;
	const struct mapping *list;
	bool found = false;
	unsigned cnt;

	list = space__mappings(p->process.space, &cnt);
	for (unsigned i = 0; i < cnt; i++) {
		__u32 number = unwind_file_of(s->files, &list[i]);

		if (unwind_is_missed(s->tables, number))
			found |= unwind_settle(s->tables, number, &p->process, &list[i],
					       clock_monotonic_ns());
	}
	return found;
}

/* The walk has reached code that the process generated: makes rows for it. */
static bool settle_made(struct still_process *p)
{
	struct still *s = p->still;
	const struct made_code_tools tools = { s->tables, s->files, s->native_files,
					       s->made_words };
	struct process *process = &p->process;

	for (__u32 i = 0; i < s->walked.cnt && !p->made_seen; i++) {
		const struct mapping *m = space__find(process->space, s->walked.frames[i].ip);

		if (!m || !made_code_is(m))
			continue;
		p->made_seen = true;
		p->made = made_code__new(&tools);
		p->made_number = ++s->made_cnt;
		if (!p->made ||
		    !made_code__look(p->made, process, process->space, true, clock_monotonic_ns()))
			return false;
		give_mappings(p);
		return true;
	}
	return false;
}

static enum native_reason walk(struct still_process *p, const struct still_thread *t)
{
	struct still *s = p->still;
	struct stack_unwind_of of = {
		.memory = t->memory,
		.now_ns = clock_monotonic_ns(),
		.behind_call = t->behind_call,
	};

	s->walked.cnt = 0;
	if (!t->regs)
		return NATIVE_NO_REGS;
	if (p->changed || !p->digest)
		return NATIVE_CHANGED;
	memcpy(of.regs, t->regs, sizeof(of.regs));
	for (int i = 0; i < WALKS_MAX; i++) {
		of.space = p->space;
		stack_unwind__walk(s->unwind, &of, &s->walked);
		if (!settle_missed(p) && !settle_made(p))
			break;
	}
	return s->walked.reason;
}

static __u32 turn_round(struct frame *to, const struct still_thread *t)
{
	__u32 cnt = t->frame_cnt < KRAIT_MAX_FRAMES ? t->frame_cnt : KRAIT_MAX_FRAMES;

	for (__u32 i = 0; i < cnt; i++)
		to[i] = t->frames[cnt - 1 - i];
	return cnt;
}

static void take_natives(struct still_process *p, const struct still_thread *t)
{
	struct still *s = p->still;
	struct still_record *r = &s->record;

	r->record.native_reason = (__u8)walk(p, t);
	r->record.cnt[SECTION_NATIVE] = (__u16)s->walked.cnt;
	r->record.size += s->walked.cnt * (__u32)sizeof(*r->natives);
	memcpy(r->natives, s->walked.frames, s->walked.cnt * sizeof(*r->natives));
}

int still__begin(struct still_process *p, const struct memory *memory)
{
	symbolizer__free(p->process.symbolizer);
	p->process.symbolizer = symbolizer__new(&p->process.info.offsets, memory);
	if (!p->process.symbolizer)
		return -ENOMEM;
	/* The names of the one before. */
	return dict__node_cnt(p->still->profile->dict) ? dict__forget(p->still->profile->dict) : 0;
}

/* What all lists hang on; 0: no room. */
static __u32 root_of(const struct still *s)
{
	dict__begin(s->profile->dict, 0);
	return dict__named_child(s->profile->dict, 0, FRAME_PROCESS, "python", 0, 0);
}

const struct stack_nodes *still__list(struct still_process *p, const struct still_thread *t)
{
	struct still *s = p->still;
	struct record_sample *record = &s->record.record;
	const __u32 root = root_of(s);
	bool collects;
	__u32 node;

	*record = (struct record_sample){
		.type = RECORD_SAMPLE,
		.size = sizeof(*record),
		.time_ns = clock_monotonic_ns(),
		.pid = (__u32)p->process.pid,
		.reason = (__u8)t->reason,
	};
	if (s->nodes.natives)
		take_natives(p, t);
	s->stack.frames = s->frames;
	s->stack.cnt = turn_round(s->frames, t);
	s->stack.named.cnt = 0;
	if (!root)
		return NULL;
	node = mark_of(t->reason) ? stack_nodes_foreign(&s->nodes, &p->process, root, record) :
				    stack_nodes_of(&s->nodes, &p->process, root, record, t->reason,
						   &s->stack, &collects);
	return node ? &s->nodes : NULL;
}

__u32 still__frame(struct still_process *p, const struct frame *frame)
{
	struct still *s = p->still;
	const struct record_sample record = { .type = RECORD_SAMPLE };
	const __u32 root = root_of(s);
	__u32 node = root ? naming_node(&s->nodes.naming, &p->process, root, &record, frame) : 0;

	return node == root ? 0 : dict__node_at(s->profile->dict, node)->frame;
}

const struct dict *still__dict(const struct still_process *p)
{
	return p->still->profile->dict;
}
