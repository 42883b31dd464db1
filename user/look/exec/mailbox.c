/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/exec/mailbox.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "process/memory/frozen.h"
#include "process/proc/mapping_at.h"
#include "process/proc/proc.h"
#include "python/layout/py_offsets.h"
#include "process/memory/remote.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "python/walk/stack_walk.h"
#include "python/walk/thread_list.h"

/* Longest time that a process may stand still. */
#define LIMIT_NS (2 * NS_PER_SEC)

static int read_mem(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct mailbox *m = ctx;

	return remote_read_fd(m->mem, addr, buf, len);
}

/* ---- before it is stopped ----------------------------------------------------------------------- */

static int check_same(const struct mailbox *m, struct refusal *why)
{
	struct proc_ids ids;
	struct proc_stat stat, thread;

	/* The folder may be that of a thread that is not the first (proc_open()). */
	if (proc_stat_at(m->dir, &thread) || proc_stat_read(m->request->pid, &stat) ||
	    stat.start_ticks != m->request->start_ticks)
		return refuse(why, ESRCH, "it has exited");
	if (proc_ids_at(m->dir, &ids) || ids.digest != m->request->creds_digest)
		return refuse(why, EPERM, "it has changed its user meanwhile");
	return 0;
}

static int check_table(struct mailbox *m, struct refusal *why)
{
	__u8 table[PY_TABLE_MAX];
	__u64 finalizing = 0;

	if (memory_read(&m->memory, m->request->runtime_addr, table, sizeof(table)))
		return refuse(why, ESRCH, "its memory cannot be read any more");
	if (py_debug_table_version(table, sizeof(table)) != m->request->offsets.version)
		return refuse(why, ENODATA, "the runtime in its memory is not the one in its file");
	if (memory_read(&m->memory,
			m->request->runtime_addr + (__u64)m->request->offsets.runtime.finalizing,
			&finalizing, sizeof(finalizing)))
		return refuse(why, ESRCH, "its memory cannot be read any more");
	if (finalizing)
		return refuse(why, ESRCH, "its interpreter is about to end");
	return debugger_support_parse(table, sizeof(table), &m->support, why->why,
				      sizeof(why->why));
}

int mailbox_open(struct mailbox *m, const struct inject_request *request, int dir, int mem,
		 struct refusal *why)
{
	int err;

	*m = (struct mailbox){
		.request = request, .dir = dir, .mem = mem, .memory = { .read = read_mem, .ctx = m }
	};
	err = check_same(m, why);
	return err ? err : check_table(m, why);
}

/* ---- the thread --------------------------------------------------------------------------------- */

/* Returns a thread's number in its own pid namespace; 0: none. */
static pid_t ns_tid_of(const struct mailbox *m, pid_t tid)
{
	char path[64], status[4096];

	snprintf(path, sizeof(path), "task/%d/status", (int)tid);
	return proc_read(m->dir, path, status, sizeof(status)) > 0 ? proc_ns_pid(status) : 0;
}

static bool has_ended(const struct mailbox *m, pid_t tid)
{
	char path[64], text[1024];
	struct proc_stat stat;
	ssize_t len;

	snprintf(path, sizeof(path), "task/%d/stat", (int)tid);
	len = proc_read(m->dir, path, text, sizeof(text));
	return len <= 0 || proc_stat_parse(text, (size_t)len, &stat) || proc_has_ended(&stat);
}

struct states {
	struct thread_list_entry list[KRAIT_MAX_THREADS];
	__u32 cnt;
	struct stack_walk_result walked;
};

static bool is_meant(const struct mailbox *m, const struct thread_list_entry *e, pid_t ns_tid)
{
	return e->native_id == (__u64)ns_tid && (m->request->tid || !e->interp_id);
}

/* An embedding program may start Python in a thread other than its first. */
static const struct thread_list_entry *find_main(const struct mailbox *m, const struct states *s)
{
	for (__u32 i = 0; i < s->cnt; i++) {
		__u64 main_addr = 0;

		if (s->list[i].interp_id)
			continue;
		if (memory_read(&m->memory, s->list[i].interp_addr + m->support.threads_main,
				&main_addr, sizeof(main_addr)))
			return NULL;
		if (main_addr == s->list[i].tstate_addr)
			return &s->list[i];
	}
	return NULL;
}

/* A thread has a state in each interpreter that it has run in; we want the active one. */
static const struct thread_list_entry *pick(const struct stack_walk *walk, struct states *s,
					    const struct mailbox *m, pid_t ns_tid)
{
	const struct thread_list_entry *found = NULL;
	unsigned cnt = 0;

	for (__u32 i = 0; i < s->cnt; i++)
		if (is_meant(m, &s->list[i], ns_tid) && !cnt++)
			found = &s->list[i];
	if (!found)
		return m->request->tid ? NULL : find_main(m, s);
	if (cnt == 1)
		return found;
	stack_walk_search(walk, found->thread_ptr, &s->walked);
	for (__u32 i = 0; i < s->cnt; i++)
		if (s->list[i].tstate_addr == s->walked.tstate_addr &&
		    is_meant(m, &s->list[i], ns_tid))
			return &s->list[i];
	return found;
}

static int check_enabled(const struct mailbox *m, __u64 interp_addr, struct refusal *why)
{
	__s32 enabled = 0;

	if (memory_read(&m->memory, interp_addr + m->support.remote_debugging_enabled, &enabled,
			sizeof(enabled)))
		return refuse(why, EFAULT, "its interpreter cannot be read");
	return enabled == 1 ? 0 : refuse_disabled(why, m->dir);
}

int mailbox_find(const struct mailbox *m, struct mailbox_thread *ret, struct refusal *why)
{
	const struct inject_request *r = m->request;
	const struct stack_walk walk = { .memory = &m->memory,
					 .offsets = &r->offsets,
					 .runtime_addr = r->runtime_addr };
	const pid_t tid = r->tid ? r->tid : r->pid, ns_tid = ns_tid_of(m, tid);
	cleanup_free struct states *s = calloc(1, sizeof(*s));
	const struct thread_list_entry *found;

	if (!s)
		return refuse(why, ENOMEM, "out of memory");
	if (!ns_tid)
		return refuse(why, ESRCH, "it has no thread %d", (int)tid);
	for (int i = 0;
	     i < 3 && thread_list_read(&walk, s->list, KRAIT_MAX_THREADS, &s->cnt) != REASON_PYTHON;
	     i++)
		;
	found = pick(&walk, s, m, ns_tid);
	if (!found && r->tid)
		return refuse(why, ESRCH, "its thread %d runs no Python", (int)tid);
	if (!found)
		return refuse(why, ESRCH,
			      "its main interpreter has no main thread: choose one with --thread "
			      "(krait dump %d shows them)",
			      (int)r->pid);
	if (found->native_id == (__u64)ns_tid && has_ended(m, tid))
		return refuse(why, ESRCH,
			      "its thread %d, which would run the code, has ended: choose another "
			      "one with --thread (krait dump %d shows them)",
			      (int)tid, (int)r->pid);
	*ret = (struct mailbox_thread){ .tstate_addr = found->tstate_addr,
					.interp_addr = found->interp_addr,
					.tid = found->native_id == (__u64)ns_tid ? tid : 0 };
	return check_enabled(m, found->interp_addr, why);
}

/* ---- while it is stopped ------------------------------------------------------------------------ */

static int write_mem(const struct mailbox *m, __u64 addr, const void *data, size_t len)
{
	struct iovec ours = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	struct iovec theirs = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };
	ssize_t n = process_vm_writev(m->request->pid, &ours, 1, &theirs, 1, 0);

	return n < 0 ? -errno : (size_t)n == len ? 0 : -EFAULT;
}

/* The request in the process: whether there is one, and whether it is ours. */
struct content {
	__s32 pending;
	char path[SCRIPT_PATH_MAX];
};

static int read_content(const struct mailbox *m, __u64 tstate_addr, struct content *ret)
{
	size_t size = m->support.script_path_size < sizeof(ret->path) ?
			      m->support.script_path_size :
			      sizeof(ret->path);
	int err = memory_read(&m->memory, tstate_addr + m->support.pending_call, &ret->pending,
			      sizeof(ret->pending));

	return err ? err :
		     memory_read(&m->memory, tstate_addr + m->support.script_path, ret->path, size);
}

/* A call in progress; the result is in memory that parent and child share. */
struct visit {
	const struct mailbox *m;
	const char *path;
};

struct visited {
	struct mailbox_thread thread;
	struct refusal why;
};

static int check_writable(const struct mailbox *m, __u64 tstate_addr, struct refusal *why)
{
	const __u32 end = m->support.script_path + m->support.script_path_size;
	__u64 first = tstate_addr + m->support.eval_breaker;

	if (mapping_is_private_and_writable(m->dir, first, 8) &&
	    mapping_is_private_and_writable(m->dir, tstate_addr + m->support.pending_call,
					    end - m->support.pending_call))
		return 0;
	return refuse(why, EFAULT, "its thread state is not in memory that is its own");
}

static int put_request(const struct mailbox *m, __u64 tstate_addr, const char *path)
{
	const __s32 pending = 1;
	__u64 breaker;
	int err = memory_read(&m->memory, tstate_addr + m->support.eval_breaker, &breaker,
			      sizeof(breaker));

	breaker |= EVAL_PLEASE_STOP_BIT;
	if (!err)
		err = write_mem(m, tstate_addr + m->support.script_path, path, strlen(path) + 1);
	if (!err)
		err = write_mem(m, tstate_addr + m->support.pending_call, &pending,
				sizeof(pending));
	if (!err)
		err = write_mem(m, tstate_addr + m->support.eval_breaker, &breaker,
				sizeof(breaker));
	return err;
}

static int ask_frozen(const void *ctx, const struct frozen *f, void *shared)
{
	const struct visit *v = ctx;
	struct visited *ret = shared;
	struct content content;
	int err = check_same(v->m, &ret->why);

	if (!err)
		err = mailbox_find(v->m, &ret->thread, &ret->why);
	if (err)
		return err;
	if (read_content(v->m, ret->thread.tstate_addr, &content))
		return refuse(&ret->why, EFAULT, "its thread state cannot be read");
	if (content.pending)
		return refuse(&ret->why, EBUSY,
			      "another debugger's request is already waiting for that thread");
	err = check_writable(v->m, ret->thread.tstate_addr, &ret->why);
	if (err)
		return err;
	err = put_request(v->m, ret->thread.tstate_addr, v->path);
	return err ? refuse(&ret->why, -err, "its memory cannot be written: %s", strerror(-err)) :
		     0;
}

static int withdraw_frozen(const void *ctx, const struct frozen *f, void *shared)
{
	const struct visit *v = ctx;
	struct visited *ret = shared;
	const __u64 addr = ret->thread.tstate_addr;
	struct mailbox_thread now;
	struct content content;
	const __s32 none = 0;
	int err = check_same(v->m, &ret->why);

	if (!err)
		err = mailbox_find(v->m, &now, &ret->why);
	if (err)
		return err;
	if (now.tstate_addr != addr)
		return refuse(&ret->why, ESRCH, "the thread that was asked has ended");
	if (read_content(v->m, addr, &content))
		return refuse(&ret->why, EFAULT, "its thread state cannot be read");
	if (!content.pending || strncmp(content.path, v->path, sizeof(content.path)) != 0)
		return -EALREADY;
	err = write_mem(v->m, addr + v->m->support.pending_call, &none, sizeof(none));
	return err ? refuse(&ret->why, -err, "its memory cannot be written: %s", strerror(-err)) :
		     0;
}

static int visit(const struct mailbox *m, struct mailbox_thread *t, const char *path, frozen_fn fn,
		 __u64 *ret_stopped_ns, struct refusal *why)
{
	const struct visit v = { .m = m, .path = path };
	struct visited visited = { .thread = *t };
	const struct frozen_call call = { .dir = m->dir,
					  .fn = fn,
					  .ctx = &v,
					  .shared = &visited,
					  .size = sizeof(visited),
					  .limit_ns = LIMIT_NS };
	int err = frozen_run(&call, ret_stopped_ns);

	*t = visited.thread;
	*why = visited.why;
	if (err && err != -EALREADY && !*why->why)
		return refuse_stop(why, m->dir, err);
	return err;
}

int mailbox_ask(const struct mailbox *m, struct mailbox_thread *t, const char *path,
		__u64 *ret_stopped_ns, struct refusal *why)
{
	if (strlen(path) >= m->support.script_path_size || strlen(path) >= SCRIPT_PATH_MAX)
		return refuse(why, ENAMETOOLONG,
			      "the name of its folder for temporary files is too long");
	return visit(m, t, path, ask_frozen, ret_stopped_ns, why);
}

int mailbox_withdraw(const struct mailbox *m, const struct mailbox_thread *t, const char *path,
		     __u64 *ret_stopped_ns, struct refusal *why)
{
	struct mailbox_thread asked = *t;

	return visit(m, &asked, path, withdraw_frozen, ret_stopped_ns, why);
}
