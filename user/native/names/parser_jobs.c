/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/parser_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native/names/demangle.h"
#include "native/names/elf_symbols.h"
#include "native/names/probe_places.h"
#include "process/identify/dwarf_offsets.h"
#include "process/elf/elf_runtime.h"
#include "process/parser/parser_starter.h"
#include "native/rows/elf_rows.h"
#include "native/rows/made_rows.h"
#include "base/data/cleanup.h"
#include "base/worker/channel.h"

_Static_assert(PARSER_BUILD_ID_MAX == BUILD_ID_MAX, "two sizes of a build ID");

struct parser_jobs {
	struct elf_symbols *files[PARSER_FILES_MAX];
	int debug_fds[PARSER_FILES_MAX]; /* borrowed by the symbols; -1: none */
	struct row_table rows; /* of the file last asked about */
};

struct parser_jobs *parser_jobs__new(void)
{
	struct parser_jobs *jobs = calloc(1, sizeof(*jobs));

	for (int i = 0; jobs && i < PARSER_FILES_MAX; i++)
		jobs->debug_fds[i] = -1;
	return jobs;
}

static void close_file(struct parser_jobs *jobs, __u32 i)
{
	elf_symbols__free(jobs->files[i]);
	jobs->files[i] = NULL;
	if (jobs->debug_fds[i] >= 0)
		close(jobs->debug_fds[i]);
	jobs->debug_fds[i] = -1;
}

void parser_jobs__free(struct parser_jobs *jobs)
{
	for (__u32 i = 0; jobs && i < PARSER_FILES_MAX; i++)
		close_file(jobs, i);
	if (jobs)
		row_table_free(&jobs->rows);
	free(jobs);
}

/* ---- jobs ------------------------------------------------------------------------------------- */

static int open_file(struct parser_jobs *jobs, __u32 i, const int *fds, unsigned fd_cnt,
		     struct parser_opened *ret)
{
	int err;

	close_file(jobs, i);
	if (!fd_cnt)
		return -EBADF;
	if (fd_cnt > 1)
		/* the sandbox forbids dup() */
		jobs->debug_fds[i] = fcntl(fds[1], F_DUPFD_CLOEXEC, 0);
	err = elf_symbols__new(&jobs->files[i], fds[0], jobs->debug_fds[i]);
	if (err) {
		jobs->files[i] = NULL;
		close_file(jobs, i);
		return err;
	}
	*ret = (struct parser_opened){
		.has_symbols = elf_symbols__has_table(jobs->files[i]),
	};
	ret->build_id_size = elf_symbols__build_id(jobs->files[i], ret->build_id);
	return 0;
}

/* Stores the demangled, truncated name of a place; false: no room. */
static bool put_name(struct parser_found *found, struct parser_place *place, const char *name)
{
	bool is_wrapper;
	cleanup_free char *plain = demangle(name, &is_wrapper);
	size_t len = plain ? strlen(plain) : 0;

	place->name = PARSER_NO_NAME;
	if (!len)
		return true;
	place->is_wrapper = is_wrapper;
	if (len > PARSER_NAME_MAX) {
		for (len = PARSER_NAME_MAX; len && (plain[len] & 0xc0) == 0x80;)
			len--;
	}
	if (len + 1 > sizeof(found->names) - found->names_size)
		return false;
	place->name = found->names_size;
	memcpy(found->names + found->names_size, plain, len);
	found->names[found->names_size + len] = '\0';
	found->names_size += (__u32)len + 1;
	return true;
}

static bool find_place(struct elf_symbols *s, __u64 offset, struct parser_found *found)
{
	struct parser_place *ret = &found->places[found->cnt];
	struct elf_place place = { .start = 0, .end = ~0ULL };

	*ret = (struct parser_place){ .name = PARSER_NO_NAME };
	elf_symbols__place(s, offset, &place);
	ret->symbol_start = place.symbol_start;
	ret->is_python = place.is_python;
	if (place.name && !put_name(found, ret, place.name))
		return false;
	ret->start = place.start;
	ret->end = place.end;
	found->cnt++;
	return true;
}

static int find(struct parser_jobs *jobs, const struct parser_request *r,
		struct parser_found *found)
{
	struct elf_symbols *s = jobs->files[r->file];

	found->cnt = 0;
	found->names_size = 0;
	if (!s)
		return -EBADF;
	for (__u32 i = 0; i < r->cnt; i++) {
		if (!find_place(s, r->offsets[i], found))
			break;
	}
	return found->cnt ? 0 : -ENOBUFS;
}

/* ---- sources ----------------------------------------------------------------------------------- */

/* Stores a text once, and returns its offset in the answer; PARSER_NO_NAME: no room, or too long. */
static __u32 put_text(struct parser_sources *s, const char *text)
{
	size_t len = strnlen(text, PARSER_NAME_MAX + 1) + 1;
	__u32 at = 0;

	if (len == 1 || len > PARSER_NAME_MAX)
		return PARSER_NO_NAME;
	for (; at < s->names_size; at += (__u32)strlen(s->names + at) + 1) {
		if (!strcmp(s->names + at, text))
			return at;
	}
	if (len > sizeof(s->names) - s->names_size)
		return PARSER_NO_NAME;
	memcpy(s->names + at, text, len);
	s->names_size += (__u32)len;
	return at;
}

/* False: no room for one of its texts. */
static bool put_source(struct parser_sources *s, const struct source_frame *f,
		       struct parser_source_frame *ret)
{
	bool is_wrapper;
	cleanup_free char *name = f->name ? demangle(f->name, &is_wrapper) : NULL;

	*ret = (struct parser_source_frame){ PARSER_NO_NAME, PARSER_NO_NAME, f->line };
	if (name)
		ret->name = put_text(s, name);
	if (f->file)
		ret->file = put_text(s, f->file);
	return (!name || ret->name != PARSER_NO_NAME) && (!f->file || ret->file != PARSER_NO_NAME);
}

/* Stores the frames at one offset; false: no room, unless it is the first. */
static bool put_sources(struct elf_symbols *symbols, __u64 offset, struct parser_sources *s)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	__u32 begin = s->cnt ? s->ends[s->cnt - 1] : 0, names = s->names_size;
	bool is_split;
	unsigned cnt = elf_symbols__source(symbols, offset, frames, &is_split);

	if (cnt > PARSER_SOURCE_FRAMES - begin)
		return false;
	for (unsigned i = 0; i < cnt; i++) {
		if (!put_source(s, &frames[i], &s->frames[begin + i]) && s->cnt) {
			s->names_size = names;
			return false;
		}
	}
	s->ends[s->cnt++] = begin + cnt;
	s->split_cnt += is_split;
	return true;
}

static int sources(struct parser_jobs *jobs, const struct parser_request *r,
		   struct parser_sources *ret)
{
	struct elf_symbols *s = jobs->files[r->file];

	memset(ret, 0, offsetof(struct parser_sources, names));
	if (!s)
		return -EBADF;
	for (__u32 i = 0; i < r->cnt; i++) {
		if (!put_sources(s, r->offsets[i], ret))
			break;
	}
	return ret->cnt ? 0 : -ENOBUFS;
}

/* ---- others ------------------------------------------------------------------------------------ */

static int dwarf(const struct parser_request *r, const int *fds, unsigned fd_cnt,
		 struct parser_dwarf *ret)
{
	memset(ret, 0, sizeof(*ret));
	return fd_cnt ? dwarf_offsets_parse(fds[0], fd_cnt > 1 ? fds[1] : -1, r->version,
					    &ret->offsets, ret->why, sizeof(ret->why)) :
			-EBADF;
}

/* Copies a piece of the table, seen as one sequence of words, from number begin on. */
static void put_words(struct parser_rows *ret, const __u32 *words, __u64 cnt, __u64 begin)
{
	__u64 next = (__u64)ret->at + ret->word_cnt, left = PARSER_ROW_WORDS - ret->word_cnt;

	if (next < begin || next >= begin + cnt)
		return;
	words += next - begin;
	cnt -= next - begin;
	if (cnt > left)
		cnt = left;
	memcpy(&ret->words[ret->word_cnt], words, cnt * sizeof(*words));
	ret->word_cnt += (__u32)cnt;
}

static int rows_from(const struct row_table *t, __u32 at, struct parser_rows *ret)
{
	__u64 rule_words = t->rule_cnt * sizeof(struct unwind_rule) / sizeof(__u32);

	ret->first_page = (__u32)t->first_page;
	ret->page_cnt = t->page_cnt;
	ret->rule_cnt = t->rule_cnt;
	ret->row_cnt = t->row_cnt;
	ret->at = at;
	ret->word_cnt = 0;
	put_words(ret, (const __u32 *)t->rules, rule_words, 0);
	for (__u32 i = 0; i < t->page_cnt; i++) {
		__u32 cnt = t->pages[i + 1] - t->pages[i];

		put_words(ret, &cnt, 1, rule_words + i);
	}
	put_words(ret, t->rows, t->row_cnt, rule_words + t->page_cnt);
	return ret->word_cnt ? 0 : -ENODATA;
}

static int rows(struct parser_jobs *jobs, const struct parser_request *r, const int *fds,
		unsigned fd_cnt, struct parser_rows *ret)
{
	int err;

	if (r->job == PARSER_ROWS_MORE)
		return rows_from(&jobs->rows, r->at, ret);
	row_table_free(&jobs->rows);
	err = !fd_cnt			 ? -EBADF :
	      r->job == PARSER_ROWS_MADE ? made_rows(fds[0], &jobs->rows) :
					   elf_rows(fds[0], &jobs->rows);
	return err ? err : rows_from(&jobs->rows, 0, ret);
}

size_t parser_jobs__answer(struct parser_jobs *jobs, const void *message, size_t len,
			   const int *fds, unsigned fd_cnt, struct parser_answer *answer)
{
	struct parser_request r = { 0 };

	memcpy(&r, message, len < sizeof(r) ? len : sizeof(r));
	if (!parser_request_check(&r, len))
		return 0;
	answer->job = r.job;
	switch (r.job) {
	case PARSER_DWARF:
		answer->result = dwarf(&r, fds, fd_cnt, &answer->dwarf);
		break;
	case PARSER_RUNTIME:
		memset(&answer->runtime, 0, sizeof(answer->runtime));
		answer->result = fd_cnt ? elf_runtime_read(fds[0], &answer->runtime) : -EBADF;
		break;
	case PARSER_TABLE:
		answer->result = fd_cnt ? elf_table_read(fds[0], r.at, &answer->table) : -EBADF;
		break;
	case PARSER_OPEN:
		answer->result = open_file(jobs, r.file, fds, fd_cnt, &answer->opened);
		break;
	case PARSER_FIND:
		answer->result = find(jobs, &r, &answer->found);
		break;
	case PARSER_SOURCE:
		answer->result = sources(jobs, &r, &answer->sources);
		break;
	case PARSER_ROWS:
	case PARSER_ROWS_MADE:
	case PARSER_ROWS_MORE:
		answer->result = rows(jobs, &r, fds, fd_cnt, &answer->rows);
		break;
	case PARSER_PROBE:
		answer->result = fd_cnt ? probe_places(fds[0], r.at, r.name, &answer->probes) :
					  -EBADF;
		break;
	case PARSER_CLOSE:
		close_file(jobs, r.file);
		return 0;
	default:
		return 0;
	}
	return parser_answer_size(answer);
}

/* ---- the process ------------------------------------------------------------------------------ */

/* Runs in the sandbox. Ends on anything that is not a request: krait sends nothing else. */
static void serve(int channel_fd)
{
	struct parser_jobs *jobs = parser_jobs__new();
	struct parser_answer *answer = malloc(sizeof(*answer));
	struct parser_request request;

	while (jobs && answer) {
		int fds[2] = { -1, -1 };
		unsigned fd_cnt = 2;
		ssize_t n = channel_recv(channel_fd, &request, sizeof(request), fds, &fd_cnt, -1);
		size_t len;

		if (n <= 0)
			return;
		len = parser_jobs__answer(jobs, &request, (size_t)n, fds, fd_cnt, answer);
		for (unsigned i = 0; i < fd_cnt; i++)
			close(fds[i]);
		if ((!len && request.job != PARSER_CLOSE) ||
		    (len && channel_send(channel_fd, answer, len, NULL, 0)))
			return;
	}
}

int parser_serve(int channel_fd)
{
	/* Load what it needs from libraries while it can still open files. */
	demangle_prepare();
	return parser_starter_serve(channel_fd, serve);
}
