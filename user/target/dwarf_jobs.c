/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/dwarf_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/dwarf_offsets.h"
#include "util/clock.h"

/* Real files take 0.1 to 2 s and up to 300 MiB; a server may have to be asked first. */
#define SECONDS_MAX 60
#define MEMORY_MAX (4ULL << 30)
#define RUNNING_MAX 2
/* Distinct builds without a table that run on one machine: two or three are many. */
#define JOB_CNT 16

struct answer {
	int result;
	struct py_offsets offsets;
	char why[96];
};

struct job {
	__u64 build;
	__u64 used; /* when, in requests; 0 empty */
	pid_t pid; /* 0: it has answered */
	int fd; /* of the answer, while it runs */
	size_t len; /* bytes of the answer so far */
	__u64 end_ns; /* when it has taken too long */
	struct answer answer;
};

struct dwarf_jobs {
	__u64 now; /* requests so far */
	unsigned running;
	struct job jobs[JOB_CNT];
};

struct dwarf_jobs *dwarf_jobs__new(void)
{
	return calloc(1, sizeof(struct dwarf_jobs));
}

/* ---- the child ------------------------------------------------------------------------------- */

static void limit(void)
{
	const struct rlimit seconds = { SECONDS_MAX, SECONDS_MAX }, none = { 0, 0 };
	const struct rlimit bytes = { MEMORY_MAX, MEMORY_MAX };

	setrlimit(RLIMIT_CPU, &seconds);
	setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__ /* its shadow takes 20 TiB of addresses */
	setrlimit(RLIMIT_AS, &bytes);
#else
	(void)bytes;
#endif
}

/* krait reads its signals from a descriptor; here they end the process. */
static void die_by_signals(pid_t parent)
{
	sigset_t none;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static void read_and_answer(const struct dwarf_request *request, int fd)
{
	struct answer a = { .result = -ENODATA };

	limit();
	a.result = dwarf_offsets_parse(request->path, request->root, request->version, &a.offsets,
				       a.why, sizeof(a.why));
	_exit(write(fd, &a, sizeof(a)) != sizeof(a));
}

/* ---- the parent ------------------------------------------------------------------------------ */

static int start(struct dwarf_jobs *jobs, struct job *j, const struct dwarf_request *request)
{
	pid_t parent = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	j->pid = fork();
	if (j->pid == 0) {
		die_by_signals(parent);
		read_and_answer(request, fds[1]);
	}
	close(fds[1]);
	if (j->pid < 0) {
		j->pid = 0;
		close(fds[0]);
		return -EAGAIN;
	}
	j->build = request->build;
	j->fd = fds[0];
	j->len = 0;
	j->end_ns = clock_monotonic_ns() + SECONDS_MAX * NS_PER_SEC;
	jobs->running++;
	return 0;
}

static void end(struct dwarf_jobs *jobs, struct job *j)
{
	kill(j->pid, SIGKILL);
	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(j->fd);
	j->pid = 0;
	jobs->running--;
}

static void fail(struct job *j, int result)
{
	j->answer.result = result;
	snprintf(j->answer.why, sizeof(j->answer.why), "its debug information %s",
		 result == -ETIMEDOUT ? "takes too long to read" : "could not be parsed");
}

/* Takes what the child has written. -EINPROGRESS, or 0 when it is over. */
static int collect(struct dwarf_jobs *jobs, struct job *j)
{
	ssize_t n;

	do {
		n = read(j->fd, (char *)&j->answer + j->len, sizeof(j->answer) - j->len);
		j->len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && j->len < sizeof(j->answer));
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (clock_monotonic_ns() < j->end_ns)
			return -EINPROGRESS;
		fail(j, -ETIMEDOUT);
	} else if (j->len < sizeof(j->answer)) {
		fail(j, -ENODATA);
	}
	j->answer.why[sizeof(j->answer.why) - 1] = '\0';
	end(jobs, j);
	return 0;
}

void dwarf_jobs__free(struct dwarf_jobs *jobs)
{
	if (!jobs)
		return;
	for (int i = 0; i < JOB_CNT; i++)
		if (jobs->jobs[i].pid)
			end(jobs, &jobs->jobs[i]);
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
		if (!j->pid && (!victim || j->used < victim->used))
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
	if (j->pid && collect(jobs, j))
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

		if (j->used && j->build == build && j->pid)
			return collect(jobs, j) == -EINPROGRESS;
	}
	return false;
}
