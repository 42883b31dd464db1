/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay_outside.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "record/samples/whose.h"
#include "native/names/kernel_symbols.h"
#include "process/proc/proc.h"

#define NS_PER_S 1000000000ULL
#define FDS_MAX 4096
#define KERNEL_MAX 4096

static struct replay_log *running;
static struct file_id files[FDS_MAX]; /* by descriptor */
static const struct input_entry *scanned;
static size_t scanned_cnt;
static const struct replay_member *family;
static size_t family_cnt;

/* Kernel symbols that were handed out: the code that finds them uses their tags. */
static struct kernel_symbol kernel[KERNEL_MAX];
static unsigned kernel_cnt;

void replay_outside_is(struct replay_log *l)
{
	running = l;
	kernel_cnt = 0;
	scanned_cnt = 0;
	family_cnt = 0;
	memset(files, 0, sizeof(files));
}

struct replay_log *replay_outside(void)
{
	return running;
}

/* ---- the clock --------------------------------------------------------------------------------- */

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!running)
		return (int)syscall(SYS_clock_gettime, id, ts);
	/* A replay takes no CPU time: limits on that behave as on a faster machine. */
	*ts = (struct timespec){ 0 };
	if (id == CLOCK_THREAD_CPUTIME_ID)
		return 0;
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

/* ---- /proc ------------------------------------------------------------------------------------- */

int __wrap_process_start_ticks(pid_t pid, __u64 *ret);
int __wrap_process_start_ticks(pid_t pid, __u64 *ret)
{
	struct input_fact fact;

	if (!replay_log_fact(running, QUESTION_START, pid, &fact))
		return -ESRCH;
	*ret = fact.value;
	return fact.result;
}

uid_t __wrap_proc_owner(pid_t pid);
uid_t __wrap_proc_owner(pid_t pid)
{
	struct input_fact fact;

	return replay_log_fact(running, QUESTION_OWNER, pid, &fact) ? (uid_t)fact.value : 0;
}

void replay_scan_from(const struct input_entry *e, size_t cnt)
{
	scanned = e;
	scanned_cnt = cnt;
}

int __wrap_process_each(int (*fn)(pid_t pid, void *ctx), void *ctx);
int __wrap_process_each(int (*fn)(pid_t pid, void *ctx), void *ctx)
{
	for (size_t i = 0; i < family_cnt; i++)
		if (family[i].from_ns <= running->now_ns)
			fn(family[i].pid, ctx);
	for (size_t i = 0; i < scanned_cnt; i++) {
		const struct input_question *q = scanned[i].key;

		if (scanned[i].kind != INPUT_FACT || q->op != QUESTION_SCAN)
			continue;
		if (!q->pid)
			break; /* the next scan */
		fn(q->pid, ctx);
	}
	return 0;
}

/* Replays have no use for sources. */
void __wrap_whose_note(struct identities *set, const struct process *p, const struct task_ids *ids);
void __wrap_whose_note(struct identities *set, const struct process *p, const struct task_ids *ids)
{
}

void __wrap_whose_now(const struct process *p, struct task_ids *ret);
void __wrap_whose_now(const struct process *p, struct task_ids *ret)
{
	*ret = (struct task_ids){ 0 };
}

void replay_family(const struct replay_member list[], size_t cnt)
{
	family = list;
	family_cnt = cnt;
}

int __wrap_proc_stat_read(pid_t pid, struct proc_stat *ret);
int __wrap_proc_stat_read(pid_t pid, struct proc_stat *ret)
{
	for (size_t i = 0; i < family_cnt; i++) {
		if (family[i].pid != pid || family[i].from_ns > running->now_ns)
			continue;
		*ret = (struct proc_stat){
			.start_ticks = family[i].start_ns / KRAIT_NS_PER_TICK,
			.state = 'S',
			.parent = family[i].parent,
			.kernel_thread = family[i].kernel_thread,
		};
		return 0;
	}
	return -ESRCH;
}

/* Nothing ever arrives: time passes. */
int __real_poll(struct pollfd *fds, nfds_t cnt, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t cnt, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t cnt, int timeout_ms)
{
	if (!running)
		return __real_poll(fds, cnt, timeout_ms);
	replay_advance(running->now_ns + (__u64)timeout_ms * 1000000);
	return 0;
}

/* ---- files ------------------------------------------------------------------------------------- */

int replay_stand_in(const void *contents, size_t len, const struct file_id *file)
{
	int fd = memfd_create("replay", MFD_CLOEXEC);

	if (fd < 0 || fd >= FDS_MAX || (len && write(fd, contents, len) != (ssize_t)len) ||
	    lseek(fd, 0, SEEK_SET))
		abort();
	files[fd] = file ? *file : (struct file_id){ 0 };
	return fd;
}

struct file_id replay_file_of(int fd)
{
	return fd >= 0 && fd < FDS_MAX ? files[fd] : (struct file_id){ 0 };
}

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st)
{
	const struct file_id id = replay_file_of(fd);

	if (!running || !id.ino)
		return __real_fstat(fd, st);
	*st = (struct stat){
		.st_mode = S_IFREG | 0755,
		.st_dev = id.dev,
		.st_ino = id.ino,
		.st_size = (off_t)id.size,
		.st_mtim = { id.mtime_sec, id.mtime_nsec },
		.st_ctim = { id.ctime_sec, id.ctime_nsec },
	};
	return 0;
}

int __wrap_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret)
{
	const struct file_id id = replay_file_of(dir);

	if (!running)
		return (int)syscall(SYS_statx, dir, path, flags, mask, ret);
	if (*path || !id.ino) {
		errno = ENOENT;
		return -1;
	}
	*ret = (struct statx){
		.stx_ino = id.ino,
		.stx_dev_major = major(id.dev),
		.stx_dev_minor = minor(id.dev),
	};
	return 0;
}

int __wrap_debug_file_open(const char *root, const __u8 *build_id, size_t size, uid_t owner);
int __wrap_debug_file_open(const char *root, const __u8 *build_id, size_t size, uid_t owner)
{
	return replay_log_has_debug(running, build_id, size) ? replay_stand_in(NULL, 0, NULL) :
							       -ENOENT;
}

/* ---- the kernel --------------------------------------------------------------------------------- */

struct kernel_symbol *__wrap_kernel_symbols__find(struct kernel_symbols *s, __u64 addr);
struct kernel_symbol *__wrap_kernel_symbols__find(struct kernel_symbols *s, __u64 addr)
{
	const struct input_entry *e = replay_log_kernel(running, addr);
	const char *name = e ? e->value : NULL;

	for (unsigned i = 0; e && i < kernel_cnt; i++)
		if (kernel[i].name == name)
			return &kernel[i];
	if (!e || kernel_cnt == KERNEL_MAX)
		return NULL;
	kernel[kernel_cnt] = (struct kernel_symbol){
		.start = *(const __u64 *)e->key,
		.name = name,
		.module = name + strlen(name) + 1,
	};
	return &kernel[kernel_cnt++];
}

bool __wrap_kernel_symbols__is_own(struct kernel_symbols *s, __u64 addr);
bool __wrap_kernel_symbols__is_own(struct kernel_symbols *s, __u64 addr)
{
	const struct kernel_symbol *symbol = __wrap_kernel_symbols__find(s, addr);

	return symbol && !strcmp(symbol->module, KERNEL_MODULE_OWN);
}
