/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/symbol_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native/names/reader_waits.h"
#include "native/names/symbol_parser.h"
#include "process/parser/parser.h"
#include "native/rows/tables.h"
#include "base/system/clock.h"

/* Root's, and those of other owners. */
#define SYMBOL_PARSERS 4
/* Replace a parser before the kernel ends it for its age. */
#define PARSER_AGE_NS (300 * NS_PER_SEC)

struct symbol_reader {
	struct parsers *parsers;
	__u64 now; /* number of jobs so far */
	struct symbol_parser list[SYMBOL_PARSERS]; /* the first is root's */
	struct reader_waits waits;
	__u64 late_cnt;
	__u32 *words; /* the rows last read */
	/*
	 * More of these rows is to come, from a parser that is late: for which file, and the known
	 * part.
	 */
	const struct symbol_file *part_of;
	struct unwind_rows part;
	__u64 part_all;
};

struct symbol_reader *symbol_reader__new(void)
{
	struct symbol_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	reader_waits_begin(&r->waits, clock_monotonic_ns());
	r->parsers = parsers__new();
	if (!r->parsers) {
		free(r);
		return NULL;
	}
	return r;
}

void symbol_reader__prepare(struct symbol_reader *r)
{
	parsers__prepare(r->parsers);
}

void symbol_reader__hurry(struct symbol_reader *r)
{
	r->waits.hurries = true;
}

__u64 symbol_reader__late(const struct symbol_reader *r)
{
	return r->late_cnt;
}

void symbol_reader__tap(struct symbol_reader *r, parse_tap_fn fn, void *ctx)
{
	parsers__tap(r->parsers, fn, ctx);
}

/* ---- parsers and what they have open ----------------------------------------------------------- */

void symbol_reader__free(struct symbol_reader *r)
{
	if (!r)
		return;
	for (int i = 0; i < SYMBOL_PARSERS; i++)
		symbol_parser_end(&r->list[i]);
	parsers__free(r->parsers);
	free(r->words);
	free(r);
}

void symbol_reader__rest(struct symbol_reader *r, __u64 idle_ns)
{
	__u64 now_ns = clock_monotonic_ns();

	for (int i = 0; i < SYMBOL_PARSERS; i++) {
		struct symbol_parser *p = &r->list[i];

		/* A parser with a job will be asked again by the caller that gave it. */
		if (p->process && !p->is_late && now_ns - p->used_ns >= idle_ns)
			symbol_parser_end(p);
	}
}

/*
 * Should another parser take over, with another priority? One that has used all of its time at
 * krait's has lowered its own.
 */
static bool has_wrong_priority(const struct symbol_parser *p, bool may_hurry)
{
	if (!p->is_urgent || p->is_late)
		return false;
	return may_hurry != parser__is_urgent(p->process);
}

static void start(struct symbol_reader *r, struct symbol_parser *p, bool may_hurry)
{
	p->process = may_hurry ? parser__start_urgent(r->parsers, PARSER_LONG_USEC) :
				 parser__start(r->parsers);
	/* Not if krait itself has an ordinary priority. */
	p->is_urgent = p->process && may_hurry && parser__is_urgent(p->process);
}

/* The parser of an owner: its own, or the least recently used one. Running, or NULL. */
static struct symbol_parser *parser_of(struct symbol_reader *r, uid_t owner)
{
	bool may_hurry = reader_waits_may_hurry(&r->waits, owner, clock_monotonic_ns());
	struct symbol_parser *p = &r->list[0];

	if (owner) {
		p = &r->list[1];
		for (int i = 1; i < SYMBOL_PARSERS && p->owner != owner; i++)
			if (r->list[i].owner == owner || r->list[i].used < p->used)
				p = &r->list[i];
	}
	if (p->process && (p->owner != owner || parser__cpu_ns(p->process) > PARSER_AGE_NS ||
			   has_wrong_priority(p, may_hurry)))
		symbol_parser_end(p);
	if (!p->process)
		start(r, p, may_hurry);
	p->owner = owner;
	p->used = ++r->now;
	return p->process ? p : NULL;
}

/* ---- jobs ------------------------------------------------------------------------------------- */

/* Processor time that it has used beyond cpu_ns. One that has died may have used all there was. */
static __u64 computed_since(const struct symbol_parser *p, __u64 cpu_ns, __u64 took_ns)
{
	__u64 now_ns = parser__cpu_ns(p->process);

	return now_ns ? now_ns - cpu_ns : took_ns;
}

/* -EINPROGRESS: it gets no processor, and we have waited long enough. */
static int await(struct symbol_reader *r, struct symbol_parser *p, const struct parser_answer **ret)
{
	__u64 idle_ns = parser__idle_ns(p->process), cpu_ns = parser__cpu_ns(p->process);
	unsigned wait_ms;
	int err;

	do {
		__u64 begin_ns = clock_monotonic_ns(), took_ns, computed_ns, waited_ns;

		wait_ms = reader_waits_ms(&r->waits, begin_ns);
		err = parser__answer(p->process, wait_ms, ret);
		took_ns = clock_monotonic_ns() - begin_ns;
		computed_ns = computed_since(p, cpu_ns, took_ns);
		waited_ns = parser__idle_ns(p->process) - idle_ns;
		cpu_ns += computed_ns;
		idle_ns += waited_ns;
		if (took_ns > computed_ns + waited_ns)
			reader_waits_note_starved(&r->waits, took_ns - computed_ns - waited_ns);
		if (p->is_urgent)
			reader_waits_note_urgent(&r->waits, p->owner, computed_ns);
	} while (err == -EINPROGRESS && wait_ms == READER_LOOK_MS);
	return err;
}

/* One job and its answer. If the parser had died before we asked, the file is not to blame. */
static int do_job(struct symbol_reader *r, struct symbol_parser *p, struct symbol_file *f,
		  const struct parser_request *request, const struct parser_answer **ret)
{
	int err = symbol_parser_is_asked(p, f, request) ? 0 : symbol_parser_ask(p, f, request);

	p->used_ns = clock_monotonic_ns();
	if (err)
		return err;
	err = await(r, p, ret);
	p->is_late = err == -EINPROGRESS;
	if (p->is_late) {
		r->late_cnt++;
		return -EINPROGRESS;
	}
	return err ? symbol_parser_fail(p, f, err) : (*ret)->result;
}

static int open_file(struct symbol_reader *r, struct symbol_file *f,
		     const struct parser_answer **ret)
{
	struct parser_request request = { .job = PARSER_OPEN };
	struct symbol_parser *p = parser_of(r, f->owner);
	int err;

	if (!p)
		return -EAGAIN;
	if (p->is_late && p->late == f && p->asked.job == PARSER_OPEN) {
		request.file = p->asked.file;
	} else {
		/*
		 * Before allocating a number: the late answer may arrive right now and finish this
		 * job after all.
		 */
		err = symbol_parser_drop_late(p);
		if (err)
			return err;
		request.file = symbol_parser_make_room(p, f->size);
	}
	if (!p->process)
		return -EAGAIN;
	err = do_job(r, p, f, &request, ret);
	if (err) {
		f->bad |= err != -EAGAIN && err != -EINPROGRESS;
		return err;
	}
	f->parser = p;
	f->number = request.file;
	p->files[f->number] = f;
	p->files_used[f->number] = r->now;
	p->bytes += f->size;
	return 0;
}

static int find(struct symbol_reader *r, struct symbol_file *f, struct parser_request *request,
		const struct parser_answer **ret)
{
	int err = f->parser ? 0 : open_file(r, f, ret);

	if (err)
		return err;
	request->file = f->number;
	f->parser->used = ++r->now;
	f->parser->files_used[f->number] = r->now;
	return do_job(r, f->parser, f, request, ret);
}

/* Accounts for the time, and retries once if the parser had died. */
static int run(struct symbol_reader *r, struct symbol_file *f, struct parser_request *request,
	       const struct parser_answer **ret)
{
	__u64 begin_ns;
	int err = -EAGAIN;

	if (f->bad || f->fd < 0)
		return -ENOEXEC;
	if (reader_waits_refuse(&r->waits, f->owner, clock_monotonic_ns()))
		return -EAGAIN;
	begin_ns = clock_monotonic_ns();
	for (int i = 0; i < 2 && err == -EAGAIN; i++)
		err = request ? find(r, f, request, ret) : open_file(r, f, ret);
	reader_waits_note(&r->waits, f->owner, clock_monotonic_ns() - begin_ns);
	return err == -EINPROGRESS ? -EAGAIN : err;
}

int symbol_reader__open(struct symbol_reader *r, struct symbol_file *f, struct parser_opened *ret)
{
	const struct parser_answer *answer;
	int err;

	if (f->parser)
		symbol_parser_forget(f->parser, f->number);
	err = run(r, f, NULL, &answer);
	if (!err)
		*ret = answer->opened;
	return err;
}

static int ask_offsets(struct symbol_reader *r, struct symbol_file *f, enum parser_job job,
		       const __u64 *offsets, __u32 cnt, const struct parser_answer **ret)
{
	struct parser_request request = { .job = job, .cnt = cnt };

	if (!cnt || cnt > PARSER_PLACES_MAX)
		return -EINVAL;
	memcpy(request.offsets, offsets, cnt * sizeof(*offsets));
	return run(r, f, &request, ret);
}

int symbol_reader__find(struct symbol_reader *r, struct symbol_file *f, const __u64 *offsets,
			__u32 cnt, const struct parser_found **ret)
{
	const struct parser_answer *answer;
	int err = ask_offsets(r, f, PARSER_FIND, offsets, cnt, &answer);

	if (!err)
		*ret = &answer->found;
	return err;
}

int symbol_reader__sources(struct symbol_reader *r, struct symbol_file *f, const __u64 *offsets,
			   __u32 cnt, const struct parser_sources **ret)
{
	const struct parser_answer *answer;
	int err = ask_offsets(r, f, PARSER_SOURCE, offsets, cnt, &answer);

	if (!err)
		*ret = &answer->sources;
	return err;
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* The largest libraries have 6 million rows. */
#define ROW_WORDS_MAX (12U << 20)

static __u64 words_of(const struct parser_rows *rows)
{
	return (__u64)rows->rule_cnt * (sizeof(struct unwind_rule) / sizeof(__u32)) +
	       rows->page_cnt + rows->row_cnt;
}

static void place_rows(const struct symbol_reader *r, const struct parser_rows *first,
		       struct unwind_rows *ret)
{
	*ret = (struct unwind_rows){
		.first_page = first->first_page,
		.page_cnt = first->page_cnt,
		.rule_cnt = first->rule_cnt,
		.row_cnt = first->row_cnt,
		.rules = (const struct unwind_rule *)r->words,
	};
	ret->page_rows = (const __u32 *)(ret->rules + ret->rule_cnt);
	ret->rows = ret->page_rows + ret->page_cnt;
}

/*
 * Continues where the parser was late with a part, so that rows of a large file arrive even on a
 * busy machine: starting over, they might never.
 */
static void resume_rows(const struct symbol_reader *r, const struct symbol_parser *p,
			const struct symbol_file *f, struct parser_request *request, __u64 *all,
			struct unwind_rows *ret)
{
	if (!p->is_late || p->late != f || r->part_of != f || p->asked.job != PARSER_ROWS_MORE)
		return;
	memcpy(request, &p->asked, parser_request_size(&p->asked));
	*all = r->part_all;
	*ret = r->part;
}

/* One job after the other until all words are there. */
static int read_rows(struct symbol_reader *r, struct symbol_parser *p, struct symbol_file *f,
		     __u32 job, struct unwind_rows *ret)
{
	struct parser_request request = { .job = job };
	const struct parser_answer *answer;
	__u64 all = 0;
	int err;

	resume_rows(r, p, f, &request, &all, ret);
	r->part_of = NULL;
	do {
		err = do_job(r, p, f, &request, &answer);
		if (err == -EINPROGRESS && request.job == PARSER_ROWS_MORE) {
			r->part_of = f;
			r->part = *ret;
			r->part_all = all;
		}
		if (err)
			return err;
		if (request.job == job) {
			all = words_of(&answer->rows);
			free(r->words);
			r->words = all > ROW_WORDS_MAX ? NULL : calloc(all, sizeof(*r->words));
			if (!r->words)
				return -E2BIG;
			place_rows(r, &answer->rows, ret);
		} else if (words_of(&answer->rows) != all) {
			return -EPROTO;
		}
		memcpy(r->words + answer->rows.at, answer->rows.words,
		       answer->rows.word_cnt * sizeof(*r->words));
		request.job = PARSER_ROWS_MORE;
		request.at = answer->rows.at + answer->rows.word_cnt;
	} while (request.at < all);
	return 0;
}

static int ask_rows(struct symbol_reader *r, struct symbol_file *f, __u32 job,
		    struct unwind_rows *ret)
{
	__u64 begin_ns = clock_monotonic_ns();
	struct symbol_parser *p = NULL;
	int err = -EAGAIN;

	if (f->bad || f->fd < 0)
		return -ENOEXEC;
	if (reader_waits_refuse(&r->waits, f->owner, clock_monotonic_ns()))
		return -EAGAIN;
	for (int i = 0; i < 2 && err == -EAGAIN; i++) {
		p = parser_of(r, f->owner);
		if (p)
			err = read_rows(r, p, f, job, ret);
	}
	/* A late answer about memory, which may have changed by then, is never asked for again. */
	if (job == PARSER_ROWS_MADE && p && p->late == f)
		p->late = NULL;
	reader_waits_note(&r->waits, f->owner, clock_monotonic_ns() - begin_ns);
	return err == -EINPROGRESS ? -EAGAIN : err;
}

int symbol_reader__rows(struct symbol_reader *r, struct symbol_file *f, struct unwind_rows *ret)
{
	return ask_rows(r, f, PARSER_ROWS, ret);
}

int symbol_reader__made_rows(struct symbol_reader *r, int fd, uid_t owner, struct unwind_rows *ret)
{
	struct symbol_file f = { .fd = fd, .debug_fd = -1, .owner = owner };

	return ask_rows(r, &f, PARSER_ROWS_MADE, ret);
}

void symbol_reader__close(struct symbol_reader *r, struct symbol_file *f)
{
	if (f->parser)
		symbol_parser_forget(f->parser, f->number);
	for (int i = 0; i < SYMBOL_PARSERS; i++) {
		if (r->list[i].late == f)
			r->list[i].late = NULL;
	}
	if (f->fd >= 0)
		close(f->fd);
	if (f->debug_fd >= 0)
		close(f->debug_fd);
	f->fd = f->debug_fd = -1;
}
