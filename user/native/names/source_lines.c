/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/source_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "process/space/modules.h"
#include "native/names/native_files.h"
#include "native/names/symbol_reader.h"
#include "base/text/log.h"
#include "base/data/vec.h"

struct source_lines {
	struct native_files *files;
	struct symbol_reader *reader;
	struct symbol_file **list; /* indexed by the module's number; NULL: not requested yet */
	__u32 cnt, cap;
	const struct parser_sources *answer; /* the last one; it belongs to the reader */
	__u32 split_cnt; /* places whose inlined functions other files describe */
};

struct source_lines *source_lines__new(struct native_files *files)
{
	struct source_lines *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->files = files;
	s->reader = symbol_reader__new();
	if (s->reader)
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
			symbol_reader__close(s->reader, s->list[i]);
		free(s->list[i]);
	}
	free(s->list);
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
static struct symbol_file *file_of(struct source_lines *s, const struct module *module)
{
	__u32 number = module__number(module);
	const struct symbol_file *open;
	struct symbol_file *f;

	if (number < s->cnt && s->list[number])
		return s->list[number];
	open = native_files__symbol_file(s->files, module);
	if (!open || open->fd < 0 || reserve(s, number))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	*f = (struct symbol_file){ .fd = copy_fd(open->fd),
				   .debug_fd = copy_fd(open->debug_fd),
				   .owner = open->owner,
				   .size = open->size };
	s->list[number] = f;
	return f;
}

int source_lines__find(struct source_lines *s, const struct module *module, const __u64 *offsets,
		       __u32 cnt)
{
	struct symbol_file *f = file_of(s, module);
	int err = f ? symbol_reader__sources(s->reader, f, offsets, cnt, &s->answer) : -ENOENT;

	if (err)
		return err;
	s->split_cnt += s->answer->split_cnt;
	return (int)s->answer->cnt;
}

uid_t source_lines__owner(const struct source_lines *s, const struct module *module)
{
	const struct symbol_file *open = native_files__symbol_file(s->files, module);

	return open ? open->owner : 0;
}

void source_lines__say_missing(const struct source_lines *s)
{
	if (s->split_cnt)
		log_info(
			NULL,
			"functions inlined at %u places in native code are not shown: their debug information is split "
			"(-gsplit-dwarf, .dwo), which krait does not read",
			s->split_cnt);
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
