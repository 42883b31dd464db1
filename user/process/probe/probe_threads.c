/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/probe_threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "process/memory/frozen.h"
#include "process/memory/page_cache.h"
#include "process/probe/probe_list.h"
#include "process/proc/proc.h"
#include "process/memory/opener.h"
#include "process/memory/remote.h"
#include "process/probe/thread_stacks.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/data/vec.h"

/* ---- proc thread ------------------------------------------------------------------------------ */

/*
 * What /proc says about one thread, into its struct probe_thread: dir is of
 * /proc/PID, t->tid identifies the thread.
 *
 * Reads only files that come from the kernel alone: none waits for the process.
 */

static ssize_t read_of(int dir, pid_t tid, const char *name, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	return proc_read(dir, path, buf, size);
}

/* Fills ns_tid, if the process is in its own pid namespace. */
static void proc_thread_ns_tid(int dir, struct probe_thread *t)
{
	char status[4096];

	if (read_of(dir, t->tid, "status", status, sizeof(status)) > 0)
		t->ns_tid = proc_ns_pid(status);
}

/* Fills comm and state. Returns 0, -ESRCH or -errno. */
static int proc_thread_stat(int dir, struct probe_thread *t)
{
	char text[1024];
	const char *open, *close;
	ssize_t len = read_of(dir, t->tid, "stat", text, sizeof(text));
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

/* Fills cpu_ns, delay_ns and runs; 0 unknown. */
static void proc_thread_times(int dir, struct probe_thread *t)
{
	char text[128];

	if (read_of(dir, t->tid, "schedstat", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%llu %llu %llu", &t->cpu_ns, &t->delay_ns, &t->runs) != 3)
		t->cpu_ns = t->delay_ns = t->runs = 0;
}

/* Fills the system call that it waits in. False: it is running, or that is unknown. */
static bool proc_thread_syscall(int dir, struct probe_thread *t)
{
	char text[256];
	__u64 *a = t->args;

	t->flags &= (__u16)~PROBE_THREAD_SYSCALL;
	if (read_of(dir, t->tid, "syscall", text, sizeof(text)) <= 0 &&
	    opener_syscall(dir, t->tid, text, sizeof(text)) <= 0)
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

/*
 * Where the kernel lets a frozen thread sleep: do_freezer_trap() in kernel/signal.c (often inlined into get_signal(),
 * whose other sleepers are stopped and have another state), __refrigerator() in kernel/freezer.c. "0": it does not say.
 */
static void proc_thread_frozen(int dir, struct probe_thread *t)
{
	static const char *const places[] = { "get_signal", "do_freezer_trap", "__refrigerator" };
	char text[64];
	ssize_t len = strchr("SDI", t->state) ? read_of(dir, t->tid, "wchan", text, sizeof(text)) :
						0;

	t->flags &= (__u16)~PROBE_THREAD_FROZEN;
	for (size_t i = 0; len > 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		if (!strncmp(text, places[i], strlen(places[i])) &&
		    (text[strlen(places[i])] == '\0' || text[strlen(places[i])] == '.'))
			t->flags |= PROBE_THREAD_FROZEN;
	}
}

/*
 * Fills file_mode: the kind of file behind descriptor args[0], if it is one. Judged by the link's
 * text: opening the file itself could block on its server.
 */
static void proc_thread_file(int dir, struct probe_thread *t)
{
	char path[64], link[64];
	ssize_t len;

	t->file_mode = 0;
	if (t->syscall < 0 || t->args[0] > INT_MAX)
		return;
	snprintf(path, sizeof(path), "fd/%llu", t->args[0]);
	len = readlinkat(dir, path, link, sizeof(link) - 1);
	if (len < 0)
		return;
	link[len] = '\0';
	t->file_mode = !strncmp(link, "socket:", 7) ? S_IFSOCK :
		       !strncmp(link, "pipe:", 5)   ? S_IFIFO :
		       !strncmp(link, "/dev/", 5)   ? S_IFCHR :
						      0;
}

/* ---- copies of stacks -------------------------------------------------------------------------- */

/* Bytes of a stack to read at once; a shorter rest is read by the page. */
#define COPIED (16U << 10)
#define COPIED_LAST 4096U

/* The stack pointer; 0 unknown. */
static __u64 take_regs(struct probe_thread *t, const struct frozen_thread *f)
{
	if (!f->has_regs)
		return 0;
	memcpy(t->regs, f->regs, sizeof(t->regs));
	t->flags |= PROBE_THREAD_REGS;
	if (REGS_SYSCALL(f->regs) >= 0)
		t->flags |= PROBE_THREAD_BEHIND_CALL;
	return f->regs[UNWIND_WORD_SP];
}

/* Copies from there on, as much of len bytes as can be read. */
static __u32 copy_part(struct bytes *copies, int mem, __u64 addr, __u32 len, __u32 step)
{
	char part[COPIED];
	__u32 done = 0;

	while (done < len && !remote_read_fd(mem, addr + done, part, step)) {
		bytes_put(copies, part, step);
		done += step;
	}
	return copies->failed ? 0 : done;
}

void probe_threads_copy(struct bytes *copies, int mem, const struct frozen_thread *f,
			struct probe_thread *t)
{
	__u64 addr = take_regs(t, f) & ~(__u64)(COPIED_LAST - 1);
	__u32 left = PROBE_THREADS_STACKS_MAX - (__u32)copies->len, len;

	if (!addr || copies->failed)
		return;
	left = (left < PROBE_THREADS_STACK_MAX ? left : PROBE_THREADS_STACK_MAX) / COPIED * COPIED;
	t->stack_addr = addr;
	t->stack_at = (__u32)copies->len;
	len = copy_part(copies, mem, addr, left, COPIED);
	if (len < left)
		len += copy_part(copies, mem, addr + len, COPIED, COPIED_LAST);
	t->stack_len = copies->failed ? 0 : len;
}

/* ---- probe threads ---------------------------------------------------------------------------- */

/* How often to look at one thread until it is found at rest. */
#define TRIES 3
/* Threads of a process to consider; the kernel's own limit is higher. */
#define TIDS_MAX 65536U

/* After this long a list ends, unless the process stands still: nobody waits for one much longer. */
#define LIST_NS NS_PER_SEC

/* Longest pause of a process, if it is to be paused. */
#define PAUSE_NS (10 * NS_PER_SEC)

struct list {
	int dir, mem;
	const struct probe_threads_ask *ask;
	bool nested; /* the process is in a pid namespace of its own */
	pid_t *tids;
	__u32 tid_cnt, tid_cap;
	const struct frozen *frozen; /* NULL: nothing is stopped */
	struct memory memory;
	struct page_cache *cache; /* only in the child, while the process stands still */
	struct thread_stacks *stacks;
};

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

/* Looks once. True: nothing moved. */
static bool look(struct list *l, struct probe_thread *t, const struct thread_list_entry *state)
{
	__u64 runs;

	t->flags &= (__u16)~PROBE_THREAD_RUNS;
	proc_thread_times(l->dir, t);
	if (!proc_thread_syscall(l->dir, t)) {
		t->flags |= PROBE_THREAD_RUNS;
		return false;
	}
	proc_thread_file(l->dir, t);
	proc_thread_frozen(l->dir, t);
	/*
	 * A thread that was stopped in a system call shows which; any other was on a CPU, or waited
	 * for one.
	 */
	if (t->flags & PROBE_THREAD_PAUSED && t->syscall < 0)
		t->flags |= PROBE_THREAD_RUNS;
	if (state)
		thread_stacks__walk(l->stacks, t, state);
	runs = t->runs;
	proc_thread_times(l->dir, t);
	return runs && runs == t->runs;
}

/* Fills the next element. Returns 0, or -ESRCH: it has ended. */
static int add_thread(struct list *l, pid_t tid)
{
	struct thread_stacks *s = l->stacks;
	struct probe_thread *t = &s->threads[s->head.thread_cnt];
	const struct thread_stacks_mark mark = thread_stacks__mark(s);
	const struct thread_list_entry *state;
	bool held = false;

	*t = (struct probe_thread){ .tid = tid, .ns_tid = tid, .syscall = -1 };
	if (l->nested)
		proc_thread_ns_tid(l->dir, t);
	if (l->frozen && frozen__has_stopped(l->frozen, tid))
		t->flags |= PROBE_THREAD_PAUSED;
	state = thread_stacks__state_of(s, t);
	while (!held && t->tries++ < TRIES) {
		thread_stacks__back(s, mark);
		held = look(l, t, state);
	}
	if (!held)
		thread_stacks__back(s, mark);
	if (!held && state && l->ask->locals && l->ask->moving &&
	    thread_stacks__walk_moving(s, t, state))
		t->flags |= PROBE_THREAD_MOVING;
	if (proc_thread_stat(l->dir, t)) {
		thread_stacks__back(s, mark);
		return -ESRCH;
	}
	/* What it did before we stopped it. */
	if (t->flags & PROBE_THREAD_PAUSED && t->state == 't')
		t->state = t->flags & PROBE_THREAD_RUNS ? 'R' : 'S';
	if (held)
		t->flags |= PROBE_THREAD_HELD;
	if (state && (held || t->flags & PROBE_THREAD_MOVING))
		thread_stacks__keep(s, t);
	if (l->ask->stacks && t->flags & PROBE_THREAD_PAUSED)
		probe_threads_copy(&s->stacks, l->mem, frozen__find(l->frozen, tid), t);
	s->head.thread_cnt++;
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

/* If there is no memory for all, there are none. */
static void finish_stacks(struct thread_stacks *s)
{
	for (__u32 i = 0; s->stacks.failed && i < s->head.thread_cnt; i++)
		s->threads[i].stack_at = s->threads[i].stack_len = 0;
	s->head.stacks_len = s->stacks.failed ? 0 : (__u32)s->stacks.len;
}

/* Must it end before that thread? One thread is always listed, so the next list gets further. */
static bool is_over(const struct list *l)
{
	const struct probe_threads_head *head = &l->stacks->head;

	return thread_stacks__is_full(l->stacks) ||
	       (!l->frozen && head->thread_cnt && clock_monotonic_ns() >= head->time_ns + LIST_NS);
}

static int fill(struct list *l)
{
	int err = find_tids(l);

	if (err)
		return err;
	l->nested = is_nested(l);
	l->stacks->head.time_ns = clock_monotonic_ns();
	thread_stacks__begin(l->stacks);
	for (__u32 i = 0; i < l->tid_cnt; i++) {
		if (is_over(l)) {
			l->stacks->head.next_tid = l->tids[i];
			break;
		}
		if (add_thread(l, l->tids[i]))
			continue; /* it has ended */
	}
	finish_stacks(l->stacks);
	return 0;
}

static int write_part(void *ctx, const void *data, size_t len)
{
	return probe_list_write(*(const int *)ctx, data, len);
}

static int write_list(const struct list *l, int fd)
{
	return thread_stacks__write(l->stacks, write_part, &fd);
}

/* Runs in a child, while the process stands still. */
struct pause {
	struct list *list;
	int fd;
};

static int fill_frozen(const void *ctx, const struct frozen *f, void *shared)
{
	const struct pause *p = ctx;
	int err;

	p->list->frozen = f;
	/* Nothing moves: what was read once stays true. */
	p->list->cache = page_cache__new(&p->list->memory);
	if (p->list->cache)
		p->list->stacks->memory = *page_cache__memory(p->list->cache);
	err = fill(p->list);
	return err ? err : write_list(p->list, p->fd);
}

static int fill_paused(struct list *l, int fd, void (*on_wait)(void *ctx), void *wait_ctx)
{
	const struct pause pause = { .list = l, .fd = fd };
	char none = 0;
	const struct frozen_call call = { .dir = l->dir,
					  .fn = fill_frozen,
					  .ctx = &pause,
					  .shared = &none,
					  .size = sizeof(none),
					  .limit_ns = PAUSE_NS,
					  .registers = l->ask->stacks,
					  .on_wait = on_wait,
					  .wait_ctx = wait_ctx };
	__u64 pause_ns;
	int err = frozen_run(&call, &pause_ns);

	/* The length of the pause is known only afterwards. */
	if (!err && pwrite(fd, &pause_ns, sizeof(pause_ns),
			   offsetof(struct probe_threads_head, pause_ns)) != sizeof(pause_ns))
		err = -EIO;
	return err;
}

int probe_threads_list(int dir, int mem, const struct probe_threads_ask *ask,
		       void (*on_wait)(void *ctx), void *wait_ctx)
{
	cleanup_close int fd = memfd_create("krait-threads", MFD_CLOEXEC);
	struct list l = { .dir = dir, .mem = mem, .ask = ask };
	int result = fd < 0 ? -errno : 0;

	l.memory = remote_memory_at(&l.mem);
	l.stacks = thread_stacks__new(ask, &l.memory);
	if (!l.stacks)
		return -ENOMEM;
	if (!result && ask->pause) {
		result = fill_paused(&l, fd, on_wait, wait_ctx);
	} else if (!result) {
		result = fill(&l);
		if (!result)
			result = write_list(&l, fd);
	}
	free(l.tids);
	thread_stacks__free(l.stacks);
	return result ? result : take_fd(&fd);
}
