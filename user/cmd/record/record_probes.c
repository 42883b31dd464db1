/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record/record_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/environment.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/text/short_path.h"
#include "cmd/common/arguments.h"
#include "process/parser/elf_facts.h"
#include "process/parser/parser.h"
#include "process/proc/maps.h"
#include "process/proc/open_file.h"

_Static_assert(EVENT_CODE_MAX >= PROBE_PLACES_MAX, "room for all places");

/* ---- what is asked for ------------------------------------------------------------------------ */

static const struct {
	const char *prefix;
	bool is_mark, on_return;
} kinds[] = {
	{ "uprobe:", false, false },
	{ "uretprobe:", false, true },
	{ "usdt:", true, false },
};

#define KIND_CNT (sizeof(kinds) / sizeof(kinds[0]))

static size_t kind_of(const char *text)
{
	size_t i = 0;

	while (i < KIND_CNT && strncmp(text, kinds[i].prefix, strlen(kinds[i].prefix)))
		i++;
	return i;
}

bool record_probes_is(const char *text)
{
	return kind_of(text) < KIND_CNT;
}

static void add(struct event_spec *e, size_t kind, const char *text, size_t len, bool on_return,
		struct argp_state *state)
{
	const char *slash = memrchr(text, '/', len), *base = slash ? slash + 1 : text;
	const char *colon = memchr(base, ':', len - (size_t)(base - text));
	struct event_code *code;
	size_t place_len = colon ? len - (size_t)(colon + 1 - text) : 0;

	if (!colon || colon == text || !place_len || place_len >= PROBE_NAME_MAX)
		arguments_refuse(
			state,
			"a probe is %sFILE:%s, with the path of a program or library or the beginning of its name, not \"%.*s\"",
			kinds[kind].prefix, kinds[kind].is_mark ? "NAME" : "FUNCTION", (int)len,
			text);
	on_return |= kinds[kind].on_return;
	if (on_return && memchr(colon, '+', place_len + 1))
		arguments_refuse(state,
				 "a function returns from the whole of it: %.*s without an offset",
				 (int)place_len, colon + 1);
	code = calloc(1, sizeof(*code));
	*e = (struct event_spec){ .type = PERF_TYPE_TRACEPOINT, .code = code };
	if (!code || !(code->file = strndup(text, (size_t)(colon - text))) ||
	    !(code->place = strndup(colon + 1, place_len)))
		arguments_refuse(state, "out of memory");
	code->is_mark = kinds[kind].is_mark;
	code->on_return = on_return;
	if (snprintf(e->name, sizeof(e->name), "%s%.*s:%s",
		     code->on_return ? "uretprobe:" : kinds[kind].prefix, (int)(colon - base), base,
		     code->place) >= (int)sizeof(e->name))
		memcpy(e->name + sizeof(e->name) - 4, "...", 4);
}

void record_probes_add(struct event_spec *e, const char *text, size_t len, struct argp_state *state)
{
	const size_t kind = kind_of(text), skip = strlen(kinds[kind].prefix);

	add(e, kind, text + skip, len - skip, false, state);
}

#define RETURN "%return"

void record_probes_option(struct record_options *o, const char *text, struct argp_state *state)
{
	size_t len = strlen(text), tail = strlen(RETURN);
	struct event_spec *e = &o->events[o->event_cnt];

	if (o->event_cnt == KRAIT_MAX_EVENTS)
		arguments_refuse(state, "too many events: at most %d", KRAIT_MAX_EVENTS);
	o->event_cnt++;
	if (record_probes_is(text))
		record_probes_add(e, text, len, state);
	else if (len > tail && !strcmp(text + len - tail, RETURN))
		add(e, 0, text, len - tail, true, state);
	else
		add(e, 0, text, len, false, state);
}

void record_probes_free(struct record_options *o)
{
	for (unsigned i = 0; i < o->event_cnt; i++) {
		struct event_code *code = (struct event_code *)o->events[i].code;

		if (!code)
			continue;
		while (code->fd_cnt)
			close(code->fds[--code->fd_cnt]);
		free(code->file);
		free(code->place);
		free(code);
		o->events[i].code = NULL;
	}
}

/* ---- which file ------------------------------------------------------------------------------- */

/* Files that may be the one that is meant, the likeliest first. */
struct files {
	unsigned cnt;
	struct {
		int fd;
		char *name;
		bool looked, has; /* the place */
	} list[EVENT_FILES_MAX];
};

static void files_free(struct files *f)
{
	for (unsigned i = 0; i < f->cnt; i++) {
		close(f->list[i].fd);
		free(f->list[i].name);
	}
}

static bool is_overlay(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == 0x794c7630;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * The kernel puts a probe into the file below an overlay, which is the same for all containers of one image: two probes there
 * would count each call twice. Such an overlay shows that file's number and times, with a device of its own.
 */
static bool is_same_file(int fd, int other_fd)
{
	struct stat st, other;

	if (fstat(fd, &st) || fstat(other_fd, &other) || st.st_ino != other.st_ino)
		return false;
	return st.st_dev == other.st_dev ||
	       (st.st_size == other.st_size && is_same_time(&st.st_mtim, &other.st_mtim) &&
		is_same_time(&st.st_ctim, &other.st_ctim) &&
		(is_overlay(fd) || is_overlay(other_fd)));
}

/* Takes over fd, which may be an error. Returns which it is, or -1. */
static int files_add(struct files *f, int fd, const char *name)
{
	if (fd < 0)
		return -1;
	for (unsigned i = 0; i < f->cnt; i++)
		if (is_same_file(fd, f->list[i].fd)) {
			close(fd);
			return (int)i;
		}
	if (f->cnt == EVENT_FILES_MAX || !(f->list[f->cnt].name = strdup(name))) {
		close(fd);
		return -1;
	}
	f->list[f->cnt].fd = fd;
	return (int)f->cnt++;
}

/* "libc" is libc.so.6 and libc-2.31.so, and not libcrypto.so.3. */
static bool is_begin_of(const char *begin, const char *path)
{
	const char *name = base_name(path);
	const size_t len = strlen(begin);

	return !strncmp(name, begin, len) && strspn(name + len, ".-0123456789") > 0;
}

static bool is_named(const char *file, const char *path)
{
	return !strcmp(base_name(path), file) || is_begin_of(file, path) ||
	       /* The interpreter is in one or the other. */
	       (!strcmp(file, "libpython") && is_begin_of("python", path)) ||
	       (!strcmp(file, "python") && is_begin_of("libpython", path));
}

/*
 * The file that is mapped, whatever its name leads to by now, or leads to here. The process has chosen it: nothing is opened
 * that acts when it is, or that a server can keep waiting.
 */
static int open_mapped(pid_t pid, const struct maps_line *line)
{
	char path[96];
	struct stat st;
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid, line->link_start,
		 line->link_end);
	fd = open_file_at(AT_FDCWD, path, &st);
	return fd < 0 || open_file_is_remote(fd) ? -1 : open_file_read(fd);
}

static void add_globbed(struct files *f, const char *folder, const char *file)
{
	char pattern[PATH_MAX];
	glob_t found;

	if (snprintf(pattern, sizeof(pattern), "%s/%s*.so*", folder, file) >= (int)sizeof(pattern))
		return;
	if (!glob(pattern, 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (is_named(file, found.gl_pathv[i]))
				files_add(f, open_file_named(found.gl_pathv[i]), found.gl_pathv[i]);
	globfree(&found);
}

/* The program, and a libpython that is installed with it. */
static void add_command(struct files *f, const char *command, const char *file)
{
	char path[PATH_MAX], real[PATH_MAX], folder[PATH_MAX];

	if (!environment_find(path, command) || !realpath(path, real))
		return;
	if (is_named(file, real) || is_named(file, path))
		files_add(f, open_file_named(real), real);
	snprintf(folder, sizeof(folder), "%.*s/../lib", (int)(base_name(real) - real - 1), real);
	if (!strcmp(file, "python") || !strcmp(file, "libpython"))
		add_globbed(f, folder, "libpython");
}

/* What processes do not say. */
static void find_files(struct files *f, const struct record_options *o, const char *file)
{
	static const char *const folders[] = {
		"/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*", "/lib64",
		"/usr/lib64",	     "/usr/local/lib",	      "/lib",
		"/usr/lib"
	};

	if (strchr(file, '/')) {
		files_add(f, open_file_named(file), file);
		return;
	}
	if (o->command)
		add_command(f, o->command[0], file);
	for (size_t i = 0; !f->cnt && i < sizeof(folders) / sizeof(folders[0]); i++)
		add_globbed(f, folders[i], file);
}

/* ---- where in it ------------------------------------------------------------------------------ */

struct search {
	struct elf_facts *facts;
	const struct event_spec *event;
	struct event_code *code;
	struct files files;
	struct parser_probes found;
	/* why the likeliest file is not it */
	unsigned told;
	int result;
	char there[sizeof(((struct parser_probes *)0)->there)];
};

static int explain(const struct event_spec *e, const struct files *f, unsigned index, int result,
		   const char *there, struct error *err)
{
	const char *name = index < f->cnt ? f->list[index].name : "";
	const struct event_code *c = e->code;
	const char *what = c->is_mark ? "mark (USDT)" : "function";

	if (!f->cnt && strchr(c->file, '/'))
		return error_set(err, ENOENT, EXIT_CODE_USAGE,
				 "%s: %s cannot be read, or is no file", e->name, c->file);
	if (!f->cnt)
		return error_set(
			err, ENOENT, EXIT_CODE_USAGE,
			"%s: neither the processes, the command nor this system's libraries have a file %s: give its path",
			e->name, c->file);
	if (result == -EOPNOTSUPP)
		return error_set(
			err, ENOENT, EXIT_CODE_USAGE,
			"%s: %s of %s is chosen at run time (IFUNC): give the name of the function that this CPU gets",
			e->name, c->place, name);
	if (result == -EFAULT)
		return error_set(err, EFAULT, EXIT_CODE_USAGE,
				 "%s: the counter of %s is not in the writable data of %s", e->name,
				 c->place, name);
	if (result == -E2BIG)
		return error_set(err, E2BIG, EXIT_CODE_USAGE,
				 "%s: %s has too many marks, or too many places named %s", e->name,
				 name, c->place);
	if (result == -EILSEQ && c->is_mark)
		return error_set(err, EILSEQ, EXIT_CODE_USAGE,
				 "%s: where %s has its mark %s is no nop to put a probe at",
				 e->name, name, c->place);
	if (result == -EILSEQ || result == -EINVAL)
		return error_set(err, -result, EXIT_CODE_USAGE,
				 "%s: no instruction of %s is known to begin at %s", e->name, name,
				 c->place);
	if (result)
		return error_set(err, -result, EXIT_CODE_USAGE, "%s: %s cannot be used: %s",
				 e->name, name, strerror(-result));
	if (c->is_mark && !*there)
		return error_set(
			err, ENOENT, EXIT_CODE_USAGE,
			"%s: %s has no marks: it was built without them (CPython: --with-dtrace)",
			e->name, name);
	return error_set(err, ENOENT, EXIT_CODE_USAGE, "%s: %s has no %s %s%s%s", e->name, name,
			 what, c->place,
			 c->is_mark ? "; it has " :
				      " in its symbol tables (readelf -Ws shows them)",
			 c->is_mark ? there : "");
}

static int take_places(struct search *s, int fd)
{
	struct event_code *c = s->code;

	if (s->found.cnt > EVENT_CODE_MAX - c->cnt)
		return -E2BIG;
	fd = dup(fd);
	if (fd < 0)
		return -errno;
	c->fds[c->fd_cnt++] = fd;
	for (__u32 k = 0; k < s->found.cnt; k++, c->cnt++) {
		c->list[c->cnt].fd = fd;
		c->list[c->cnt].offset = s->found.list[k].offset;
		c->list[c->cnt].counter_offset = s->found.list[k].counter_offset;
	}
	return 0;
}

/* Has that file the place? Then it is taken. */
static bool has_place(struct search *s, int i)
{
	const struct event_code *c = s->code;
	int r;

	if (i < 0 || s->files.list[i].looked)
		return i >= 0 && s->files.list[i].has;
	r = elf_facts__probe(s->facts, s->files.list[i].fd,
			     c->is_mark ? PROBE_MARK : PROBE_FUNCTION, c->place, &s->found);
	s->files.list[i].looked = true;
	if (!r && s->found.cnt) {
		r = take_places(s, s->files.list[i].fd);
		s->files.list[i].has = !r;
		log_debug("probes", "%s: %u in %s", s->event->name, s->found.cnt,
			  s->files.list[i].name);
	}
	/* Scripts for the linker are called like libraries. */
	if (!s->files.list[i].has && (!i || s->result == -ENOEXEC)) {
		s->told = (unsigned)i;
		s->result = r;
		if (!r)
			memcpy(s->there, s->found.there, sizeof(s->there));
	}
	return s->files.list[i].has;
}

/* A process has its own file of that name, if it runs in a container. */
static bool is_in_process(struct search *s, pid_t pid)
{
	struct maps_line line;
	struct maps *m = malloc(sizeof(*m));
	bool has = false;

	if (m && !maps_open(m, pid)) {
		while (!has && maps_next(m, &line) == 1)
			if (line.inode && line.prot & MAPPING_EXEC &&
			    is_named(s->code->file, line.path))
				has = has_place(s, files_add(&s->files, open_mapped(pid, &line),
							     line.path));
		maps_close(m);
	}
	free(m);
	return has;
}

static void find_in_processes(struct search *s, const struct record_options *o)
{
	char missing[128] = "";
	size_t len = 0, cnt = 0;
	bool more = false;

	for (size_t i = 0; i < o->pid_cnt; i++) {
		if (is_in_process(s, o->pids[i]))
			continue;
		if (!more && len < sizeof(missing) - 16)
			len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%s%d",
						cnt ? ", " : "", o->pids[i]);
		else if (!more) {
			more = true;
			snprintf(missing + len, sizeof(missing) - len, " ...");
		}
		cnt++;
	}
	if (s->code->cnt && cnt)
		log_warn("probes", "%s: %zu of %zu processes have no file %s with it by now: %s",
			 s->event->name, cnt, o->pid_cnt, s->code->file, missing);
}

static int find_place(struct elf_facts *facts, const struct record_options *o, struct event_spec *e,
		      struct error *err)
{
	struct search *s = calloc(1, sizeof(*s));
	int result = 0;

	if (!s)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	s->facts = facts;
	s->event = e;
	s->code = (struct event_code *)e->code;
	if (!strchr(s->code->file, '/'))
		find_in_processes(s, o);
	if (!s->code->cnt) {
		find_files(&s->files, o, s->code->file);
		for (unsigned i = 0; i < s->files.cnt && !has_place(s, (int)i); i++)
			;
	}
	if (!s->code->cnt)
		result = explain(e, &s->files, s->told, s->result, s->there, err);
	files_free(&s->files);
	free(s);
	return result;
}

int record_probes_find(struct record_options *o, struct error *err)
{
	struct parsers *parsers = NULL;
	struct elf_facts *facts = NULL;
	int result = 0;

	for (unsigned i = 0; i < o->event_cnt && !result; i++) {
		if (!o->events[i].code)
			continue;
		/* The kernel lets root alone put breakpoints into others' programs. */
		if (getauxval(AT_SECURE))
			return error_set(
				err, EPERM, EXIT_CODE_PERMISSION,
				"%s: probes need rights of the caller's own, not those of krait's file: run it with sudo",
				o->events[i].name);
		if (!parsers)
			parsers = parsers__new();
		if (parsers && !facts)
			facts = elf_facts__new(parsers);
		result = facts ? find_place(facts, o, &o->events[i], err) :
				 error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	}
	elf_facts__free(facts);
	parsers__free(parsers);
	return result;
}
