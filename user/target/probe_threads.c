/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/probe_threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read.h"
#include "gil.h"
#include "object/frame_locals.h"
#include "target/probe_list.h"
#include "target/proc.h"
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

struct head {
	__u32 thread_cnt, frame_cnt, local_cnt, text_len;
	__u32 locals_cut;
	pid_t next_tid;
	__u32 list_reason;
	__u64 time_ns;
};

/* ---- the list, in a prober -------------------------------------------------------------------- */

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
	struct head head;
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

static ssize_t read_of(const struct list *l, pid_t tid, const char *name, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	return proc_read(l->dir, path, buf, size);
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

static void read_ns_tid(const struct list *l, struct probe_thread *t)
{
	char status[4096];

	t->ns_tid = t->tid;
	if (l->nested && read_of(l, t->tid, "status", status, sizeof(status)) > 0)
		t->ns_tid = proc_ns_pid(status);
}

static int read_stat(const struct list *l, struct probe_thread *t)
{
	char text[1024];
	const char *open, *close;
	ssize_t len = read_of(l, t->tid, "stat", text, sizeof(text));
	size_t name_len;

	if (len < 0)
		return (int)len;
	open = strchr(text, '(');
	close = memrchr(text, ')', (size_t)len);
	if (!open || !close || close < open || close + 2 >= text + len)
		return -EINVAL;
	name_len = (size_t)(close - open - 1);
	if (name_len >= sizeof(t->comm))
		name_len = sizeof(t->comm) - 1;
	memset(t->comm, 0, sizeof(t->comm));
	memcpy(t->comm, open + 1, name_len);
	t->state = close[2];
	return 0;
}

static void read_times(const struct list *l, struct probe_thread *t)
{
	char text[128];

	if (read_of(l, t->tid, "schedstat", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%llu %llu %llu", &t->cpu_ns, &t->delay_ns, &t->runs) != 3)
		t->cpu_ns = t->delay_ns = t->runs = 0;
}

/* The call that it waits in. False: it runs, or that cannot be told. */
static bool read_syscall(const struct list *l, struct probe_thread *t)
{
	char text[256];
	__u64 *a = t->args;

	t->flags &= (__u8)~PROBE_THREAD_SYSCALL;
	if (read_of(l, t->tid, "syscall", text, sizeof(text)) <= 0)
		return false;
	if (sscanf(text, "%d %llx %llx %llx %llx %llx %llx %llx %llx", &t->syscall, &a[0], &a[1],
		   &a[2], &a[3], &a[4], &a[5], &t->stack_ptr, &t->ip) != 9) {
		memset(a, 0, sizeof(t->args));
		if (sscanf(text, "-1 %llx %llx", &t->stack_ptr, &t->ip) != 2)
			return false;
		t->syscall = -1;
	}
	t->flags |= PROBE_THREAD_SYSCALL;
	return true;
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

/*
 * What kind of file the descriptor args[0] is of, if it is one. By the link's text: looking at the file itself
 * could wait for whoever serves it.
 */
static void look_at_file(const struct list *l, struct probe_thread *t)
{
	char path[64], link[64];
	ssize_t len;

	t->file_mode = 0;
	if (t->syscall < 0 || t->args[0] > INT_MAX)
		return;
	snprintf(path, sizeof(path), "fd/%llu", t->args[0]);
	len = readlinkat(l->dir, path, link, sizeof(link) - 1);
	if (len < 0)
		return;
	link[len] = '\0';
	t->file_mode = !strncmp(link, "socket:", 7) ? S_IFSOCK :
		       !strncmp(link, "pipe:", 5)   ? S_IFIFO :
		       !strncmp(link, "/dev/", 5)   ? S_IFCHR :
						      0;
}

/* One look. True: nothing moved. */
static bool look(struct list *l, const struct stack_walk *walk, struct probe_thread *t,
		 const struct thread_list_entry *state)
{
	__u64 runs;

	t->flags &= (__u8)~PROBE_THREAD_RUNS;
	read_times(l, t);
	if (!read_syscall(l, t)) {
		t->flags |= PROBE_THREAD_RUNS;
		return false;
	}
	look_at_file(l, t);
	if (state) {
		walk_one(l, walk, t, state);
		look_at_gil(l, walk, t);
		if (l->ask->locals && reason_outcome(t->reason) != OUTCOME_LOST)
			take_locals(l);
	}
	runs = t->runs;
	read_times(l, t);
	return runs && runs == t->runs;
}

/* Fills the next element. 0, or -ESRCH: it has ended. */
static int add_thread(struct list *l, const struct stack_walk *walk, pid_t tid)
{
	struct probe_thread *t = &l->threads[l->head.thread_cnt];
	const __u32 local_cnt = l->head.local_cnt, text_len = l->head.text_len;
	const struct thread_list_entry *state;
	bool held = false;

	*t = (struct probe_thread){ .tid = tid, .syscall = -1 };
	read_ns_tid(l, t);
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
	if (read_stat(l, t))
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

/* ---- the same, in krait ----------------------------------------------------------------------- */

static bool is_sane(const struct probe_threads *l)
{
	pid_t last = 0;

	if (!reason_is_known(l->list_reason))
		return false;
	for (__u32 i = 0; i < l->thread_cnt; i++) {
		const struct probe_thread *t = &l->threads[i];

		if (t->tid <= last || !memchr(t->comm, 0, sizeof(t->comm)) ||
		    !reason_is_known(t->reason) || t->first_frame > l->frame_cnt ||
		    t->frame_cnt > l->frame_cnt - t->first_frame)
			return false;
		last = t->tid;
	}
	if (l->text_len && l->texts[l->text_len - 1])
		return false;
	for (__u32 i = 0, frame = 0; i < l->local_cnt; frame = l->locals[i++].frame)
		if (l->locals[i].frame >= l->frame_cnt || l->locals[i].frame < frame ||
		    l->locals[i].name >= l->text_len || l->locals[i].value >= l->text_len)
			return false;
	return !l->next_tid || l->next_tid > last;
}

int probe_threads_read(int fd, struct probe_threads *ret)
{
	struct head head;
	char *memory;
	size_t size;
	int err = probe_list_read(fd, &head, sizeof(head));

	*ret = (struct probe_threads){ 0 };
	if (err)
		return err;
	if (head.thread_cnt > PROBE_THREADS_MAX || head.frame_cnt > PROBE_THREADS_FRAMES_MAX ||
	    head.local_cnt > PROBE_THREADS_LOCALS_MAX || head.text_len > PROBE_THREADS_TEXT_MAX)
		return -EPROTO;
	size = sizeof(head) + head.thread_cnt * sizeof(*ret->threads) +
	       head.frame_cnt * sizeof(*ret->frames) + head.local_cnt * sizeof(*ret->locals) +
	       head.text_len;
	ret->memory = memory = malloc(size);
	if (!memory)
		return -ENOMEM;
	ret->threads = (const void *)(memory + sizeof(head));
	ret->frames = (const void *)(ret->threads + head.thread_cnt);
	ret->locals = (const void *)(ret->frames + head.frame_cnt);
	ret->texts = (const char *)(ret->locals + head.local_cnt);
	ret->local_cnt = head.local_cnt;
	ret->text_len = head.text_len;
	ret->locals_cut = head.locals_cut;
	ret->thread_cnt = head.thread_cnt;
	ret->frame_cnt = head.frame_cnt;
	ret->next_tid = head.next_tid;
	ret->list_reason = head.list_reason;
	ret->time_ns = head.time_ns;
	err = probe_list_read(fd, memory, size);
	if (!err && !is_sane(ret))
		err = -EPROTO;
	if (err)
		probe_threads_free(ret);
	return err;
}

void probe_threads_free(struct probe_threads *l)
{
	free(l->memory);
	*l = (struct probe_threads){ 0 };
}
