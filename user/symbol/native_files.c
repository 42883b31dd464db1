/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/native_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "symbol/demangle.h"
#include "symbol/elf_symbols.h"

/* As a key: no padding. The name only where there is no file. */
struct identity {
	__u64 dev, inode, size, mtime_ns;
	__u64 name_hash;
};

/* A function of a file, by its start; what has no name by the offset itself. */
struct function {
	struct native_symbol symbol;
	__u64 start;
	char *name;
	UT_hash_handle hh;
};

struct native_file {
	struct identity identity;
	char *name;
	enum native_origin origin;
	bool tried; /* to open it */
	struct elf_symbols *symbols;
	__u8 build_id[BUILD_ID_MAX];
	unsigned build_id_size;
	struct function *functions;
	struct function *rest; /* when there is no room for more */
	UT_hash_handle hh;
};

struct native_files {
	struct native_file *files;
	__u32 open_cnt, symbol_cnt;
	bool skip_interpreter;
};

struct native_files *native_files__new(void)
{
	return calloc(1, sizeof(struct native_files));
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
	elf_symbols__free(file->symbols);
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
	free(f);
}

/* ---- files ------------------------------------------------------------------------------------ */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

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

static void identify(struct identity *ret, const char *path, const char *name)
{
	struct stat st;

	memset(ret, 0, sizeof(*ret));
	if (!*path || stat(path, &st)) {
		ret->name_hash = hash_text(name);
		return;
	}
	ret->dev = st.st_dev;
	ret->inode = st.st_ino;
	ret->size = (__u64)st.st_size;
	ret->mtime_ns = (__u64)st.st_mtim.tv_sec * 1000000000ULL + (__u64)st.st_mtim.tv_nsec;
}

struct native_file *native_files__get(struct native_files *f, const char *path, const char *name)
{
	struct native_file *file;
	struct identity identity;

	identify(&identity, path, name);
	HASH_FIND(hh, f->files, &identity, sizeof(identity), file);
	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
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

bool native_file__is(const struct native_file *file, const char *path)
{
	struct identity identity;

	identify(&identity, path, "");
	return !memcmp(&identity, &file->identity, sizeof(identity));
}

int native_file__return_word(struct native_file *file, __u64 offset)
{
	return file->symbols ? elf_symbols__return_word(file->symbols, offset) : -1;
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

void native_files__open(struct native_files *f, struct native_file *file, const char *const paths[],
			unsigned path_cnt)
{
	file->tried = true;
	if (f->open_cnt == NATIVE_FILES_OPEN || file->identity.name_hash)
		return;
	for (unsigned i = 0; i < path_cnt && !file->symbols; i++) {
		if (native_file__is(file, paths[i]) &&
		    elf_symbols__new(&file->symbols, paths[i], file->name))
			file->symbols = NULL;
	}
	if (!file->symbols)
		return;
	f->open_cnt++;
	file->build_id_size = elf_symbols__build_id(file->symbols, file->build_id);
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

/*
 * "[libfoo.so]", "[vdso]", "[anonymous]": what all code is that has no name of its own. One for each
 * file, since an entry for each address would bury a stripped library's time in a thousand rows.
 */
static char *name_of_rest(const struct native_file *file)
{
	const char *base = *file->name ? base_name(file->name) : "anonymous";
	char *text;

	if (base[0] == '[')
		return strdup(base);
	return asprintf(&text, "[%s]", base) < 0 ? NULL : text;
}

static struct native_symbol *rest_of(struct native_file *file)
{
	if (!file->rest)
		file->rest = new_function(file, 0, name_of_rest(file));
	return file->rest ? &file->rest->symbol : NULL;
}

struct native_symbol *native_files__find(struct native_files *f, struct native_file *file,
					 __u64 offset)
{
	const char *name = NULL;
	__u64 start = 0;
	struct function *fn;

	if (f->skip_interpreter && file->origin == ORIGIN_INTERPRETER)
		return rest_of(file);
	if (file->symbols)
		name = elf_symbols__find(file->symbols, offset, &start);
	if (!name)
		return rest_of(file);
	HASH_FIND(hh, file->functions, &start, sizeof(start), fn);
	if (fn)
		return &fn->symbol;
	if (f->symbol_cnt == NATIVE_SYMBOLS_MAX)
		return rest_of(file);
	fn = new_function(file, start, demangle(name));
	if (!fn)
		return NULL;
	HASH_ADD(hh, file->functions, start, sizeof(fn->start), fn);
	f->symbol_cnt++;
	return &fn->symbol;
}
