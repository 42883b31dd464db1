/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/source_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "proc/modules.h"
#include "symbol/native_files.h"
#include "symbol/source_halves.h"
#include "symbol/symbol_reader.h"
#include "util/vec.h"

struct source_file {
	struct symbol_file symbols;
	__u32 halves; /* requested so far */
};

struct met_in {
	pid_t pid; /* 0: nobody was */
	__u64 start_ticks;
};

struct source_lines {
	struct met_in *met; /* by the module's number */
	__u32 met_cnt, met_cap;
	struct native_files *files;
	struct symbol_reader *reader;
	struct source_halves *halves;
	struct source_file **list; /* indexed by the module's number; NULL: not requested yet */
	__u32 cnt, cap;
	const struct parser_sources *answer; /* the last one; it belongs to the reader */
};

struct source_lines *source_lines__new(struct native_files *files)
{
	struct source_lines *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->files = files;
	s->reader = symbol_reader__new();
	s->halves = s->reader ? source_halves__new(s->reader) : NULL;
	if (s->halves)
		return s;
	source_lines__free(s);
	return NULL;
}

void source_lines__prepare(struct source_lines *s)
{
	symbol_reader__prepare(s->reader);
}

void source_lines__free(struct source_lines *s)
{
	if (!s)
		return;
	for (__u32 i = 0; i < s->cnt; i++) {
		if (s->list[i])
			symbol_reader__close(s->reader, &s->list[i]->symbols);
		free(s->list[i]);
	}
	free(s->list);
	free(s->met);
	source_halves__free(s->halves);
	symbol_reader__free(s->reader);
	free(s);
}

static int copy_fd(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int reserve(struct source_lines *s, __u32 number)
{
	if (vec_reserve(s->list, s->cap, number + 1))
		return -ENOMEM;
	for (; s->cnt <= number; s->cnt++)
		s->list[s->cnt] = NULL;
	return 0;
}

/* Has its own descriptors: the shared ones may be closed when there are many. NULL: it is not open. */
static struct source_file *file_of(struct source_lines *s, const struct module *module)
{
	__u32 number = module__number(module);
	const struct symbol_file *open;
	struct source_file *f;

	if (number < s->cnt && s->list[number])
		return s->list[number];
	open = native_files__symbol_file(s->files, module);
	if (!open || open->fd < 0 || reserve(s, number))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->symbols = (struct symbol_file){ .fd = copy_fd(open->fd),
					   .debug_fd = copy_fd(open->debug_fd),
					   .owner = open->owner,
					   .size = open->size };
	s->list[number] = f;
	return f;
}

void source_lines__met_in(struct source_lines *s, const struct module *module, pid_t pid,
			  __u64 start_ticks)
{
	__u32 number = module__number(module);

	if (vec_reserve(s->met, s->met_cap, number + 1))
		return;
	for (; s->met_cnt <= number; s->met_cnt++)
		s->met[s->met_cnt] = (struct met_in){ 0 };
	s->met[number] = (struct met_in){ pid, start_ticks };
}

/* An offset wants a package and a file at most, and both again if the parser was restarted. */
#define GIVEN_MAX(cnt) (4 * (cnt) + 4)

int source_lines__find(struct source_lines *s, const struct module *module, const __u64 *offsets,
		       __u32 cnt)
{
	struct source_file *f = file_of(s, module);
	struct met_in met = { 0 };
	int err = f ? 0 : -ENOENT;

	if (module__number(module) < s->met_cnt)
		met = s->met[module__number(module)];
	source_halves__look_in(s->halves, met.pid, met.start_ticks);
	for (__u32 i = 0; !err && i < GIVEN_MAX(cnt); i++) {
		err = symbol_reader__sources(s->reader, &f->symbols, offsets, cnt, &s->answer);
		if (!err && s->answer->cnt)
			return (int)s->answer->cnt;
		if (!err)
			err = source_halves__give(s->halves, &f->symbols, module, s->answer,
						  &f->halves);
	}
	return err ? err : -EAGAIN;
}

uid_t source_lines__owner(const struct source_lines *s, const struct module *module)
{
	const struct symbol_file *open = native_files__symbol_file(s->files, module);

	return open ? open->owner : 0;
}

const struct source_halves *source_lines__halves(const struct source_lines *s)
{
	return s->halves;
}

static const char *text_of(const struct parser_sources *s, __u32 at)
{
	return at == PARSER_NO_NAME ? NULL : s->names + at;
}

unsigned source_lines__at(const struct source_lines *s, __u32 i, struct source_frame *ret)
{
	const struct parser_sources *a = s->answer;
	unsigned cnt = 0;

	for (__u32 at = i ? a->ends[i - 1] : 0; at < a->ends[i] && cnt < SOURCE_FRAMES_MAX; at++)
		ret[cnt++] = (struct source_frame){ text_of(a, a->frames[at].name),
						    text_of(a, a->frames[at].file),
						    a->frames[at].line };
	return cnt;
}
