/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/parser/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process/parser/parser_starter.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/worker/channel.h"
#include "base/worker/worker.h"

/* How often to check how much time a job has used. */
#define LOOK_MS 20
/* A starter that does not answer for this long is ended; all it does is fork. */
#define STARTER_MS 10000
#define STARTER_LOOK_MS 4

struct parsers {
	struct worker *starter; /* NULL until needed */
	void (*on_wait)(void *ctx); /* may be NULL */
	void *wait_ctx;
	parse_tap_fn tap; /* may be NULL */
	void *tap_ctx;
};

/* What a tap learns about a file. */
struct tapped_file {
	struct file_id id;
	bool has_debug;
};

struct parser {
	struct parsers *parsers; /* borrowed */
	struct tapped_file asked, opened[PARSER_FILES_MAX]; /* only with a tap */
	pid_t pid;
	int fd;
	struct parser_request request;
	struct parser_answer answer;
	__u64 begin_ns, begin_cpu_ns; /* start of the job */
	__u64 wall_ns, cpu_ns; /* limits of the job */
	__u64 idle_ns; /* time it was seen waiting for something */
};

struct parsers *parsers__new(void)
{
	return calloc(1, sizeof(struct parsers));
}

void parsers__prepare(struct parsers *p)
{
	struct error err;

	if (p->starter)
		return;
	p->starter = worker__start("parser", &err);
	if (!p->starter)
		log_debug("parser", "%s", err.text);
}

void parsers__on_wait(struct parsers *p, void (*fn)(void *ctx), void *ctx)
{
	p->on_wait = fn;
	p->wait_ctx = ctx;
}

void parsers__tap(struct parsers *p, parse_tap_fn fn, void *ctx)
{
	p->tap = fn;
	p->tap_ctx = ctx;
}

static void end_starter(struct parsers *p)
{
	worker__abandon(p->starter);
	p->starter = NULL;
}

void parsers__free(struct parsers *p)
{
	if (!p)
		return;
	end_starter(p);
	free(p);
}

/* Our end is non-blocking, the parser's is not. */
static int make_channel(int *ret_ours, int *ret_theirs)
{
	int fds[2], size = 4 * CHANNEL_MAX;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	*ret_ours = fds[0];
	*ret_theirs = fds[1];
	for (int i = 0; i < 2; i++)
		setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return fcntl(fds[0], F_SETFL, O_NONBLOCK) ? -errno : 0;
}

static int await_starter(struct parsers *p, struct starter_answer *ret)
{
	__u64 end_ns = clock_monotonic_ns() + STARTER_MS * NS_PER_MS;
	int err;

	while ((err = channel_take(worker__fd(p->starter), ret, sizeof(*ret), NULL,
				   STARTER_LOOK_MS)) == -ETIMEDOUT &&
	       clock_monotonic_ns() < end_ns)
		if (p->on_wait)
			p->on_wait(p->wait_ctx);
	return err;
}

/* Returns 0 and the process that has the other end. */
static int ask_starter(struct parsers *p, int theirs, unsigned urgent_usec, pid_t *ret)
{
	const struct starter_request request = { .job = STARTER_START, .urgent_usec = urgent_usec };
	struct starter_answer answer;
	int err;

	parsers__prepare(p);
	if (!p->starter)
		return -ECHILD;
	err = channel_send(worker__fd(p->starter), &request, sizeof(request), &theirs, 1);
	if (!err)
		err = await_starter(p, &answer);
	if (err)
		return err;
	*ret = answer.pid;
	return answer.pid > 0 ? 0 : -EAGAIN;
}

static struct parser *start(struct parsers *parsers, unsigned urgent_usec)
{
	cleanup_close int ours = -1, theirs = -1;
	cleanup_free struct parser *p = calloc(1, sizeof(*p));
	int err = p ? make_channel(&ours, &theirs) : -ENOMEM;

	if (!err)
		err = ask_starter(parsers, theirs, urgent_usec, &p->pid);
	/* Retry once: somebody may have killed it. */
	if (err && err != -ENOMEM && err != -EAGAIN) {
		end_starter(parsers);
		err = ask_starter(parsers, theirs, urgent_usec, &p->pid);
	}
	if (err) {
		errno = -err;
		return NULL;
	}
	p->parsers = parsers;
	p->fd = take_fd(&ours);
	return take_ptr(&p);
}

struct parser *parser__start(struct parsers *parsers)
{
	return start(parsers, 0);
}

struct parser *parser__start_urgent(struct parsers *parsers, unsigned usec)
{
	return start(parsers, usec);
}

void parser__end(struct parser *p)
{
	struct starter_request request = { .job = STARTER_END };

	if (!p)
		return;
	request.pid = p->pid;
	/* A starter that does not listen is ended, with everything it has started. */
	if (p->parsers->starter &&
	    channel_send(worker__fd(p->parsers->starter), &request, sizeof(request), NULL, 0))
		end_starter(p->parsers);
	close(p->fd);
	free(p);
}

bool parser__is_urgent(const struct parser *p)
{
	return sched_getscheduler(p->pid) == SCHED_RR;
}

pid_t parser__pid(const struct parser *p)
{
	return p->pid;
}

__u64 parser__cpu_ns(const struct parser *p)
{
	return clock_process_ns(p->pid);
}

__u64 parser__idle_ns(const struct parser *p)
{
	return p->idle_ns;
}

void parser__set_limits(struct parser *p, unsigned cpu_ms, unsigned wall_ms)
{
	p->cpu_ns = cpu_ms * NS_PER_MS;
	p->wall_ns = wall_ms * NS_PER_MS;
}

/* Notes the file that the request is about. */
static void note_file(struct parser *p, const int *fds, unsigned fd_cnt)
{
	struct stat st;

	if (p->request.job == PARSER_FIND) {
		p->asked = p->opened[p->request.file];
		return;
	}
	if (fd_cnt && !fstat(fds[0], &st))
		p->asked = (struct tapped_file){ file_id_of(&st), fd_cnt > 1 };
	if (p->request.job == PARSER_OPEN)
		p->opened[p->request.file] = p->asked;
}

int parser__ask(struct parser *p, const struct parser_request *request, const int *fds,
		unsigned fd_cnt)
{
	p->request = *request;
	if (p->parsers->tap)
		note_file(p, fds, fd_cnt);
	p->begin_ns = clock_monotonic_ns();
	p->idle_ns = 0;
	p->begin_cpu_ns = 0; /* sampled only if the job takes longer than usual */
	parser__set_limits(p, PARSER_CPU_MS, PARSER_WALL_MS);
	return channel_send(p->fd, request, parser_request_size(request), fds, fd_cnt);
}

bool parser__is_waiting(const struct parser *p)
{
	char path[32], stat[128];
	const char *end;
	cleanup_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	if (n <= 0)
		return true;
	stat[n] = '\0';
	end = strrchr(stat, ')');
	return !end || strncmp(end, ") R", 3) != 0;
}

/* A parser that waits for a processor gets more time than one that computes or hangs. */
static bool is_late(struct parser *p, __u64 waited_ns)
{
	__u64 cpu_ns = parser__cpu_ns(p);

	if (!p->begin_cpu_ns)
		p->begin_cpu_ns = cpu_ns ? cpu_ns : 1;
	if (waited_ns && parser__is_waiting(p))
		p->idle_ns += waited_ns;
	return p->idle_ns > PARSER_IDLE_MS * NS_PER_MS ||
	       clock_monotonic_ns() - p->begin_ns > p->wall_ns ||
	       (cpu_ns > p->begin_cpu_ns && cpu_ns - p->begin_cpu_ns > p->cpu_ns);
}

static int await_answer(struct parser *p, unsigned wait_ms)
{
	__u64 now_ns = clock_monotonic_ns(), end_ns = now_ns + wait_ms * NS_PER_MS;
	ssize_t n;

	for (;;) {
		__u64 before_ns = now_ns;

		n = channel_recv(p->fd, &p->answer, sizeof(p->answer), NULL, NULL,
				 wait_ms < LOOK_MS ? (int)wait_ms : LOOK_MS);
		if (n != -ETIMEDOUT)
			break;
		now_ns = clock_monotonic_ns();
		if (is_late(p, now_ns - before_ns))
			return -ETIMEDOUT;
		if (now_ns >= end_ns)
			return -EINPROGRESS;
	}
	if (n < 0)
		return n == -EPIPE ? -EPIPE : -EPROTO;
	return parser_answer_check(&p->answer, (size_t)n, &p->request) ? 0 : -EPROTO;
}

int parser__answer(struct parser *p, unsigned wait_ms, const struct parser_answer **ret)
{
	int err = await_answer(p, wait_ms);
	const struct parse_tapped tapped = {
		.request = &p->request,
		.file = p->asked.id,
		.has_debug = p->asked.has_debug,
		.result = err,
		.took_ns = clock_monotonic_ns() - p->begin_ns,
		.answer = err ? NULL : &p->answer,
	};

	if (p->parsers->tap && err != -EINPROGRESS)
		p->parsers->tap(p->parsers->tap_ctx, &tapped);
	if (!err)
		*ret = &p->answer;
	return err;
}
