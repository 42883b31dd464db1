// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that claims to be CPython 3.15 (tests/targets/fake_runtime.c), and whose memory comes
 * late or never. Started as root, for userfaultfd; drops its rights before it prints READY.
 *
 *   late_page runtime|argv|thread [FILE]   that page never comes; it is FILE's, or userfaultfd's
 *   late_page exec PROGRAM [FOLDER]        makes a reader of its thread state wait, becomes PROGRAM
 *                                          meanwhile, then lets the page come, as a file system
 *                                          mounted at FOLDER or by userfaultfd
 */
#include <stdint.h>

/* Alone on its page. */
extern uint64_t _PyRuntime[512] __attribute__((aligned(4096)));

#define main fake_main
#include "../../targets/fake_runtime.c"
#undef main

#include "fuse_server.h"

#include <grp.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define PAGE 4096UL
/* setuid_victim.c also has a page there. */
#define THREAD_AT 0x10000000UL
#define ALIGN(p) ((char *)((uintptr_t)(p) & ~(PAGE - 1)))

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int open_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		die("userfaultfd");
	return fd;
}

static void drop_rights(void)
{
	if (geteuid())
		return;
	if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) ||
	    setresuid(65534, 65534, 65534) || prctl(PR_SET_DUMPABLE, 1))
		die("setresuid");
}

static void hold(int fd, char *page, unsigned long size)
{
	struct uffdio_register r = { .range = { (uintptr_t)page, size },
				     .mode = UFFDIO_REGISTER_MODE_MISSING };

	if (ioctl(fd, UFFDIO_REGISTER, &r))
		die("UFFDIO_REGISTER");
}

static void *map_anonymous(void *at, unsigned long size)
{
	void *p = mmap(at, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static void burn_ms(long ms, volatile int *stop)
{
	struct timespec now, begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms &&
	       !(stop && *stop));
}

static void ready(void)
{
	(void)!write(1, "READY\n", 6);
}

/* From now on the page's content never arrives. */
static void lose(int faults, char *page, unsigned long size, const char *path)
{
	int file = path ? open(path, O_RDONLY) : -1;

	if (path && (file < 0 || mmap(page, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
				      file, 0) == MAP_FAILED))
		die(path);
	if (path)
		return;
	madvise(page, size, MADV_DONTNEED);
	hold(faults, page, size);
}

/* Moves the thread state to a page far from all others. */
static struct thread *move_thread(void)
{
	struct thread *t = map_anonymous((void *)THREAD_AT, PAGE);

	*t = threads[0];
	interp[INTERP_THREADS / 8] = addr(t);
	return t;
}

struct shared {
	int faults; /* userfaultfd; -1: a file */
	int file;
	volatile int waiting;
	char page[PAGE] __attribute__((aligned(4096)));
};

/* The reader waits: keep it waiting while the other process becomes PROGRAM. */
static void let_wait(struct shared *s)
{
	s->waiting = 1;
	usleep(150000);
}

static int fill(const struct shared *s)
{
	struct uffdio_copy copy = { .dst = THREAD_AT, .src = (uintptr_t)s->page, .len = PAGE };

	return ioctl(s->faults, UFFDIO_COPY, &copy);
}

static void on_read(void *ctx, uint64_t unique, uint64_t offset, uint32_t size)
{
	static char pages[1 << 16];
	struct shared *s = ctx;

	let_wait(s);
	size = size < sizeof(pages) ? size : sizeof(pages);
	for (uint32_t at = 0; at < size; at += PAGE)
		memcpy(pages + at, s->page, PAGE);
	reply(unique, 0, pages, size);
}

/* Runs in a process of its own. */
static void answer(struct shared *s)
{
	struct uffd_msg msg;

	drop_rights(); /* the other process may not signal one of root's */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (s->faults < 0) {
		fuse_serve(-1, on_read, s);
	} else if (read(s->faults, &msg, sizeof(msg)) == sizeof(msg)) {
		let_wait(s);
		fill(s);
	}
	_exit(0);
}

static void page_goes(struct shared *s, int turn)
{
	if (s->faults >= 0)
		madvise((void *)THREAD_AT, PAGE, MADV_DONTNEED);
	else if (mmap((void *)THREAD_AT, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		      s->file, (off_t)turn * 16 * (off_t)PAGE) == MAP_FAILED)
		die("mmap of a late file");
}

static void page_comes(struct shared *s)
{
	if (s->faults >= 0)
		fill(s);
	else
		memcpy(map_anonymous((void *)THREAD_AT, PAGE), s->page, PAGE);
}

static void become(int faults, char *program, const char *folder)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct thread *t = move_thread();
	char *args[] = { program, NULL }, path[4096];

	/* Enough frames that an anchor pays. */
	for (int i = 0; i < 400; i++)
		link_frame(&frames[i], &codes[i ? 0 : 1], i < 399 ? &frames[i + 1] : &entry);
	memcpy(s->page, t, PAGE);
	s->faults = faults;
	if (folder && fuse_mount(folder))
		die("fuse");
	if (!folder)
		hold(faults, (char *)THREAD_AT, PAGE);
	if (!fork())
		answer(s);
	if (folder) {
		close(fuse);
		snprintf(path, sizeof(path), "%s/page", folder);
		s->file = open(path, O_RDONLY | O_CLOEXEC);
	}
	drop_rights();
	ready();
	/* krait writes to no thread younger than a second */
	usleep(700000);
	burn_ms(150, NULL);
	for (int turn = 0; turn < 60 && !s->waiting; turn++) {
		page_goes(s, turn);
		burn_ms(30, &s->waiting);
		if (s->waiting)
			break;
		page_comes(s);
		burn_ms(4, NULL);
	}
	if (s->waiting)
		execv(program, args);
	(void)!write(1, "VICTIM was not asked for\n", 25);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *file = argc > 2 ? argv[2] : NULL;
	int faults = -1;

	make_sound();
	_PyRuntime[HEAD / 8] = addr(interp);
	if (!strcmp(mode, "exec"))
		become(argc > 3 ? -1 : open_faults(), argv[2], argc > 3 ? argv[3] : NULL);
	if (!file)
		faults = open_faults();
	drop_rights();
	if (!strcmp(mode, "runtime")) {
		char *at = map_anonymous(NULL, sizeof(_PyRuntime));

		memcpy(at, _PyRuntime, sizeof(_PyRuntime));
		if (mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, _PyRuntime) == MAP_FAILED)
			die("mremap");
		lose(faults, (char *)_PyRuntime, PAGE, file);
	} else if (!strcmp(mode, "thread")) {
		lose(faults, (char *)move_thread(), PAGE, file);
	} else if (!strcmp(mode, "argv")) {
		lose(faults, ALIGN(argv[0]), PAGE, file);
	} else {
		return 2;
	}
	ready();
	for (volatile unsigned long i = 0;; i++)
		;
}
