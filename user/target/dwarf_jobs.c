/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/dwarf_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/debug_file.h"
#include "target/dwarf_offsets.h"
#include "target/elf_runtime.h"
#include "target/fetcher.h"
#include "target/open_file.h"
#include "target/parser.h"
#include "util/cleanup.h"

/* Real files take 0.1 to 2 s; the bound is for slow machines. */
#define SECONDS_MAX 60
#define RUNNING_MAX 2
/* Distinct builds without a table that run on one machine: two or three are many. */
#define JOB_CNT 16
#define DWARF_NONE "there is no debug information of it"

struct answer {
	int result;
	struct py_offsets offsets;
	char why[PARSER_WHY_MAX];
};

struct job {
	__u64 build;
	__u64 used; /* when, in requests; 0 empty */
	struct parser *parser; /* that reads the file, or NULL */
	struct fetch *fetch; /* of debug information from a server, or NULL */
	bool fetched; /* a server has been asked */
	int fd; /* of the file, while it may be needed; -1 none */
	__u32 version;
	__u8 build_id[ELF_BUILD_ID_MAX];
	__u32 build_id_len;
	struct answer answer; /* when neither runs */
};

struct dwarf_jobs {
	__u64 now; /* requests so far */
	unsigned running;
	struct parsers *parsers;
	struct job jobs[JOB_CNT];
};

struct dwarf_jobs *dwarf_jobs__new(void)
{
	struct dwarf_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return NULL;
	jobs->parsers = parsers__new();
	if (!jobs->parsers) {
		free(jobs);
		return NULL;
	}
	for (int i = 0; i < JOB_CNT; i++)
		jobs->jobs[i].fd = -1;
	return jobs;
}

void dwarf_jobs__prepare(struct dwarf_jobs *jobs)
{
	parsers__prepare(jobs->parsers);
}

static bool is_running(const struct job *j)
{
	return j->parser || j->fetch;
}

static void end(struct dwarf_jobs *jobs, struct job *j)
{
	jobs->running -= is_running(j);
	parser__end(j->parser);
	fetch__end(j->fetch);
	if (j->fd >= 0)
		close(j->fd);
	j->parser = NULL;
	j->fetch = NULL;
	j->fd = -1;
}

static void finish(struct dwarf_jobs *jobs, struct job *j, int result, const char *why)
{
	end(jobs, j);
	j->answer.result = result;
	snprintf(j->answer.why, sizeof(j->answer.why), "%s", why);
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* Hands the file to a parser of its own. 0 or -errno. */
static int parse(struct dwarf_jobs *jobs, struct job *j, int debug_fd)
{
	const struct parser_request request = { .job = PARSER_DWARF, .version = j->version };
	const int fds[] = { j->fd, debug_fd };
	struct parser *p = parser__start(jobs->parsers);
	int err;

	if (!p)
		return -EAGAIN;
	err = parser__ask(p, &request, fds, debug_fd < 0 ? 1 : 2);
	if (err) {
		parser__end(p);
		return -EAGAIN;
	}
	parser__set_limits(p, SECONDS_MAX * 1000, SECONDS_MAX * 1000);
	jobs->running += !is_running(j);
	j->parser = p;
	return 0;
}

/* A separate file here, or in the root of the process; -1 none. */
static int find_debug_file(const struct dwarf_request *r, uid_t owner)
{
	const char *const roots[] = { "/", r->root };

	for (unsigned i = 0; i < 2 && r->build_id_len; i++) {
		int fd = debug_file_open(roots[i], r->build_id, r->build_id_len, owner);

		if (fd >= 0)
			return fd;
	}
	return -1;
}

static int start(struct dwarf_jobs *jobs, struct job *j, const struct dwarf_request *r)
{
	cleanup_close int file = -1, debug_fd = -1;
	struct stat st;

	j->build = r->build;
	j->fetched = false;
	j->version = r->version;
	j->build_id_len = r->build_id_len < sizeof(j->build_id) ? r->build_id_len : 0;
	if (j->build_id_len)
		memcpy(j->build_id, r->build_id, j->build_id_len);
	file = open_file_at(AT_FDCWD, r->path, &st);
	j->fd = file < 0 ? -1 : open_file_read(file);
	if (j->fd < 0) {
		j->fd = -1;
		finish(jobs, j, -ENOENT, DWARF_NONE);
		return 0;
	}
	debug_fd = find_debug_file(r, st.st_uid);
	if (!parse(jobs, j, debug_fd))
		return 0;
	end(jobs, j);
	return -EAGAIN;
}

/* ---- answers ---------------------------------------------------------------------------------- */

/* There is none in the file: a server may have it. */
static void try_servers(struct dwarf_jobs *jobs, struct job *j)
{
	char why[PARSER_WHY_MAX];

	parser__end(j->parser);
	j->parser = NULL;
	j->fetch = fetch__start(j->build_id, j->build_id_len, why, sizeof(why));
	if (j->fetch)
		return;
	jobs->running--; /* neither runs any more */
	finish(jobs, j, -ENOENT, why);
}

static void take_answer(struct dwarf_jobs *jobs, struct job *j, const struct parser_answer *a)
{
	if (a->result == -ENOENT && !*a->dwarf.why && !j->fetched) {
		try_servers(jobs, j);
		return;
	}
	if (!a->result && !dwarf_offsets_are_sane(&a->dwarf.offsets, j->version)) {
		finish(jobs, j, -ENODATA, "its debug information could not be parsed");
		return;
	}
	if (!a->result)
		j->answer.offsets = a->dwarf.offsets;
	finish(jobs, j, a->result, *a->dwarf.why ? a->dwarf.why : DWARF_NONE);
}

static void look_at_parser(struct dwarf_jobs *jobs, struct job *j)
{
	const struct parser_answer *a;
	int r = parser__answer(j->parser, 0, &a);

	if (!r)
		take_answer(jobs, j, a);
	else if (r == -ETIMEDOUT)
		finish(jobs, j, r, "its debug information takes too long to read");
	else if (r != -EINPROGRESS)
		finish(jobs, j, -ENODATA, "its debug information could not be parsed");
}

static void look_at_fetch(struct dwarf_jobs *jobs, struct job *j)
{
	cleanup_close int fd = -1;
	char why[PARSER_WHY_MAX];
	int r = fetch__result(j->fetch, &fd, why, sizeof(why));

	if (r == -EINPROGRESS)
		return;
	if (r) {
		finish(jobs, j, r, why);
		return;
	}
	r = parse(jobs, j, fd);
	fetch__end(j->fetch);
	j->fetch = NULL;
	j->fetched = true;
	if (r) {
		jobs->running--;
		finish(jobs, j, -ENODATA, "its debug information could not be parsed");
	}
}

/* -EINPROGRESS, or 0 when it is over. */
static int collect(struct dwarf_jobs *jobs, struct job *j)
{
	if (j->fetch)
		look_at_fetch(jobs, j);
	if (j->parser)
		look_at_parser(jobs, j);
	return is_running(j) ? -EINPROGRESS : 0;
}

void dwarf_jobs__free(struct dwarf_jobs *jobs)
{
	if (!jobs)
		return;
	for (int i = 0; i < JOB_CNT; i++)
		end(jobs, &jobs->jobs[i]);
	parsers__free(jobs->parsers);
	free(jobs);
}

/* The job of that build, or the one to give up for it; NULL while all are running. */
static struct job *find(struct dwarf_jobs *jobs, __u64 build)
{
	struct job *victim = NULL;

	for (int i = 0; i < JOB_CNT; i++) {
		struct job *j = &jobs->jobs[i];

		if (j->used && j->build == build)
			return j;
		if (!is_running(j) && (!victim || j->used < victim->used))
			victim = j;
	}
	if (victim)
		victim->used = 0;
	return victim;
}

int dwarf_jobs__get(struct dwarf_jobs *jobs, const struct dwarf_request *request,
		    struct py_offsets *ret, char *why, size_t why_size)
{
	struct job *j = find(jobs, request->build);

	snprintf(why, why_size, "its debug information is still being read");
	if (!j)
		return -EINPROGRESS;
	if (!j->used) {
		if (jobs->running >= RUNNING_MAX || start(jobs, j, request))
			return -EINPROGRESS;
	}
	j->used = ++jobs->now;
	if (is_running(j) && collect(jobs, j))
		return -EINPROGRESS;
	snprintf(why, why_size, "%s", j->answer.why);
	if (!j->answer.result) {
		*ret = j->answer.offsets;
		ret->version = request->version;
	}
	return j->answer.result;
}

bool dwarf_jobs__is_running(struct dwarf_jobs *jobs, __u64 build)
{
	for (int i = 0; i < JOB_CNT; i++) {
		struct job *j = &jobs->jobs[i];

		if (j->used && j->build == build && is_running(j))
			return collect(jobs, j) == -EINPROGRESS;
	}
	return false;
}
