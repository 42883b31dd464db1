/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/probe_threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "read.h"
#include "gil.h"
#include "object/frame_locals.h"
#include "target/probe_list.h"
#include "target/proc.h"
#include "target/proc_thread.h"
#include "target/remote.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/vec.h"
#include "walk/stack_walk.h"
#include "walk/thread_list.h"

/* Looks at one thread, and at the list of thread states, until one finds it at rest. */
#define TRIES 3
/* Threads of a process that are considered; the kernel's own bound is higher. */
#define TIDS_MAX 65536U

struct list {
	int dir, mem;
	const struct probe_threads_ask *ask;
	struct memory memory;
	bool nested; /* the process is in a pid namespace of its own */
	pid_t *tids;
	__u32 tid_cnt, tid_cap;
	struct thread_list_entry states[KRAIT_MAX_THREADS];
	__u32 state_cnt;
	struct stack_walk_result walked;
	struct probe_threads_head head;
	struct probe_thread threads[PROBE_THREADS_MAX];
	struct frame frames[PROBE_THREADS_FRAMES_MAX];
	struct object_layout layout;
	__u32 frame; /* whose variables are being taken */
	struct probe_local locals[PROBE_THREADS_LOCALS_MAX];
	char texts[PROBE_THREADS_TEXT_MAX];
};

static int read_memory(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct list *l = ctx;

	return remote_read_fd(l->mem, addr, buf, len);
}

static int compare_tids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

static int find_tids(struct list *l)
{
	int fd = openat(l->dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *task = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int err = 0;

	if (!task) {
		err = errno == ENOENT ? -ESRCH : -errno;
		cleanup_close_(&fd);
		return err;
	}
	while (!err && (e = readdir(task)) && l->tid_cnt < TIDS_MAX) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid <= 0 || tid < l->ask->first_tid ||
		    (l->ask->only_tid && tid != l->ask->only_tid))
			continue;
		err = vec_reserve(l->tids, l->tid_cap, l->tid_cnt + 1);
		if (!err)
			l->tids[l->tid_cnt++] = tid;
	}
	closedir(task);
	if (l->tid_cnt)
		qsort(l->tids, l->tid_cnt, sizeof(*l->tids), compare_tids);
	return err;
}

/* Newest states first, and of one thread several, in different interpreters. */
static const struct thread_list_entry *state_of(const struct list *l, pid_t ns_tid)
{
	for (__u32 i = 0; i < l->state_cnt; i++)
		if (l->states[i].native_id == (__u64)ns_tid)
			return &l->states[i];
	return NULL;
}

static void read_states(struct list *l, const struct stack_walk *walk)
{
	l->head.list_reason = REASON_NO_RUNTIME;
	for (int i = 0; walk->runtime_addr && i < TRIES; i++) {
		l->head.list_reason =
			thread_list_read(walk, l->states, KRAIT_MAX_THREADS, &l->state_cnt);
		if (l->head.list_reason == REASON_PYTHON)
			break;
	}
}

/* The stack of a thread that may run meanwhile, into l->walked. */
static void walk_one(struct list *l, const struct stack_walk *walk, struct probe_thread *t,
		     const struct thread_list_entry *state)
{
	struct thread_slot slot = { .tstate_addr = state->tstate_addr,
				    .interp_addr = state->interp_addr };

	stack_walk_thread(walk, state->thread_ptr, &slot, &l->walked);
	t->reason = (__u8)l->walked.reason;
	t->tstate_addr = l->walked.tstate_addr;
	t->interp_addr = l->walked.interp_addr;
	t->thread_ptr = state->thread_ptr;
	t->interp_id = state->interp_id;
	for (__u32 i = 0; i < l->state_cnt; i++)
		if (l->states[i].tstate_addr == t->tstate_addr)
			t->interp_id = l->states[i].interp_id;
}

static void keep_frames(struct list *l, struct probe_thread *t)
{
	if (reason_outcome(t->reason) == OUTCOME_LOST)
		return;
	t->first_frame = l->head.frame_cnt;
	t->frame_cnt = l->walked.frame_cnt;
	memcpy(l->frames + l->head.frame_cnt, l->walked.frames,
	       t->frame_cnt * sizeof(struct frame));
	l->head.frame_cnt += t->frame_cnt;
}

static __u32 add_text(struct list *l, const char *text)
{
	size_t len = strlen(text) + 1;
	__u32 at = l->head.text_len;

	memcpy(l->texts + at, text, len);
	l->head.text_len += (__u32)len;
	return at;
}

static bool add_local(void *ctx, const char *name, const char *value, bool changed)
{
	struct list *l = ctx;
	struct probe_local *new = &l->locals[l->head.local_cnt];

	if (l->head.local_cnt == PROBE_THREADS_LOCALS_MAX ||
	    strlen(name) + strlen(value) + 2 > PROBE_THREADS_TEXT_MAX - l->head.text_len) {
		l->head.locals_cut = 1;
		return false;
	}
	new->frame = l->frame;
	new->name = add_text(l, name);
	new->value = add_text(l, value);
	new->changed = changed;
	l->head.local_cnt++;
	return true;
}

/* Of the frames in l->walked, which are going to stand at the end of l->frames. */
static void take_locals(struct list *l)
{
	for (__u32 i = 0; i < l->walked.frame_cnt && !l->head.locals_cut; i++) {
		l->frame = l->head.frame_cnt + i;
		if (frame_locals(&l->layout, &l->memory, &l->walked.frames[i], add_local, l) &&
		    l->head.locals_cut)
			return;
	}
}

/* What it does with the GIL of its interpreter, as long as it stands still. */
static void look_at_gil(struct list *l, const struct stack_walk *walk, struct probe_thread *t)
{
	struct gil gil = { .memory = walk->memory };

	t->flags &= (__u8) ~(PROBE_THREAD_HAS_GIL | PROBE_THREAD_WAITS_GIL);
	if (find_gil(walk->offsets, walk->runtime_addr, t->interp_addr, &gil))
		return;
	if (gil_is_held_by(&gil, t->tstate_addr))
		t->flags |= PROBE_THREAD_HAS_GIL;
	if (t->flags & PROBE_THREAD_SYSCALL && t->syscall >= 0 && t->args[0] - gil.addr < gil.size)
		t->flags |= PROBE_THREAD_WAITS_GIL;
}

/* One look. True: nothing moved. */
static bool look(struct list *l, const struct stack_walk *walk, struct probe_thread *t,
		 const struct thread_list_entry *state)
{
	__u64 runs;

	t->flags &= (__u8)~PROBE_THREAD_RUNS;
	proc_thread_times(l->dir, t);
	if (!proc_thread_syscall(l->dir, t)) {
		t->flags |= PROBE_THREAD_RUNS;
		return false;
	}
	proc_thread_file(l->dir, t);
	if (state) {
		walk_one(l, walk, t, state);
		look_at_gil(l, walk, t);
		if (l->ask->locals && reason_outcome(t->reason) != OUTCOME_LOST)
			take_locals(l);
	}
	runs = t->runs;
	proc_thread_times(l->dir, t);
	return runs && runs == t->runs;
}

/* Fills the next element. 0, or -ESRCH: it has ended. */
static int add_thread(struct list *l, const struct stack_walk *walk, pid_t tid)
{
	struct probe_thread *t = &l->threads[l->head.thread_cnt];
	const __u32 local_cnt = l->head.local_cnt, text_len = l->head.text_len;
	const struct thread_list_entry *state;
	bool held = false;

	*t = (struct probe_thread){ .tid = tid, .ns_tid = tid, .syscall = -1 };
	if (l->nested)
		proc_thread_ns_tid(l->dir, t);
	state = state_of(l, t->ns_tid);
	if (state)
		t->flags |= PROBE_THREAD_PYTHON;
	while (!held && t->tries++ < TRIES) {
		l->head.local_cnt = local_cnt;
		l->head.text_len = text_len;
		held = look(l, walk, t, state);
	}
	if (!held) {
		l->head.local_cnt = local_cnt;
		l->head.text_len = text_len;
	}
	if (proc_thread_stat(l->dir, t))
		return -ESRCH;
	if (held)
		t->flags |= PROBE_THREAD_HELD;
	if (held && state)
		keep_frames(l, t);
	l->head.thread_cnt++;
	return 0;
}

static bool is_nested(const struct list *l)
{
	char status[4096];
	const char *pid;

	if (proc_read(l->dir, "status", status, sizeof(status)) <= 0)
		return false;
	pid = proc_line_of(status, "Pid:");
	return pid && proc_ns_pid(status) && strtol(pid, NULL, 10) != proc_ns_pid(status);
}

static int fill(struct list *l)
{
	const struct stack_walk walk = {
		.memory = &l->memory,
		.offsets = &l->ask->offsets,
		.runtime_addr = l->ask->runtime_addr,
		.fingerprints = true,
	};
	int err = find_tids(l);

	if (err)
		return err;
	l->nested = is_nested(l);
	l->head.time_ns = clock_monotonic_ns();
	read_states(l, &walk);
	for (__u32 i = 0; i < l->tid_cnt; i++) {
		if (l->head.thread_cnt == PROBE_THREADS_MAX ||
		    PROBE_THREADS_FRAMES_MAX - l->head.frame_cnt < KRAIT_MAX_FRAMES) {
			l->head.next_tid = l->tids[i];
			break;
		}
		if (add_thread(l, &walk, l->tids[i]))
			continue; /* it has ended */
	}
	return 0;
}

static int write_list(const struct list *l)
{
	cleanup_close int fd = memfd_create("krait-threads", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : probe_list_write(fd, &l->head, sizeof(l->head));

	if (!err)
		err = probe_list_write(fd, l->threads, l->head.thread_cnt * sizeof(l->threads[0]));
	if (!err)
		err = probe_list_write(fd, l->frames, l->head.frame_cnt * sizeof(l->frames[0]));
	if (!err)
		err = probe_list_write(fd, l->locals, l->head.local_cnt * sizeof(l->locals[0]));
	if (!err)
		err = probe_list_write(fd, l->texts, l->head.text_len);
	return err ? err : take_fd(&fd);
}

int probe_threads_list(int dir, int mem, const struct probe_threads_ask *ask)
{
	struct list *l = calloc(1, sizeof(*l));
	int result;

	if (!l)
		return -ENOMEM;
	l->dir = dir;
	l->mem = mem;
	l->ask = ask;
	l->memory = (struct memory){ .read = read_memory, .ctx = l };
	object_layout_of(&l->layout, &ask->offsets);
	result = fill(l);
	if (!result)
		result = write_list(l);
	free(l->tids);
	free(l);
	return result;
}
