/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core_serve.c - the role "core": one core file, read by a process that can do nothing else.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/worker/channel.h"
#include "base/worker/sandbox.h"
#include "look/core/core_file.h"
#include "look/core/core_protocol.h"
#include "process/probe/thread_stacks.h"

/* ---- core threads ----------------------------------------------------------------------------- */

/* The threads of a core as a list, in the form that a prober makes for a process. */

static int compare_tids(const void *a, const void *b)
{
	const struct core_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void add(struct thread_stacks *s, const struct core_file *c, const struct core_thread *from)
{
	struct probe_thread *t = &s->threads[s->head.thread_cnt++];
	const struct thread_list_entry *state;

	*t = (struct probe_thread){
		.tid = from->tid,
		.ns_tid = from->tid,
		.state = from->syscall < 0 ? 'R' : 'S',
		.flags = PROBE_THREAD_HELD | PROBE_THREAD_SYSCALL,
		.syscall = (__s32)from->syscall,
		.stack_ptr = from->stack_ptr,
		.ip = from->ip,
	};
	memcpy(t->args, from->args, sizeof(t->args));
	memcpy(t->regs, from->regs, sizeof(t->regs));
	t->flags |= PROBE_THREAD_REGS | (from->syscall < 0 ? 0 : PROBE_THREAD_BEHIND_CALL);
	memcpy(t->comm, c->comm, sizeof(t->comm));
	/* The thread will not move again; if it is in no system call, it was on a CPU. */
	if (from->syscall < 0)
		t->flags |= PROBE_THREAD_RUNS | PROBE_THREAD_PAUSED;
	state = thread_stacks__state_of(s, t);
	if (!state)
		return;
	thread_stacks__walk(s, t, state);
	thread_stacks__keep(s, t);
}

/*
 * Without the interpreter's file the name of the code objects' type is unreadable. But frames
 * execute code objects: if all those have one type, its name is "code".
 */
static void name_code_type(struct core_file *c, const struct thread_stacks *s)
{
	const struct py_offsets *off = s->walk.offsets;
	__u64 type_addr = 0, name_addr = 0;
	char none;

	for (__u32 i = 0; i < s->head.frame_cnt; i++) {
		__u64 addr;

		if (!s->frames[i].code_addr)
			continue;
		if (memory_read(&c->memory, s->frames[i].code_addr + (__u64)off->object.ob_type,
				&addr, sizeof(addr)) ||
		    (type_addr && addr != type_addr))
			return;
		type_addr = addr;
	}
	if (!type_addr ||
	    memory_read(&c->memory, type_addr + (__u64)off->object.tp_name, &name_addr, 8) ||
	    !memory_read(&c->memory, name_addr, &none, 1))
		return;
	c->known = (struct core_known){ .addr = name_addr, .text = "code" };
}

/* Lists threads by tid, from ask->first_tid on. */
static void core_threads_fill(struct core_file *c, const struct probe_threads_ask *ask,
			      struct thread_stacks *s)
{
	pid_t last = 0;

	qsort(c->threads, c->thread_cnt, sizeof(*c->threads), compare_tids);
	thread_stacks__begin(s);
	for (__u32 i = 0; i < c->thread_cnt; i++) {
		if (c->threads[i].tid < ask->first_tid || c->threads[i].tid <= last)
			continue;
		if (thread_stacks__is_full(s)) {
			s->head.next_tid = c->threads[i].tid;
			break;
		}
		last = c->threads[i].tid;
		add(s, c, &c->threads[i]);
	}
	if (!c->known.addr)
		name_code_type(c, s);
}

/* ---- core serve ------------------------------------------------------------------------------- */

static const struct sandbox_limits limits = {
	.memory = 2ULL << 30,
	.cpu_seconds = 120,
	.fds = CORE_FILES_MAX + 64,
};

struct server {
	int channel;
	int core; /* -1: none */
	struct core_file file;
	struct core_answer answer;
};

static int open_core(struct server *s, int *fd)
{
	struct core_facts *facts = &s->answer.facts;
	int err;

	if (*fd < 0 || s->core >= 0)
		return -EINVAL;
	err = core_file_open(&s->file, *fd, s->answer.bytes, 256);
	if (err) {
		s->answer.len = 256;
		return err;
	}
	s->core = *fd;
	*fd = -1;
	*facts = (struct core_facts){ .pid = s->file.pid,
				      .signal = s->file.threads[0].signal,
				      .file_cnt = s->file.file_cnt,
				      .thread_cnt = s->file.thread_cnt };
	memcpy(facts->comm, s->file.comm, sizeof(facts->comm));
	s->answer.len = sizeof(*facts);
	return 0;
}

static int name(struct server *s, __u32 number)
{
	if (number >= s->file.file_cnt)
		return -EINVAL;
	snprintf(s->answer.bytes, sizeof(s->answer.bytes), "%s", s->file.files[number].name);
	s->answer.len = (__u32)strlen(s->answer.bytes) + 1;
	return 0;
}

static int find_python(struct server *s)
{
	struct core_python python;
	char why[256];
	int err = core_python_find(&s->file, &python, why, sizeof(why));

	s->answer.len = err ? sizeof(why) : sizeof(python);
	if (err)
		memcpy(s->answer.bytes, why, sizeof(why));
	else
		s->answer.python = python;
	return err;
}

static int read_memory(struct server *s, const struct core_request *r)
{
	int err = r->len > CORE_PART_MAX ?
			  -EINVAL :
			  memory_read(&s->file.memory, r->addr, s->answer.bytes, r->len);

	s->answer.len = err ? 0 : r->len;
	return err;
}

static int send_answer(struct server *s)
{
	return channel_send(s->channel, &s->answer,
			    offsetof(struct core_answer, bytes) + s->answer.len, NULL, 0);
}

/* Sends the list whenever a part is full. */
static int send_part(void *ctx, const void *data, size_t len)
{
	struct server *s = ctx;

	while (len) {
		size_t room = CORE_PART_MAX - s->answer.len, part = len < room ? len : room;

		memcpy(s->answer.bytes + s->answer.len, data, part);
		s->answer.len += (__u32)part;
		data = (const char *)data + part;
		len -= part;
		if (s->answer.len < CORE_PART_MAX)
			continue;
		s->answer.more = 1;
		if (send_answer(s))
			return -EPIPE;
		s->answer.len = s->answer.more = 0;
	}
	return 0;
}

static int list_threads(struct server *s, const struct core_request *r)
{
	struct thread_stacks *stacks = thread_stacks__new(&r->ask, &s->file.memory);
	int err = stacks ? 0 : -ENOMEM;

	if (!err) {
		core_threads_fill(&s->file, &r->ask, stacks);
		err = thread_stacks__write(stacks, send_part, s);
	}
	thread_stacks__free(stacks);
	return err;
}

static int list_code(struct server *s, __u32 from)
{
	__u32 cnt;

	s->answer.next = from;
	cnt = core_file_code(&s->file, &s->answer.next, s->answer.code, CORE_CODE_MAX);
	s->answer.len = cnt * (__u32)sizeof(*s->answer.code);
	return 0;
}

static int answer(struct server *s, const struct core_request *r, int *fd)
{
	if (r->op == CORE_OPEN)
		return open_core(s, fd);
	if (s->core < 0)
		return -EINVAL;
	switch (r->op) {
	case CORE_NAME:
		return name(s, r->number);
	case CORE_GIVE:
		return *fd < 0 ? -EINVAL : core_file_give(&s->file, r->number, *fd);
	case CORE_PYTHON:
		return find_python(s);
	case CORE_READ:
		return read_memory(s, r);
	case CORE_THREADS:
		return list_threads(s, r);
	case CORE_CODE:
		return list_code(s, r->number);
	default:
		return -EINVAL;
	}
}

int core_serve(int channel_fd)
{
	static struct server s;
	struct core_request r;

	s.channel = channel_fd;
	s.core = -1;
	if (sandbox_enter(sandbox_room(), &limits))
		return 1;
	for (;;) {
		int fd, err = channel_take(channel_fd, &r, sizeof(r), &fd, -1);

		if (err)
			return err == -EPIPE ? 0 : 1;
		s.answer.len = s.answer.more = 0;
		s.answer.result = answer(&s, &r, &fd);
		if (fd >= 0)
			close(fd);
		if (send_answer(&s))
			return 1;
	}
}
