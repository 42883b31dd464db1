/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "follow/processes.h"
#include "profile/losses.h"
#include "replay.h"
#include "sampler/record.h"
#include "session/collector.h"
#include "session/parts.h"
#include "support_profile.h"
#include "target/proc.h"
#include "target/prober.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

struct replay {
	struct session session;
	struct session_config config;
	struct sampler_handler handler;
	struct input_entry *entries;
	size_t entry_cnt;
	struct replay_answer *answers;
	size_t answer_cnt;
	__u64 now_ns;
	char *folded;
	bool closed;
};

static struct replay *running; /* whose clock and /proc are asked */

/* ---- what comes from outside -------------------------------------------------------------------- */

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!running)
		return (int)syscall(SYS_clock_gettime, id, ts);
	ts->tv_sec = (time_t)(running->now_ns / NS_PER_S);
	ts->tv_nsec = (long)(running->now_ns % NS_PER_S);
	return 0;
}

__u64 replay_now_ns(void)
{
	return running->now_ns;
}

void replay_advance(__u64 now_ns)
{
	if (now_ns > running->now_ns)
		running->now_ns = now_ns;
}

static bool is_within(const struct probe_request *asked, const struct probe_request *read)
{
	return asked->read.addr >= read->read.addr && asked->read.len <= read->read.len &&
	       asked->read.addr - read->read.addr <= read->read.len - asked->read.len;
}

/* What the request says besides its op, and of which process. */
static bool same_request(const struct probe_request *a, const struct probe_request *b)
{
	if (a->op != b->op || a->pid != b->pid || a->start_ticks != b->start_ticks)
		return false;
	switch ((enum probe_op)a->op) {
	case PROBE_READ:
		return is_within(a, b);
	case PROBE_FILE:
		return a->file.start == b->file.start && a->file.inode == b->file.inode;
	case PROBE_DEBUG:
		return a->debug.size == b->debug.size &&
		       !memcmp(a->debug.build_id, b->debug.build_id, sizeof(a->debug.build_id));
	default:
		return true;
	}
}

/* An answer that is not as long as was asked for: the part of it. */
static void cut_memory(const struct probe_request *asked, struct replay_answer *a)
{
	if (asked->op != PROBE_READ || a->head.result || !a->head.answered)
		return;
	a->data = a->all + (asked->read.addr - a->request->read.addr);
	a->len = asked->read.len;
}

/* Memory as it was then: what was read last by now, or what is read next. */
static struct replay_answer *find_memory(const struct probe_request *request)
{
	struct replay_answer *found = NULL;

	for (size_t i = 0; i < running->answer_cnt; i++) {
		struct replay_answer *a = &running->answers[i];
		bool exact = a->request->read.addr == request->read.addr &&
			     a->request->read.len == request->read.len;

		if (!same_request(request, a->request))
			continue;
		if (exact && !a->used)
			return a;
		if (!found || a->time_ns <= running->now_ns)
			found = a;
	}
	return found;
}

struct replay_answer *replay_find_answer(const struct probe_request *request)
{
	struct replay_answer *found = NULL;

	if (request->op == PROBE_READ) {
		found = find_memory(request);
		if (found)
			cut_memory(request, found);
		return found;
	}
	for (size_t i = 0; i < running->answer_cnt && !found; i++) {
		struct replay_answer *a = &running->answers[i];

		if (!a->used && same_request(request, a->request))
			found = a;
	}
	return found;
}

bool replay_find_fact(enum input_question_op op, pid_t pid, struct input_fact *ret)
{
	bool found = false;

	/* The last one that was known by now. */
	for (size_t i = 0; i < running->entry_cnt; i++) {
		const struct input_entry *e = &running->entries[i];
		const struct input_question *q = e->key;

		if (e->kind != INPUT_FACT || q->op != op || q->pid != pid ||
		    (found && e->time_ns > running->now_ns))
			continue;
		memcpy(ret, e->value, sizeof(*ret));
		found = true;
	}
	return found;
}

int __wrap_process_start_ticks(pid_t pid, __u64 *ret);
int __wrap_process_start_ticks(pid_t pid, __u64 *ret)
{
	struct input_fact fact;

	if (!replay_find_fact(QUESTION_START, pid, &fact))
		return -ESRCH;
	*ret = fact.value;
	return fact.result;
}

uid_t __wrap_proc_owner(pid_t pid);
uid_t __wrap_proc_owner(pid_t pid)
{
	struct input_fact fact;

	return replay_find_fact(QUESTION_OWNER, pid, &fact) ? (uid_t)fact.value : 0;
}

/* ---- the session --------------------------------------------------------------------------------- */

static void load(struct replay *r, const void *log, size_t size)
{
	struct input_reader reader;
	struct input_entry e;
	int result;

	assert_int_equal(input_reader_begin(&reader, log, size), 0);
	while ((result = input_reader_next(&reader, &e)) > 0) {
		r->entries = reallocarray(r->entries, r->entry_cnt + 1, sizeof(e));
		r->entries[r->entry_cnt++] = e;
		if (e.kind != INPUT_ANSWER)
			continue;
		r->answers = reallocarray(r->answers, r->answer_cnt + 1, sizeof(*r->answers));
		r->answers[r->answer_cnt++] = (struct replay_answer){
			.request = e.key,
			.head = *(const struct input_answer *)e.value,
			.all = (const char *)e.value + sizeof(struct input_answer),
			.data = (const char *)e.value + sizeof(struct input_answer),
			.len = e.value_size - sizeof(struct input_answer),
			.time_ns = e.time_ns,
		};
		assert_true(((const struct probe_request *)e.key)->op != PROBE_READ ||
			    r->answers[r->answer_cnt - 1].head.result ||
			    r->answers[r->answer_cnt - 1].len ==
				    ((const struct probe_request *)e.key)->read.len);
	}
	assert_int_equal(result, 0);
	assert_true(r->entry_cnt > 0);
}

struct replay *replay_new(const void *log, size_t size, bool all)
{
	static const struct event_spec clock = { .name = "cpu-clock" };
	struct replay *r = calloc(1, sizeof(*r));
	struct session *s = &r->session;
	struct processes_config processes = {
		.all = all,
		.tables = true,
		.filter = &r->config.filter,
	};

	running = NULL; /* that of a test that failed */
	load(r, log, size);
	r->now_ns = r->entries[0].time_ns;
	running = r;
	r->config.all = all;
	r->config.collector.events = &clock;
	r->config.collector.event_cnt = 1;
	s->config = &r->config;
	r->handler = session_handler(s);
	s->prober = processes.prober = prober__new(1);
	s->sampler = sampler__new(&r->config.sampler, &r->handler, NULL);
	s->collector = collector__new(&r->config.collector, NULL);
	s->processes = processes__new(&processes);
	session_connect(s);
	return r;
}

void replay_free(struct replay *r)
{
	processes__free(r->session.processes);
	prober__free(r->session.prober);
	assert_int_equal(sampler_tracked_cnt(r->session.sampler), 0);
	sampler__free(r->session.sampler);
	collector__free(r->session.collector);
	running = NULL;
	free(r->entries);
	free(r->answers);
	free(r->folded);
	free(r);
}

const struct published *replay_published(struct replay *r, pid_t pid)
{
	const struct process *p = processes__find(r->session.processes, pid);

	return p ? &p->tables.found : NULL;
}

int replay_follow(struct replay *r, pid_t pid)
{
	const char *why;

	return processes__follow(r->session.processes, pid, &why);
}

/* What a session does while nothing comes, until then. */
static void idle_until(struct replay *r, __u64 end_ns)
{
	for (;;) {
		__u64 next_ns = processes__retry(r->session.processes, r->now_ns);

		if (r->now_ns >= end_ns)
			return;
		if (next_ns && next_ns <= r->now_ns)
			next_ns = r->now_ns + NS_PER_MS;
		replay_advance(next_ns && next_ns < end_ns ? next_ns : end_ns);
	}
}

void replay_run(struct replay *r)
{
	for (size_t i = 0; i < r->entry_cnt; i++) {
		const struct input_entry *e = &r->entries[i];

		if (e->kind == INPUT_RECORD || e->kind == INPUT_END)
			idle_until(r, e->time_ns);
		if (e->kind == INPUT_RECORD)
			record_dispatch(&r->handler, e->value, e->value_size);
	}
	processes__close_books(r->session.processes);
}

struct profile *replay_profile(struct replay *r)
{
	return collector__profile(r->session.collector);
}

const char *replay_folded(struct replay *r)
{
	const struct emit_options options = { .threads = false };

	free(r->folded);
	r->folded = emit_text("folded", replay_profile(r), &options);
	return r->folded;
}

__u64 replay_reason(struct replay *r, unsigned reason)
{
	return profile__counts(replay_profile(r), 0)->accounts.reasons[reason];
}

__u64 replay_lost(struct replay *r, pid_t pid, unsigned reason)
{
	const struct losses *losses = collector__losses(r->session.collector);
	__u64 sum = 0;

	for (__u32 i = 0; i < losses->cnt; i++)
		if (losses->list[i].pid == pid)
			sum += losses->list[i].reasons[reason];
	return sum;
}

unsigned replay_tracked_cnt(const struct replay *r)
{
	return sampler_tracked_cnt(r->session.sampler);
}
