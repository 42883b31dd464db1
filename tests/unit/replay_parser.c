/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_parser.c - parsers whose answers are in the log (replay.h). Replaces process/parser/parser.c, so
 * it has every function of parser.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay_outside.h"
#include "process/parser/parser.h"

struct parsers {
	unsigned alive;
};

/* An open file. */
struct opened {
	struct file_id id;
	bool has_debug;
};

struct parser {
	struct parsers *parsers;
	struct opened files[PARSER_FILES_MAX];
	struct input_parse asked;
	struct parser_answer answer;
};

struct parsers *parsers__new(void)
{
	return calloc(1, sizeof(struct parsers));
}

void parsers__prepare(struct parsers *p)
{
}

void parsers__on_wait(struct parsers *p, void (*fn)(void *ctx), void *ctx)
{
}

void parsers__tap(struct parsers *p, parse_tap_fn fn, void *ctx)
{
}

void parsers__free(struct parsers *p)
{
	/* A worker that was started must be ended. */
	if (p && p->alive)
		abort();
	free(p);
}

struct parser *parser__start(struct parsers *p)
{
	struct parser *one = calloc(1, sizeof(*one));

	one->parsers = p;
	p->alive++;
	return one;
}

struct parser *parser__start_urgent(struct parsers *p, unsigned usec)
{
	return parser__start(p);
}

bool parser__is_urgent(const struct parser *p)
{
	return false;
}

void parser__end(struct parser *p)
{
	if (p)
		p->parsers->alive--;
	free(p);
}

pid_t parser__pid(const struct parser *p)
{
	return 0;
}

__u64 parser__cpu_ns(const struct parser *p)
{
	return 0;
}

__u64 parser__idle_ns(const struct parser *p)
{
	return 0;
}

bool parser__is_waiting(const struct parser *p)
{
	return true;
}

void parser__set_limits(struct parser *p, unsigned cpu_ms, unsigned wall_ms)
{
}

int parser__ask(struct parser *p, const struct parser_request *request, const int *fds,
		unsigned fd_cnt)
{
	struct opened *file = &p->files[request->file], one;

	if (fd_cnt) {
		one = (struct opened){ replay_file_of(fds[0]), fd_cnt > 1 };
		if (request->job == PARSER_OPEN)
			*file = one;
		else
			file = &one;
	}
	memset(&p->asked, 0, sizeof(p->asked));
	p->asked.dev = file->id.dev;
	p->asked.ino = file->id.ino;
	p->asked.has_debug = file->has_debug;
	memcpy(&p->asked.request, request, parser_request_size(request));
	p->asked.request.file = 0;
	return 0;
}

/* What the log lacks was never asked: no file of this session has it. */
int parser__answer(struct parser *p, unsigned wait_ms, const struct parser_answer **ret)
{
	const struct input_entry *e = replay_log_parsed(replay_outside(), &p->asked);
	const struct input_parsed *head = e ? e->value : NULL;

	memset(&p->answer, 0, sizeof(p->answer));
	p->answer.job = p->asked.request.job;
	p->answer.result = -ENODATA;
	*ret = &p->answer;
	if (!head)
		return 0;
	replay_advance(replay_now_ns() + head->took_ns);
	/* As long as the log says. */
	if (e->value_size != sizeof(*head) + head->size || head->size > sizeof(p->answer))
		abort();
	memcpy(&p->answer, head + 1, head->size);
	if ((p->answer.job == PARSER_ROWS || p->answer.job == PARSER_ROWS_MADE) &&
	    !p->answer.result)
		p->answer.result = -ENODATA; /* rows are not logged */
	return head->result;
}
