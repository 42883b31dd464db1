/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/parser/elf_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/parser/parser.h"

/* A file takes well below a millisecond; the largest symbol tables take some tens. */
#define CPU_MS 2000U
/* How often to check on a parser that has not answered. */
#define LOOK_MS 4U
/* Retry once: if a parser dies, somebody may have killed it. */
#define TRIES 2

struct elf_facts {
	struct parsers *parsers; /* borrowed */
	struct parser *kept[2]; /* for root's files, and for others */
	void (*on_wait)(void *ctx);
	void *ctx;
};

struct elf_facts *elf_facts__new(struct parsers *parsers)
{
	struct elf_facts *f = calloc(1, sizeof(*f));

	if (f)
		f->parsers = parsers;
	return f;
}

void elf_facts__prepare(struct elf_facts *f)
{
	if (!f->kept[0])
		f->kept[0] = parser__start_urgent(f->parsers, PARSER_SHORT_USEC);
}

void elf_facts__free(struct elf_facts *f)
{
	if (!f)
		return;
	for (int i = 0; i < 2; i++)
		parser__end(f->kept[i]);
	free(f);
}

void elf_facts__on_wait(struct elf_facts *f, void (*fn)(void *ctx), void *ctx)
{
	parsers__on_wait(f->parsers, fn, ctx);
	f->on_wait = fn;
	f->ctx = ctx;
}

static int await(struct elf_facts *f, struct parser *p, const struct parser_answer **ret)
{
	int r;

	while ((r = parser__answer(p, LOOK_MS, ret)) == -EINPROGRESS)
		if (f->on_wait && !parser__is_waiting(p))
			f->on_wait(f->ctx);
	return r;
}

/* One attempt. Ends the parser unless it has answered. */
static int ask_once(struct elf_facts *f, int fd, unsigned whose,
		    const struct parser_request *request, const struct parser_answer **ret)
{
	struct parser **p = &f->kept[whose];
	int r;

	if (!*p)
		*p = parser__start_urgent(f->parsers, PARSER_SHORT_USEC);
	if (!*p)
		return -EAGAIN;
	r = parser__ask(*p, request, &fd, 1);
	if (!r) {
		parser__set_limits(*p, CPU_MS, PARSER_WALL_MS);
		r = await(f, *p, ret);
	}
	if (!r)
		return 0;
	parser__end(*p);
	*p = NULL;
	return r == -ETIMEDOUT ? r : -EPIPE;
}

/* Returns 0 with an answer, whose own result may be an error. */
static int ask(struct elf_facts *f, int fd, unsigned whose, const struct parser_request *request,
	       const struct parser_answer **ret)
{
	int r = -EPIPE;

	for (int i = 0; i < TRIES && r == -EPIPE; i++)
		r = ask_once(f, fd, whose, request, ret);
	return r == -EPIPE ? -ENOEXEC : r;
}

static int read_runtime(struct elf_facts *f, int fd, unsigned whose, struct elf_runtime *ret)
{
	const struct parser_request request = { .job = PARSER_RUNTIME };
	const struct parser_answer *answer;
	int r = ask(f, fd, whose, &request, &answer);

	if (r)
		return r;
	*ret = answer->runtime;
	return answer->result;
}

/* Which parser reads it: 0 or 1. */
static int whose_is(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -errno : st.st_uid != 0;
}

int elf_facts__read(struct elf_facts *f, int fd, struct elf_runtime *ret)
{
	int whose = whose_is(fd);

	return whose < 0 ? whose : read_runtime(f, fd, (unsigned)whose, ret);
}

int elf_facts__read_image(struct elf_facts *f, int fd, struct elf_runtime *ret)
{
	return read_runtime(f, fd, 1, ret);
}

int elf_facts__table(struct elf_facts *f, int fd, enum published_kind kind, struct elf_table *ret)
{
	const struct parser_request request = { .job = PARSER_TABLE, .at = kind };
	const struct parser_answer *answer;
	int r = whose_is(fd);

	if (r >= 0)
		r = ask(f, fd, (unsigned)r, &request, &answer);
	if (r)
		return r;
	*ret = answer->table;
	return answer->result;
}

int elf_facts__probe(struct elf_facts *f, int fd, enum probe_kind kind, const char *name,
		     struct parser_probes *ret)
{
	struct parser_request request = { .job = PARSER_PROBE, .at = kind };
	const struct parser_answer *answer;
	int r = whose_is(fd);

	if (strlen(name) >= sizeof(request.name))
		return -ENAMETOOLONG;
	strcpy(request.name, name);
	request.cnt = (__u32)(strlen(name) / sizeof(__u64) + 1);
	if (r >= 0)
		r = ask(f, fd, (unsigned)r, &request, &answer);
	if (r)
		return r;
	*ret = answer->probes;
	return answer->result;
}
