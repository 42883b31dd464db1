/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/native_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "symbol/maps_room.h"
#include "symbol/symbol_reader.h"
#include "target/debug_file.h"
#include "target/open_file.h"
#include "util/cleanup.h"
#include "util/short_path.h"

/* Processes that a file could not be opened through. */
#define FAILURES_MAX 8

/* As a key: no padding. The name only where there is no file. */
struct identity {
	struct file_id id;
	__u64 name_hash;
};

/* A function of a file, by its start; what has no name by the offset itself. */
struct function {
	struct native_symbol symbol;
	__u64 start;
	char *name;
	UT_hash_handle hh;
};

/* What the parser has said of offsets from start up to end. */
struct range {
	__u64 start, end;
	struct function *function; /* NULL: no name */
	int return_word;
	bool named; /* function is what it is */
};

struct native_file {
	struct native_files *files;
	struct identity identity;
	char *name;
	enum native_origin origin;
	bool tried; /* to open it */
	unsigned failures; /* to do so */
	bool wants_debug; /* it has no symbols of its own, and none were found elsewhere */
	__u64 used; /* when it was asked last */
	struct symbol_file symbols;
	__u8 build_id[PARSER_BUILD_ID_MAX];
	unsigned build_id_size;
	struct range *ranges; /* by start, none overlap */
	size_t range_cnt, range_cap;
	struct function *functions;
	struct function *rest; /* when there is no room for more */
	UT_hash_handle hh;
};

struct native_files {
	struct native_file *files;
	struct symbol_reader *reader;
	struct maps_room room;
	__u64 now; /* questions so far */
	__u32 open_cnt, symbol_cnt;
	bool skip_interpreter;
};

struct native_files *native_files__new(void)
{
	struct native_files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->reader = symbol_reader__new();
	if (!f->reader || maps_room_init(&f->room)) {
		symbol_reader__free(f->reader);
		free(f);
		return NULL;
	}
	return f;
}

void native_files__prepare(struct native_files *f)
{
	symbol_reader__prepare(f->reader);
}

void native_files__skip_interpreter(struct native_files *f)
{
	f->skip_interpreter = true;
}

static void function_free(struct function *fn)
{
	if (!fn)
		return;
	free(fn->name);
	free(fn);
}

static void file_free(struct native_file *file)
{
	struct function *fn, *next;

	HASH_ITER(hh, file->functions, fn, next) {
		HASH_DEL(file->functions, fn);
		function_free(fn);
	}
	function_free(file->rest);
	symbol_reader__close(file->files->reader, &file->symbols);
	free(file->ranges);
	free(file->name);
	free(file);
}

void native_files__free(struct native_files *f)
{
	struct native_file *file, *next;

	if (!f)
		return;
	HASH_ITER(hh, f->files, file, next) {
		HASH_DEL(f->files, file);
		file_free(file);
	}
	symbol_reader__free(f->reader);
	maps_room_free(&f->room);
	free(f);
}

struct maps_room *native_files__room(struct native_files *f)
{
	return &f->room;
}

/* ---- files ------------------------------------------------------------------------------------ */

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* The launcher of a shared libpython is called after it, and does nothing else. */
static enum native_origin origin_by_name(const char *path)
{
	const char *name = base_name(path);

	if (starts_with(name, "libc.so") || starts_with(name, "libc-") ||
	    starts_with(name, "libpthread") || starts_with(name, "ld-"))
		return ORIGIN_LIBC;
	if (starts_with(name, "python"))
		return ORIGIN_INTERPRETER;
	return ORIGIN_OTHER;
}

static __u64 hash_text(const char *text)
{
	__u64 hash = 0xcbf29ce484222325ULL;

	for (; *text; text++)
		hash = (hash ^ (__u8)*text) * 0x100000001b3ULL;
	return hash;
}

static void identify(struct identity *ret, const struct file_id *id, const char *name)
{
	memset(ret, 0, sizeof(*ret));
	if (id)
		ret->id = *id;
	else
		ret->name_hash = hash_text(name) | 1; /* not that of a file */
}

/* NULL where the path leads to nothing. */
static const struct file_id *id_of_path(struct file_id *ret, const char *path)
{
	struct stat st;

	if (!*path || stat(path, &st))
		return NULL;
	*ret = file_id_of(&st);
	return ret;
}

/* What a file takes up: its record, and its name. */
static __u64 units_of(const char *name)
{
	return 4 + strlen(name) / 64;
}

struct native_file *native_files__get_id(struct native_files *f, const struct file_id *id,
					 const char *name, unsigned owner)
{
	struct native_file *file;
	struct identity identity;

	identify(&identity, id, name);
	HASH_FIND(hh, f->files, &identity, sizeof(identity), file);
	if (file)
		return file;
	/* Without a room of its own it is nameless code, as others are; that one is always there. */
	if (*name && quota__take(f->room.files, owner, units_of(name)))
		return native_files__get_id(f, NULL, "", owner);
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->files = f;
	file->symbols.fd = file->symbols.debug_fd = -1;
	file->identity = identity;
	file->origin = origin_by_name(name);
	file->name = strdup(name);
	if (!file->name) {
		free(file);
		return NULL;
	}
	HASH_ADD(hh, f->files, identity, sizeof(file->identity), file);
	return file;
}

struct native_file *native_files__get(struct native_files *f, const char *path, const char *name,
				      unsigned owner)
{
	struct file_id id;

	return native_files__get_id(f, id_of_path(&id, path), name, owner);
}

/* The change time may be another by now: the name may be gone. */
static bool is_file(const struct native_file *file, const struct stat *st)
{
	struct file_id id = file_id_of(st);

	id.ctime_sec = file->identity.id.ctime_sec;
	id.ctime_nsec = file->identity.id.ctime_nsec;
	return file_id_same(&id, &file->identity.id);
}

static bool has_unknown_device(const struct native_file *file)
{
	return file->identity.id.dev > NATIVE_DEV_UNKNOWN / 2;
}

bool native_file__is(const struct native_file *file, int dir_fd, const char *path)
{
	struct statx st;

	return !statx(dir_fd, path, AT_STATX_DONT_SYNC | (*path ? 0 : AT_EMPTY_PATH), STATX_INO,
		      &st) &&
	       st.stx_ino == file->identity.id.ino &&
	       (has_unknown_device(file) ||
		makedev(st.stx_dev_major, st.stx_dev_minor) == file->identity.id.dev);
}

__u64 native_file__inode(const struct native_file *file)
{
	return file->identity.id.ino;
}

const char *native_file__name(const struct native_file *file)
{
	return file->name;
}

enum native_origin native_file__origin(const struct native_file *file)
{
	return file->origin;
}

void native_file__set_interpreter(struct native_file *file)
{
	file->origin = ORIGIN_INTERPRETER;
}

bool native_file__is_closed(const struct native_file *file)
{
	return !file->tried;
}

void native_file__note_failure(struct native_file *file)
{
	file->tried = ++file->failures == FAILURES_MAX;
}

/* The file that was asked longest ago may be opened again when it is asked. */
static void close_oldest(struct native_files *f)
{
	struct native_file *file, *next, *oldest = NULL;

	HASH_ITER(hh, f->files, file, next) {
		if (file->symbols.fd >= 0 && (!oldest || file->used < oldest->used))
			oldest = file;
	}
	if (!oldest)
		return;
	symbol_reader__close(f->reader, &oldest->symbols);
	oldest->tried = oldest->symbols.bad;
	f->open_cnt--;
}

/* Reads what the file is, and once more with debug information: that may be too much for a parser. */
static void read_file(struct native_files *f, struct native_file *file)
{
	struct symbol_file *s = &file->symbols;
	struct parser_opened opened;
	int err = symbol_reader__open(f->reader, s, &opened);

	if (err && s->debug_fd >= 0) {
		close(s->debug_fd);
		s->debug_fd = -1;
		s->bad = false;
		err = symbol_reader__open(f->reader, s, &opened);
	}
	if (err)
		return;
	file->wants_debug = !opened.has_symbols && opened.build_id_size && s->debug_fd < 0;
	file->build_id_size = opened.build_id_size;
	memcpy(file->build_id, opened.build_id, sizeof(file->build_id));
}

bool native_file__wants_debug(const struct native_file *file, uid_t *ret_owner)
{
	*ret_owner = file->symbols.owner;
	return file->wants_debug;
}

void native_files__add_debug(struct native_files *f, struct native_file *file, int fd)
{
	if (!file->wants_debug || file->symbols.debug_fd >= 0 || file->symbols.bad) {
		close(fd);
		return;
	}
	file->symbols.debug_fd = fd;
	file->wants_debug = false;
	read_file(f, file);
}

void native_files__open_fd(struct native_files *f, struct native_file *file, int fd, bool remote)
{
	struct stat st;

	file->tried = true;
	file->used = ++f->now;
	if (file->identity.name_hash || file->symbols.bad || file->symbols.fd >= 0 ||
	    fstat(fd, &st) || (!has_unknown_device(file) && !is_file(file, &st))) {
		close(fd);
		return;
	}
	if (f->open_cnt == NATIVE_FILES_OPEN)
		close_oldest(f);
	f->open_cnt++;
	file->symbols.fd = fd;
	/* Whoever serves it lets a parser wait: not with root's other files. */
	file->symbols.owner = remote && !st.st_uid ? SYMBOL_OWNER_NOBODY : st.st_uid;
	file->symbols.size = (__u64)st.st_size;
	read_file(f, file);
}

static void open_debug(struct native_files *f, struct native_file *file, const char *root)
{
	const char *const roots[] = { "/", root };
	uid_t owner;

	for (unsigned i = 0; i < 2 && roots[i] && native_file__wants_debug(file, &owner); i++) {
		int fd = debug_file_open(roots[i], file->build_id, file->build_id_size, owner);

		if (fd >= 0)
			native_files__add_debug(f, file, fd);
	}
}

void native_files__open(struct native_files *f, struct native_file *file, const char *const paths[],
			unsigned path_cnt, const char *root)
{
	file->tried = true;
	for (unsigned i = 0; i < path_cnt && file->symbols.fd < 0; i++) {
		struct stat st;
		cleanup_close int path = open_file_at(AT_FDCWD, paths[i], &st);
		int fd = path < 0 ? -1 : open_file_read(path);

		if (fd >= 0)
			native_files__open_fd(f, file, fd, open_file_is_remote(path));
	}
	if (file->symbols.fd >= 0)
		open_debug(f, file, root);
}

const __u8 *native_file__build_id(const struct native_file *file, unsigned *ret_size)
{
	*ret_size = file->build_id_size;
	return file->build_id_size ? file->build_id : NULL;
}

/* ---- functions -------------------------------------------------------------------------------- */

static struct function *new_function(struct native_file *file, __u64 start, char *name)
{
	struct function *fn = name ? calloc(1, sizeof(*fn)) : NULL;

	if (!fn) {
		free(name);
		return NULL;
	}
	fn->start = start;
	fn->name = name;
	fn->symbol = (struct native_symbol){ .name = name, .file = file };
	return fn;
}

char *native_unnamed(const char *path)
{
	const char *base = *path ? base_name(path) : "anonymous";
	char *text;

	if (base[0] == '[')
		return strdup(base);
	return asprintf(&text, "[%s]", base) < 0 ? NULL : text;
}

static struct native_symbol *rest_of(struct native_file *file)
{
	if (!file->rest)
		file->rest = new_function(file, 0, native_unnamed(file->name));
	return file->rest ? &file->rest->symbol : NULL;
}

/* The function that starts there, which has that name. NULL where there is no room for more. */
static struct function *function_at(struct native_files *f, struct native_file *file, __u64 start,
				    const char *name)
{
	struct function *fn;

	HASH_FIND(hh, file->functions, &start, sizeof(start), fn);
	if (fn || f->symbol_cnt == NATIVE_SYMBOLS_MAX)
		return fn;
	fn = new_function(file, start, strdup(name));
	if (!fn)
		return NULL;
	HASH_ADD(hh, file->functions, start, sizeof(fn->start), fn);
	f->symbol_cnt++;
	return fn;
}

/* ---- ranges ----------------------------------------------------------------------------------- */

/* Index of the first range that ends behind the offset. */
static size_t range_index(const struct native_file *file, __u64 offset)
{
	size_t low = 0, high = file->range_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->ranges[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct range *range_at(struct native_file *file, __u64 offset)
{
	size_t i = range_index(file, offset);

	return i < file->range_cnt && file->ranges[i].start <= offset ? &file->ranges[i] : NULL;
}

/* Places it between its neighbours, which it may touch but not cover. NULL where there is no room. */
static struct range *add_range(struct native_file *file, const struct range *new, __u64 offset)
{
	size_t i = range_index(file, offset), cap = file->range_cap ? 2 * file->range_cap : 64;
	struct range *r;

	if (file->range_cnt == NATIVE_RANGES_MAX)
		return NULL;
	if (file->range_cnt == file->range_cap) {
		r = reallocarray(file->ranges, cap, sizeof(*r));
		if (!r)
			return NULL;
		file->ranges = r;
		file->range_cap = cap;
	}
	r = &file->ranges[i];
	memmove(r + 1, r, (file->range_cnt - i) * sizeof(*r));
	*r = *new;
	if (i && r->start < r[-1].end)
		r->start = r[-1].end;
	if (i < file->range_cnt && r->end > r[1].start)
		r->end = r[1].start;
	file->range_cnt++;
	return r;
}

/* What a parser says of an offset; kept unless the answer is only that there is none now. */
static struct range *ask(struct native_files *f, struct native_file *file, __u64 offset, bool names)
{
	const struct parser_found *found;
	const struct parser_place *p;
	struct range *known = range_at(file, offset), new;

	if (symbol_reader__find(f->reader, &file->symbols, &offset, 1, names, &found))
		return NULL;
	p = &found->places[0];
	new = (struct range){ p->start, p->end, NULL, p->return_word, names };
	if (p->name != PARSER_NO_NAME)
		new.function = function_at(f, file, p->symbol_start, found->names + p->name);
	if (!known)
		return add_range(file, &new, offset);
	known->named = names;
	known->function = new.function;
	return known;
}

struct native_symbol *native_files__find(struct native_files *f, struct native_file *file,
					 __u64 offset)
{
	struct range *r;

	if (f->skip_interpreter && file->origin == ORIGIN_INTERPRETER)
		return rest_of(file);
	file->used = ++f->now;
	r = range_at(file, offset);
	if (!r || !r->named)
		r = ask(f, file, offset, true);
	return r && r->function ? &r->function->symbol : rest_of(file);
}

int native_file__return_word(struct native_file *file, __u64 offset)
{
	struct range *r = range_at(file, offset);

	file->used = ++file->files->now;
	if (!r)
		r = ask(file->files, file, offset, false);
	return r ? r->return_word : -1;
}
