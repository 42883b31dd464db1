/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/kept_sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "process/probe/probe_list.h"
#include "process/probe/probed.h"
#include "process/probe/prober.h"
#include "process/proc/proc.h"
#include "profile/dict.h"
#include "profile/sources.h"
#include "record/follow/processes.h"
#include "record/samples/own.h"
#include "record/samples/source_text.h"
#include "base/data/cleanup.h"
#include "base/data/search.h"
#include "base/data/vec.h"
#include "base/files/sudo_user.h"
#include "base/share/quota.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/text/short_path.h"

/* Files of one process. */
#define FILES_MAX 1024U
/* Bytes of texts at hand for functions that are met later, divided among owners. */
#define TEXTS_MAX (16U << 20)
/* How often a file is asked for whose text found no room there. */
#define ASKS_MAX 16
/* A process executes its program after it began: what its shell script wrote before is what ran. */
#define EXEC_NS (2 * NS_PER_SEC)

enum { ROOT_UNKNOWN, ROOT_OURS, ROOT_OTHER };

struct kept_file {
	struct kept_file *next; /* of the same process */
	struct kept_sources *kept;
	__u32 file; /* string id */
	unsigned owner;
	bool is_own; /* a cell's, whose path has this process's pid */
	bool asked;
	unsigned ask_cnt;
	int err; /* of the last answer; 0: none yet, or there is or was a text */
	struct source_text text; /* none, or not at hand any more: all zero */
	__u64 until_ns; /* if it was changed later, another text may have run; CLOCK_REALTIME */
	__u32 *codes; /* to add when the text comes */
	__u32 code_cnt, code_cap;
};

/* What a notebook calls its cells is believed only of its own, while no other user has code of that path. */
struct cell {
	__u32 file; /* string id */
	uid_t uid;
	__u32 number; /* if it is claimed; 0: none */
	bool claimed, disputed;
};

struct kept_sources {
	struct dict *dict;
	struct prober *prober;
	struct probe_source_ask caller; /* its part of each question */
	struct quota *texts;
	struct cell *cells; /* by file */
	__u32 cell_cnt, cell_cap;
	bool cells_unknown; /* out of memory: none has a number */
	unsigned asked_cnt;
	__u64 waiting; /* functions in codes of all files */
	bool finished; /* these have been counted as unread */
};

struct kept_sources *kept_sources__new(struct dict *dict, struct prober *prober)
{
	struct kept_sources *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->texts = quota__new(TEXTS_MAX, TEXTS_MAX / 8);
	if (!k->texts) {
		free(k);
		return NULL;
	}
	k->dict = dict;
	k->prober = prober;
	k->caller.caller_uid = sudo_user_uid();
	k->caller.all = !k->caller.caller_uid;
	k->caller.group_cnt =
		sudo_user_ids(&k->caller.caller_gid, k->caller.groups, PROBE_SOURCE_GROUPS);
	return k;
}

void kept_sources__free(struct kept_sources *k)
{
	if (k) {
		quota__free(k->texts);
		free(k->cells);
	}
	free(k);
}

/* ---- lines -------------------------------------------------------------------------------------- */

static int add(void *ctx, struct source_span s)
{
	const struct kept_file *f = ctx;
	struct dict *dict = f->kept->dict;

	return sources_add(dict__sources(dict), f->owner, dict__text(dict, f->file),
			   source_text_line(&f->text, s.first), s.first, s.last);
}

/* Nobody misses what is nowhere, or not what ran. */
static void count_unread(const struct kept_file *f, __u64 cnt, int err)
{
	if (err != -ENOENT)
		dict__sources(f->kept->dict)->unread += cnt;
}

static void add_code(struct kept_file *f, __u32 id)
{
	struct dict *dict = f->kept->dict;
	const struct profile_code *code = dict__code_at(dict, id);
	const char *path = dict__text(dict, code->file), *name = dict__text(dict, code->name);
	const bool module = !strcmp(name, "<module>");
	struct source_span all;
	int err = source_text_fits(&f->text, code, name, &all);

	/* Whatever is executed without a file is called <string>, and its first line may be any. */
	if (!err && module && !strcmp(path, "<string>"))
		err = -ENOENT;
	if (err) {
		log_debug("sources", "%s: %s is not in it at line %d", path, name,
			  code->first_line);
		count_unread(f, 1, err);
		return;
	}
	/* What finds no room is counted there. */
	if (!(module ? source_text_each_run(&f->text, code, add, f) : add(f, all)))
		dict__note_kept(dict, id);
}

/* ---- cells -------------------------------------------------------------------------------------- */

static void call(struct kept_sources *k, unsigned owner, const struct cell *c)
{
	const char *path = dict__text(k->dict, c->file);

	if (sources_call(dict__sources(k->dict), owner, path, c->disputed ? 0 : c->number))
		log_debug("sources", "%s: out of memory for its name", path);
}

static __u32 cell_place(const struct kept_sources *k, __u32 file)
{
	return (__u32)sorted_below(k->cell_cnt, i, k->cells[i].file < file);
}

/* A process has code of the cell. */
static void note_cell(struct kept_sources *k, const struct process *p, __u32 file)
{
	const struct task_ids *ids = &p->own->ids;
	const __u32 at = cell_place(k, file);
	struct cell *c;

	/* Not known yet: nor does it ask then. */
	if (!ids->groups)
		return;
	if (at == k->cell_cnt || k->cells[at].file != file) {
		if (vec_reserve(k->cells, k->cell_cap, k->cell_cnt + 1)) {
			k->cells_unknown = true;
			return;
		}
		memmove(&k->cells[at + 1], &k->cells[at],
			(k->cell_cnt++ - at) * sizeof(k->cells[0]));
		k->cells[at] = (struct cell){ .file = file, .uid = ids->uid };
	}
	c = &k->cells[at];
	if (c->uid == ids->uid)
		return;
	c->disputed = true;
	call(k, p->owner, c);
}

/* What its process says of it, the first time. */
static void claim_cell(struct kept_file *f, __u32 number)
{
	struct kept_sources *k = f->kept;
	const __u32 at = cell_place(k, f->file);
	struct cell *c = &k->cells[at];

	if (!f->is_own || at == k->cell_cnt || c->file != f->file || k->cells_unknown)
		return;
	f->is_own = false;
	c->disputed |= c->claimed && c->number != number;
	c->claimed = true;
	c->number = number;
	call(k, f->owner, c);
}

/* ---- questions ------------------------------------------------------------------------------------ */

static void drop_text(struct kept_file *f)
{
	quota__give(f->kept->texts, f->owner, f->text.bytes);
	source_text_deinit(&f->text);
}

/* For functions that are met later, if there is room. */
static void keep_text(struct kept_file *f)
{
	if (quota__take(f->kept->texts, f->owner, f->text.bytes))
		source_text_deinit(&f->text);
}

/* What waits for the text waits no more. */
static void end_wait(struct kept_file *f)
{
	if (f->kept->finished)
		dict__sources(f->kept->dict)->unread -= f->code_cnt;
	f->kept->waiting -= f->code_cnt;
	f->code_cnt = 0;
}

static int read_text(struct source_text *ret, int fd, __u32 size)
{
	cleanup_free char *text = fd < 0 || size > PROBE_SOURCE_MAX ? NULL :
								      malloc((size_t)size + 1);

	if (!text || probe_list_read(fd, text, size))
		return -EIO;
	text[size] = '\0';
	return source_text_init(ret, take_ptr(&text), size);
}

static void on_source(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct kept_file *f = ctx;
	struct kept_sources *k = f->kept;
	const char *path = dict__text(k->dict, f->file);
	const struct probe_source *found = data;
	bool changed;

	f->asked = false;
	k->asked_cnt--;
	if (!result && len != sizeof(*found))
		result = -EIO;
	changed = !result && found->changed_ns >= f->until_ns;
	if (!result && !changed)
		result = read_text(&f->text, fds[2], found->size);
	log_debug("sources", "%s: %s", path,
		  changed ? "changed after its process began" :
		  result  ? strerror(-result) :
			    "kept");
	f->err = changed ? -ENOENT : result;
	if (f->err)
		count_unread(f, f->code_cnt, f->err);
	for (__u32 i = 0; !f->err && i < f->code_cnt; i++)
		add_code(f, f->codes[i]);
	if (!f->err)
		claim_cell(f, found->cell);
	end_wait(f);
	keep_text(f);
}

/* When the process began to execute its program, at the latest; CLOCK_REALTIME. */
static __u64 executed_by(const struct process *p)
{
	struct timespec real, boot;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return ((__u64)real.tv_sec - (__u64)boot.tv_sec) * NS_PER_SEC + (__u64)real.tv_nsec -
	       (__u64)boot.tv_nsec + p->info.start_ticks * KRAIT_NS_PER_TICK + EXEC_NS;
}

static void ask(struct kept_sources *k, struct process *p, struct kept_file *f, bool memory)
{
	const char *path = dict__text(k->dict, f->file);
	const int fds[] = { p->probed ? probed__dir(p->probed) : -1,
			    p->probed ? probed__mem(p->probed) : -1 };
	struct probe_request r = {
		.op = PROBE_SOURCE,
		.pid = p->pid,
		.start_ticks = p->info.start_ticks,
		.image = { .image_addr = p->info.image_addr },
		.tasks = { .offsets = p->info.offsets, .runtime_addr = p->info.runtime_addr },
		.source = k->caller,
	};

	if (fds[0] < 0 || fds[1] < 0 || probed__refused(p->probed) || !p->own->ids.groups)
		return;
	f->until_ns = executed_by(p);
	r.source.memory = memory;
	r.source.ids = p->own->ids;
	snprintf(r.source.path, sizeof(r.source.path), "%s", path);
	f->ask_cnt++;
	f->asked = !prober__ask(k->prober, PROBER_LATER, &r, fds, 2, on_source, f);
	k->asked_cnt += f->asked;
}

/* ---- what is met --------------------------------------------------------------------------------- */

/* CPython's own modules in its executable have no text anywhere. */
static bool is_in_memory(const char *path)
{
	return (*path == '<' && strncmp(path, "<frozen ", 8) != 0) || strstr(path, "/ipykernel_");
}

static bool has_other_root(struct process *p)
{
	cleanup_close int dir = -1;

	if (p->own->root == ROOT_UNKNOWN) {
		dir = proc_open_started(p->info.pid, p->info.start_ticks);
		if (dir >= 0)
			p->own->root = proc_has_our_root(dir) ? ROOT_OURS : ROOT_OTHER;
	}
	return p->own->root == ROOT_OTHER;
}

/* NULL: there are too many, or out of memory; counted. */
static struct kept_file *file_of(struct kept_sources *k, struct process *p, __u32 file)
{
	const pid_t pid = cell_path_pid(dict__text(k->dict, file));
	const struct context *context;
	struct kept_file *f = p->own->sources;
	unsigned cnt = 0;

	for (; f && f->file != file; f = f->next)
		cnt++;
	if (f)
		return f;
	if (cnt < FILES_MAX && strlen(dict__text(k->dict, file)) < sizeof(k->caller.path))
		f = calloc(1, sizeof(*f));
	if (!f) {
		dict__sources(k->dict)->unread++;
		return NULL;
	}
	context = pid ? process_context(p) : NULL;
	*f = (struct kept_file){
		.next = p->own->sources,
		.kept = k,
		.file = file,
		.owner = p->owner,
		.is_own = pid && context && context->ns_pid == pid,
	};
	p->own->sources = f;
	return f;
}

void kept_sources__met(struct kept_sources *k, struct process *p, __u32 code)
{
	const __u32 file = dict__code_at(k->dict, code)->file;
	const char *path = dict__text(k->dict, file);
	const bool memory = is_in_memory(path);
	struct kept_file *f;

	if (!memory && (*path != '/' || !has_other_root(p)))
		return;
	if (cell_path_pid(path))
		note_cell(k, p, file);
	f = file_of(k, p, file);
	if (!f)
		return;
	if (f->text.text) {
		add_code(f, code);
		return;
	}
	if (f->err || vec_reserve(f->codes, f->code_cap, f->code_cnt + 1)) {
		count_unread(f, 1, f->err ?: -ENOMEM);
		return;
	}
	f->codes[f->code_cnt++] = code;
	k->waiting++;
	dict__sources(k->dict)->unread += k->finished;
	/* Whose text is not at hand any more is asked for again. */
	if (!f->asked && f->ask_cnt < ASKS_MAX)
		ask(k, p, f, memory);
}

void kept_sources__process_gone(struct kept_sources *k, struct process_own *own)
{
	struct kept_file *f;

	while ((f = own->sources)) {
		own->sources = f->next;
		if (f->asked)
			prober__forget(k->prober, f);
		k->asked_cnt -= f->asked;
		count_unread(f, f->code_cnt, -ESRCH);
		end_wait(f);
		drop_text(f);
		free(f->codes);
		free(f);
	}
	own->root = ROOT_UNKNOWN;
}

void kept_sources__finish(struct kept_sources *k, int wait_ms)
{
	const __u64 end_ns = clock_monotonic_ns() + (__u64)wait_ms * NS_PER_MS;
	__u64 now_ns;

	while (k->asked_cnt && (now_ns = clock_monotonic_ns()) < end_ns)
		prober__wait(k->prober, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
	dict__sources(k->dict)->unread += k->waiting;
	k->finished = true;
}
