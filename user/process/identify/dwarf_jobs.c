/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/identify/dwarf_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/elf/debug_file.h"
#include "process/identify/dwarf_offsets.h"
#include "process/elf/elf_runtime.h"
#include "process/parser/fetcher.h"
#include "process/proc/open_file.h"
#include "process/parser/parser.h"
#include "base/data/cleanup.h"
#include "base/share/quota.h"

/* Real files take 0.1 to 2 s; the bound is for slow machines. */
#define SECONDS_MAX 60
#define RUNNING_MAX 2
/* Jobs reserved for root. */
#define ROOT_RESERVE 1
/* Distinct files without a table in use on one machine: even two or three are many. */
#define JOB_CNT 16
#define DWARF_NONE "there is no debug information for it"

struct answer {
	int result;
	struct py_offsets offsets;
	char why[PARSER_WHY_MAX];
};

struct job {
	struct file_id file;
	unsigned owner; /* who pays for it: bpf/share.h */
	__u64 used; /* time of last use, in requests; 0: empty */
	struct parser *parser; /* that reads the file, or NULL */
	struct fetch *fetch; /* download of debug information from a server, or NULL */
	bool fetched; /* a server has been asked */
	int fd; /* of the file, -1: none. While it is open, nothing else gets the file's numbers */
	__u32 version;
	__u8 build_id[ELF_BUILD_ID_MAX];
	__u32 build_id_len;
	struct answer answer; /* valid when neither runs */
};

struct dwarf_jobs {
	__u64 now; /* number of requests so far */
	struct quota *running; /* running jobs, by owner */
	struct owner_table owners;
	struct parsers *parsers; /* borrowed */
	struct job jobs[JOB_CNT];
};

struct dwarf_jobs *dwarf_jobs__new(struct parsers *parsers)
{
	struct dwarf_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return NULL;
	for (int i = 0; i < JOB_CNT; i++)
		jobs->jobs[i].fd = -1;
	jobs->parsers = parsers;
	owner_table_init(&jobs->owners);
	jobs->running = quota__new(RUNNING_MAX + ROOT_RESERVE, ROOT_RESERVE);
	if (!jobs->running) {
		dwarf_jobs__free(jobs);
		return NULL;
	}
	return jobs;
}

static bool is_running(const struct job *j)
{
	return j->parser || j->fetch;
}

/* Stops it. */
static void stop(struct dwarf_jobs *jobs, struct job *j)
{
	if (is_running(j))
		quota__give(jobs->running, j->owner, 1);
	parser__end(j->parser);
	fetch__end(j->fetch);
	j->parser = NULL;
	j->fetch = NULL;
}

static void forget(struct dwarf_jobs *jobs, struct job *j)
{
	stop(jobs, j);
	cleanup_close_(&j->fd);
	j->fd = -1;
	j->used = 0;
}

static void finish(struct dwarf_jobs *jobs, struct job *j, int result, const char *why)
{
	stop(jobs, j);
	j->answer.result = result;
	snprintf(j->answer.why, sizeof(j->answer.why), "%s", why);
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* Hands the file to its own parser; the job is already paid for. Returns 0 or -errno. */
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
	j->parser = p;
	return 0;
}

/* Opens a separate file, from our root or the process's; -1: none. */
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

	j->file = r->file;
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
	if (quota__take(jobs->running, j->owner, 1))
		return -EAGAIN;
	debug_fd = find_debug_file(r, st.st_uid);
	if (!parse(jobs, j, debug_fd))
		return 0;
	quota__give(jobs->running, j->owner, 1);
	return -EAGAIN;
}

/* ---- answers ---------------------------------------------------------------------------------- */

/* The file itself has none: a server may have it. */
static void try_servers(struct dwarf_jobs *jobs, struct job *j)
{
	char why[PARSER_WHY_MAX];

	parser__end(j->parser);
	j->parser = NULL;
	j->fetch = fetch__start(j->build_id, j->build_id_len, why, sizeof(why));
	if (j->fetch)
		return;
	quota__give(jobs->running, j->owner, 1); /* neither runs any more */
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
		quota__give(jobs->running, j->owner, 1);
		finish(jobs, j, -ENODATA, "its debug information could not be parsed");
	}
}

/* Returns -EINPROGRESS, or 0 when it is over. */
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
		forget(jobs, &jobs->jobs[i]);
	quota__free(jobs->running);
	free(jobs);
}

static struct job *find(struct dwarf_jobs *jobs, const struct file_id *file)
{
	for (int i = 0; i < JOB_CNT; i++)
		if (jobs->jobs[i].used && file_id_same(&jobs->jobs[i].file, file))
			return &jobs->jobs[i];
	return NULL;
}

static unsigned held_by(const struct dwarf_jobs *jobs, unsigned owner)
{
	unsigned cnt = 0;

	for (int i = 0; i < JOB_CNT; i++)
		cnt += jobs->jobs[i].used && jobs->jobs[i].owner == owner;
	return cnt;
}

/*
 * A free place, or the least recently requested one of the owner with most answers. There are more
 * places than running jobs.
 */
static struct job *take_place(struct dwarf_jobs *jobs)
{
	struct job *victim = NULL;
	unsigned most = 0;

	for (int i = 0; i < JOB_CNT; i++) {
		struct job *j = &jobs->jobs[i];
		unsigned held = j->used ? held_by(jobs, j->owner) : 0;

		if (!j->used)
			return j;
		if (is_running(j) || held < most || (held == most && j->used > victim->used))
			continue;
		victim = j;
		most = held;
	}
	forget(jobs, victim);
	return victim;
}

/* No answer is dropped for a job that cannot begin. */
static bool may_run(struct dwarf_jobs *jobs, unsigned owner)
{
	if (quota__take(jobs->running, owner, 1))
		return false;
	quota__give(jobs->running, owner, 1);
	return true;
}

int dwarf_jobs__get(struct dwarf_jobs *jobs, const struct dwarf_request *request,
		    struct py_offsets *ret, char *why, size_t why_size)
{
	struct job *j = find(jobs, &request->file);
	unsigned owner = owner_of(&jobs->owners, request->uid);

	snprintf(why, why_size, "its debug information is still being read");
	if (!j) {
		if (!may_run(jobs, owner))
			return -EINPROGRESS;
		j = take_place(jobs);
		j->owner = owner;
		if (start(jobs, j, request)) {
			forget(jobs, j);
			return -EINPROGRESS;
		}
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

void dwarf_jobs__let_go(struct dwarf_jobs *jobs)
{
	for (int i = 0; i < JOB_CNT; i++)
		if (!is_running(&jobs->jobs[i]))
			forget(jobs, &jobs->jobs[i]);
}

bool dwarf_jobs__is_running(struct dwarf_jobs *jobs, const struct file_id *file)
{
	struct job *j = find(jobs, file);

	return j && is_running(j) && collect(jobs, j) == -EINPROGRESS;
}
