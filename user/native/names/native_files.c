/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/native_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/space/modules.h"
#include "native/names/name_ranges.h"
#include "native/names/native_file.h"
#include "native/names/symbol_reader.h"
#include "process/elf/debug_file.h"
#include "process/proc/open_file.h"
#include "base/data/cleanup.h"
#include "base/system/vdso.h"
#include "base/data/vec.h"

/* Evaluates a frame (Python/ceval.c, since 3.6); also parts of it: "….cold". */
#define EVAL_NAME "_PyEval_EvalFrameDefault"
/* _Py_CheckRecursiveCall, _Py_CheckFunctionResult: what it calls before and after having a frame. */
#define CHECKER_NAME "_Py_Check"
/* A substring of its name, mangled or not (greenlet 3.0+). */
#define EXPOSER_NAME "expose_frames"

struct native_files {
	struct modules *modules;
	struct native_file **list; /* indexed by the module's number; NULL: not asked about yet */
	__u32 cap;
	struct symbol_reader *reader;
	__u64 now; /* number of questions so far */
	__u32 open_cnt, symbol_cnt;
	bool skip_interpreter;
	bool starving; /* native_files__starve() */
};

struct native_files *native_files__new(struct modules *modules)
{
	struct native_files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->modules = modules;
	f->reader = symbol_reader__new();
	if (f->reader)
		return f;
	free(f);
	return NULL;
}

struct modules *native_files__modules(struct native_files *f)
{
	return f->modules;
}

struct symbol_reader *native_files__reader(const struct native_files *f)
{
	return f->reader;
}

void native_files__skip_interpreter(struct native_files *f)
{
	f->skip_interpreter = true;
}

void native_files__starve(struct native_files *f, bool on)
{
	f->starving = on;
}

bool native_files__starves(const struct native_files *f, const struct module *module)
{
	return f->starving && !module__is_interpreter(module);
}

void native_files__free(struct native_files *f)
{
	if (!f)
		return;
	for (__u32 i = 0; i < f->cap; i++) {
		if (f->list[i])
			native_file_free(f->list[i], f->reader);
	}
	free(f->list);
	symbol_reader__free(f->reader);
	free(f);
}

/* ---- files ------------------------------------------------------------------------------------ */

static bool reserve(struct native_files *f, __u32 number)
{
	__u32 before = f->cap;

	if (vec_reserve(f->list, f->cap, (__u64)number + 1))
		return false;
	if (f->cap > before)
		memset(f->list + before, 0, (f->cap - before) * sizeof(*f->list));
	return true;
}

/* NULL: out of memory. */
static struct native_file *file_of(struct native_files *f, const struct module *module)
{
	__u32 number = module__number(module);
	struct native_file *file;

	if (number < f->cap && f->list[number])
		return f->list[number];
	file = reserve(f, number) ? native_file_new((struct module *)module) : NULL;
	if (file)
		f->list[number] = file;
	return file;
}

bool native_files__is_closed(struct native_files *f, const struct module *module)
{
	const struct native_file *file = file_of(f, module);

	return file && (!file->tried || native_file_is_unread(file));
}

bool native_files__wants_file(struct native_files *f, const struct module *module)
{
	const struct native_file *file = file_of(f, module);

	return file && !file->tried;
}

void native_files__note_failure(struct native_files *f, struct module *module)
{
	struct native_file *file = file_of(f, module);

	if (file)
		native_file_note_failure(file);
}

/* Closes the least recently asked file but one; it may be opened again. */
static void close_oldest(struct native_files *f, const struct native_file *but)
{
	struct native_file *oldest = NULL;

	for (__u32 i = 0; i < f->cap; i++) {
		struct native_file *file = f->list[i];

		if (file && file != but && file->symbols.fd >= 0 &&
		    (!oldest || file->used < oldest->used))
			oldest = file;
	}
	if (!oldest)
		return;
	native_file_close(oldest, f->reader);
	f->open_cnt--;
}

bool native_files__wants_debug(struct native_files *f, const struct module *module,
			       uid_t *ret_owner)
{
	const struct native_file *file = file_of(f, module);

	*ret_owner = file ? file->symbols.owner : 0;
	return file && file->wants_debug;
}

void native_files__add_debug(struct native_files *f, struct module *module, int fd)
{
	struct native_file *file = file_of(f, module);

	if (file)
		native_file_add_debug(file, f->reader, fd);
	else
		close(fd);
}

static void count_open(struct native_files *f, const struct native_file *file)
{
	if (f->open_cnt == NATIVE_FILES_OPEN)
		close_oldest(f, file);
	f->open_cnt++;
}

/* The file, if it is not open: from now on it has been tried. */
static struct native_file *try(struct native_files *f, const struct module *module)
{
	struct native_file *file = file_of(f, module);

	if (!file)
		return NULL;
	file->tried = true;
	file->used = ++f->now;
	return file->symbols.fd < 0 ? file : NULL;
}

void native_files__open_fd(struct native_files *f, struct module *module, int fd, bool remote)
{
	struct native_file *file = try(f, module);

	if (file && native_file_take(file, fd, remote))
		count_open(f, file);
	else
		close(fd);
}

void native_files__open_vdso(struct native_files *f, struct module *module)
{
	struct native_file *file = try(f, module);
	int fd = file ? vdso_image() : -1;

	if (fd < 0)
		return;
	native_file_take_vdso(file, fd);
	count_open(f, file);
}

void native_files__read(struct native_files *f, struct module *module)
{
	struct native_file *file = file_of(f, module);

	if (file && native_file_is_unread(file))
		native_file_read(file, f->reader);
}

void native_files__search_debug(struct native_files *f, struct module *module, const char *root)
{
	const char *const roots[] = { "/", root };
	uid_t owner;

	for (unsigned i = 0; i < 2 && roots[i]; i++) {
		unsigned size;
		const __u8 *id = module__build_id(module, &size);
		int fd = native_files__wants_debug(f, module, &owner) && id ?
				 debug_file_open(roots[i], id, size, owner) :
				 -1;

		if (fd >= 0)
			native_files__add_debug(f, module, fd);
	}
}

void native_files__open(struct native_files *f, struct module *module, const char *const paths[],
			unsigned path_cnt, const char *root)
{
	struct native_file *file = file_of(f, module);

	if (!file)
		return;
	file->tried = true;
	for (unsigned i = 0; i < path_cnt && file->symbols.fd < 0; i++) {
		struct stat st;
		cleanup_close int path = open_file_at(AT_FDCWD, paths[i], &st);
		int fd = path < 0 ? -1 : open_file_read(path);

		if (fd >= 0)
			native_files__open_fd(f, module, fd, open_file_is_remote(path));
	}
	native_files__read(f, module);
	if (file->symbols.fd >= 0)
		native_files__search_debug(f, module, root);
}

/* ---- names ------------------------------------------------------------------------------------ */

/* A parser's answer about an unknown offset; kept unless there is no answer for now (*ret_later). */
static const struct name_range *ask(struct native_files *f, struct native_file *file, __u64 offset,
				    bool *ret_later)
{
	const struct parser_found *found;
	int err = symbol_reader__find(f->reader, &file->symbols, &offset, 1, &found);

	*ret_later = err == -EAGAIN;
	if (err)
		return NULL;
	return name_ranges_add(&file->names, offset, &found->places[0], found->names,
			       &f->symbol_cnt);
}

bool native_files__has_names(const struct native_files *f, const struct module *module)
{
	return !f->skip_interpreter || !module__is_interpreter(module);
}

static struct native_symbol *symbol_of(struct native_file *file, const struct name_range *r)
{
	return r && r->function ? &r->function->symbol : name_ranges_rest(&file->names);
}

struct native_symbol *native_files__find_now(struct native_files *f, struct module *module,
					     __u64 offset, bool *ret_later)
{
	struct native_file *file = file_of(f, module);
	const struct name_range *r;

	*ret_later = false;
	if (!file)
		return NULL;
	file->used = ++f->now;
	r = name_ranges_at(&file->names, offset);
	if (!r)
		r = ask(f, file, offset, ret_later);
	return symbol_of(file, r);
}

struct native_symbol *native_files__find(struct native_files *f, struct module *module,
					 __u64 offset)
{
	bool later;

	return native_files__find_now(f, module, offset, &later);
}

bool native_files__knows(struct native_files *f, const struct module *module, __u64 offset)
{
	struct native_file *file = file_of(f, module);
	const struct name_range *r = file ? name_ranges_at(&file->names, offset) : NULL;

	return r && r->function;
}

/* Asks one question and takes the answers in. Returns the next offset to ask about, or -errno. */
static int ask_some(struct native_files *f, struct native_file *file, const __u64 *offsets,
		    __u32 cnt)
{
	const struct parser_found *found;
	int err = symbol_reader__find(f->reader, &file->symbols, offsets, cnt, &found);

	if (err)
		return err;
	for (__u32 i = 0; i < found->cnt && i < cnt; i++) {
		/* An earlier answer may cover it, too. */
		if (!name_ranges_at(&file->names, offsets[i]))
			name_ranges_add(&file->names, offsets[i], &found->places[i], found->names,
					&f->symbol_cnt);
	}
	return (int)found->cnt;
}

int native_files__ask(struct native_files *f, struct module *module, const __u64 *offsets,
		      __u32 cnt)
{
	struct native_file *file = file_of(f, module);
	__u64 unknown[PARSER_PLACES_MAX];
	__u32 unknown_cnt = 0;
	int done;

	if (!file)
		return -ENOMEM;
	file->used = ++f->now;
	for (__u32 i = 0; i < cnt && unknown_cnt < PARSER_PLACES_MAX; i++) {
		if (!name_ranges_at(&file->names, offsets[i]))
			unknown[unknown_cnt++] = offsets[i];
	}
	for (__u32 i = 0; i < unknown_cnt; i += (__u32)done) {
		done = ask_some(f, file, unknown + i, unknown_cnt - i);
		if (done < 0)
			return done;
	}
	return 0;
}

struct native_symbol *native_files__known(struct native_files *f, struct module *module,
					  __u64 offset)
{
	struct native_file *file = file_of(f, module);

	if (!file)
		return NULL;
	return symbol_of(file, name_ranges_at(&file->names, offset));
}

struct native_symbol *native_files__unnamed(struct native_files *f, struct module *module)
{
	struct native_file *file = file_of(f, module);

	return file ? name_ranges_rest(&file->names) : NULL;
}

/* The function at that offset; NULL: it has no name, or (*ret_later) it is not known now. */
static const struct native_symbol *function_at(struct native_files *f, struct module *module,
					       __u64 offset, bool *ret_later)
{
	struct native_file *file = file_of(f, module);
	const struct name_range *r = file ? name_ranges_at(&file->names, offset) : NULL;

	*ret_later = false;
	if (!file)
		return NULL;
	file->used = ++f->now;
	if (!r)
		r = ask(f, file, offset, ret_later);
	return r && r->function ? &r->function->symbol : NULL;
}

bool native_files__is_eval(struct native_files *f, struct module *module, __u64 offset,
			   bool *ret_later)
{
	const struct native_symbol *s = function_at(f, module, offset, ret_later);

	return s && !strncmp(s->name, EVAL_NAME, strlen(EVAL_NAME));
}

bool native_files__is_python(struct native_files *f, struct module *module, __u64 offset,
			     bool *ret_later)
{
	const struct native_symbol *s = function_at(f, module, offset, ret_later);

	return s && s->is_python;
}

bool native_files__may_check_call(struct native_files *f, struct module *module, __u64 offset)
{
	bool later;
	const struct native_symbol *s = function_at(f, module, offset, &later);

	return !s || !strncmp(s->name, CHECKER_NAME, strlen(CHECKER_NAME));
}

bool native_files__may_expose(struct native_files *f, struct module *module, __u64 offset,
			      bool *ret_later)
{
	const struct native_symbol *s = function_at(f, module, offset, ret_later);

	return !s || strstr(s->name, EXPOSER_NAME);
}

int native_files__rows(struct native_files *f, struct module *module, struct unwind_rows *ret)
{
	struct native_file *file = file_of(f, module);

	if (!file)
		return -ENOMEM;
	file->used = ++f->now;
	return symbol_reader__rows(f->reader, &file->symbols, ret);
}

const struct symbol_file *native_files__symbol_file(const struct native_files *f,
						    const struct module *module)
{
	__u32 number = module__number(module);

	return number < f->cap && f->list[number] ? &f->list[number]->symbols : NULL;
}
