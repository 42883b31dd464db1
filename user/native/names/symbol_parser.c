/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/symbol_parser.h"

#include <errno.h>
#include <string.h>

#include "base/text/log.h"

/* All files that one parser has open: they are mapped, and it may have 1 GiB of address space. */
#define OPEN_BYTES_MAX (640ULL << 20)

void symbol_parser_end(struct symbol_parser *p)
{
	for (int i = 0; i < PARSER_FILES_MAX; i++) {
		if (p->files[i])
			p->files[i]->parser = NULL;
		p->files[i] = NULL;
	}
	parser__end(p->process);
	p->process = NULL;
	p->bytes = 0;
	p->is_late = false;
}

void symbol_parser_forget(struct symbol_parser *p, __u32 number)
{
	const struct parser_request request = { .job = PARSER_CLOSE, .file = number };

	p->bytes -= p->files[number]->size;
	p->files[number]->parser = NULL;
	p->files[number] = NULL;
	/* A parser with a job takes no other. */
	if (p->process && (p->is_late || parser__ask(p->process, &request, NULL, 0)))
		symbol_parser_end(p);
}

__u32 symbol_parser_make_room(struct symbol_parser *p, __u64 size)
{
	for (;;) {
		__u32 oldest = PARSER_FILES_MAX, free_one = PARSER_FILES_MAX;

		for (__u32 i = 0; i < PARSER_FILES_MAX; i++) {
			if (!p->files[i])
				free_one = i;
			else if (oldest == PARSER_FILES_MAX ||
				 p->files_used[i] < p->files_used[oldest])
				oldest = i;
		}
		if (oldest == PARSER_FILES_MAX ||
		    (free_one != PARSER_FILES_MAX && p->bytes + size <= OPEN_BYTES_MAX))
			return free_one;
		symbol_parser_forget(p, oldest);
	}
}

/* ---- jobs ------------------------------------------------------------------------------------- */

int symbol_parser_fail(struct symbol_parser *p, struct symbol_file *f, int err)
{
	log_debug("symbols", "a parser has %s in a file of user %u",
		  err == -ETIMEDOUT ? "taken too long" : "died", f->owner);
	f->bad = true;
	symbol_parser_end(p);
	return err;
}

static bool is_same(const struct parser_request *a, const struct parser_request *b)
{
	return a->job == b->job && a->cnt == b->cnt && !memcmp(a, b, parser_request_size(a));
}

int symbol_parser_drop_late(struct symbol_parser *p)
{
	const struct parser_answer *answer;
	int err;

	if (!p->is_late)
		return 0;
	err = parser__answer(p->process, 0, &answer);
	if (err == -EINPROGRESS)
		return -EAGAIN;
	p->is_late = false;
	if (!err)
		return 0;
	if (p->late)
		symbol_parser_fail(p, p->late, err);
	else
		symbol_parser_end(p);
	return -EAGAIN;
}

/* The number of descriptors that go with the job. */
static unsigned fd_cnt(const struct symbol_file *f, const struct parser_request *request)
{
	switch (request->job) {
	case PARSER_OPEN:
		return f->debug_fd < 0 ? 1 : 2;
	case PARSER_ROWS:
	case PARSER_ROWS_MADE:
		return 1;
	default:
		return 0;
	}
}

int symbol_parser_ask(struct symbol_parser *p, struct symbol_file *f,
		      const struct parser_request *request)
{
	const int fds[] = { f->fd, f->debug_fd };
	int err = symbol_parser_drop_late(p);

	if (err)
		return err;
	if (parser__ask(p->process, request, fds, fd_cnt(f, request))) {
		symbol_parser_end(p);
		return -EAGAIN;
	}
	p->late = f;
	memcpy(&p->asked, request, parser_request_size(request));
	return 0;
}

bool symbol_parser_is_asked(const struct symbol_parser *p, const struct symbol_file *f,
			    const struct parser_request *request)
{
	return p->is_late && p->late == f && is_same(&p->asked, request);
}
