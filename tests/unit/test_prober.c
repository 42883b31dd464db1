/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_prober.c - processes are inspected by helpers: answers are the same as our own would be, and
 * only what does not come back is given up.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_process.h"
#include "support_roles.h"
#include "support_stuck.h"
#include "process/probe/probed.h"
#include "process/probe/prober.h"
#include "process/probe/prober_judge.h"
#include "process/proc/proc.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/worker/worker.h"

#define PAGE 4096
#define PATIENCE_MS 20000

/* The result of an identification. */
struct seen {
	int calls, result;
	struct probe_found found;
	int fds[PROBE_FDS_MAX];
};

static void note(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct seen *s = ctx;

	s->calls++;
	s->result = result;
	memset(&s->found, 0, sizeof(s->found));
	if (data)
		memcpy(&s->found, data, len < sizeof(s->found) ? len : sizeof(s->found));
	for (int i = 0; i < PROBE_FDS_MAX; i++)
		s->fds[i] = take_fd(&fds[i]);
}

static void forget_fds(struct seen *s)
{
	for (int i = 0; i < PROBE_FDS_MAX; i++)
		cleanup_close_(&s->fds[i]);
}

static void ask(struct prober *p, pid_t pid, struct seen *s)
{
	const struct probe_request r = { .op = PROBE_IDENTIFY, .pid = pid };

	*s = (struct seen){ .fds = { -1, -1, -1 } };
	assert_int_equal(prober__ask(p, PROBER_LATER, &r, NULL, 0, note, s), 0);
}

static void await_all(struct prober *p)
{
	__u64 end_ns = clock_monotonic_ns() + PATIENCE_MS * 1000000ULL;

	while (prober__pending(p) && clock_monotonic_ns() < end_ns)
		prober__wait(p, 100);
	assert_int_equal(prober__pending(p), 0);
}

static struct prober *new_prober(void)
{
	struct prober *p = prober__new(PROBERS_MAX);

	assert_non_null(p);
	return p;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_python_is_identified_with_descriptors(void **state)
{
	struct fixture *f = *state;
	struct prober *p = new_prober();
	struct stat exe, file;
	struct seen s;
	char path[64];

	for (size_t i = 0; i < f->cnt; i++) {
		pid_t pid = process_start_python(&f->pythons[i]);

		ask(p, pid, &s);
		await_all(p);
		assert_int_equal(s.calls, 1);
		assert_int_equal(s.result, 0);
		f->process = s.found.process;
		process_check_python(f, &f->pythons[i]);
		assert_true(s.found.process.has_ids);
		assert_int_equal(s.found.process.uid, getuid());
		assert_true(s.found.process.dumpable);
		assert_true(s.found.context.known);
		assert_true(s.fds[0] >= 0 && s.fds[1] >= 0 && s.fds[2] >= 0);
		snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
		assert_int_equal(fstat(s.fds[2], &file), 0);
		if (s.found.process.build == PY_BUILD_EXE && !stat(path, &exe))
			assert_int_equal(file.st_ino, exe.st_ino);
		forget_fds(&s);
		process_stop(pid);
	}
	prober__free(p);
}

static void what_is_no_python_or_gone_has_no_descriptors(void **state)
{
	struct prober *p = new_prober();
	pid_t pid = process_start_sleep();
	struct seen none, gone;

	ask(p, pid, &none);
	ask(p, 0x7ffffff0, &gone);
	await_all(p);
	process_stop(pid);
	assert_int_equal(none.result, -ENOEXEC);
	assert_non_null(strstr(none.found.process.why, "sleep"));
	assert_int_equal(gone.result, -ESRCH);
	for (int i = 0; i < PROBE_FDS_MAX; i++) {
		assert_true(none.fds[i] < 0);
		assert_true(gone.fds[i] < 0);
	}
	prober__free(p);
}

static void another_process_of_that_number_is_not_taken_for_it(void **state)
{
	struct prober *p = new_prober();
	pid_t pid = process_fork_waiting(0, 0);
	__u64 ticks;
	struct probed *right, *wrong;

	assert_int_equal(process_start_ticks(pid, &ticks), 0);
	right = probed__open(p, pid, ticks, (struct probe_image){ 0 });
	wrong = probed__open(p, pid, ticks + 1, (struct probe_image){ 0 });
	assert_non_null(process_ids(right));
	assert_null(process_ids(wrong));
	probed__free(right);
	probed__free(wrong);
	end(pid);
	prober__free(p);
}

/* After an exec it is the same process, with another program: of that nothing is read. */
static void another_image_is_not_taken_for_it(void **state)
{
	struct prober *p = new_prober();
	pid_t pid = process_fork_waiting(0, 0);
	struct probed *right, *wrong, *known;
	struct proc_stat stat;

	assert_int_equal(proc_stat_read(pid, &stat), 0);
	assert_true(stat.start_stack > 1);
	right = probed__open(p, pid, stat.start_ticks,
			     (struct probe_image){ .image_addr = stat.start_stack });
	wrong = probed__open(p, pid, stat.start_ticks,
			     (struct probe_image){ .image_addr = stat.start_stack - 4096 });
	/* If only its runtime is known, there must be something. */
	known = probed__open(p, pid, stat.start_ticks, (struct probe_image){ 0, 4096 });
	assert_non_null(process_ids(right));
	assert_int_equal(process_ids(right)->image_addr, stat.start_stack);
	assert_null(process_ids(wrong));
	assert_null(probed__context(wrong, true, NULL));
	assert_null(process_ids(known));
	probed__free(right);
	probed__free(wrong);
	probed__free(known);
	end(pid);
	prober__free(p);
}

static void many_are_asked_at_once(void **state)
{
	enum { MANY = 500 };
	struct prober *p = new_prober();
	struct seen *all = calloc(MANY, sizeof(*all));

	for (int i = 0; i < MANY; i++)
		ask(p, getpid(), &all[i]);
	await_all(p);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(all[i].calls, 1);
		assert_int_equal(all[i].result, -ENOEXEC);
		assert_int_equal(all[i].found.process.pid, getpid());
	}
	free(all);
	prober__free(p);
}

static void who_is_forgotten_is_not_called(void **state)
{
	struct prober *p = new_prober();
	struct seen forgotten, other;

	ask(p, getpid(), &forgotten);
	ask(p, getpid(), &other);
	prober__step(p);
	prober__forget(p, &forgotten);
	await_all(p);
	assert_int_equal(forgotten.calls, 0);
	assert_int_equal(other.calls, 1);
	prober__free(p);
}

static void memory_is_read_through_it(void **state)
{
	static char text[3 * PROBE_READ_MAX], got[sizeof(text)];
	struct prober *p = new_prober();
	const struct memory *m;
	struct probed *probed;
	__u64 ticks;
	pid_t pid;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 7 / 3);
	pid = process_fork_waiting(NOBODY, NOBODY);
	assert_int_equal(process_start_ticks(pid, &ticks), 0);
	probed = probed__open(p, pid, ticks, (struct probe_image){ 0 });
	m = probed__memory(probed);
	assert_int_equal(memory_read(m, (__u64)(uintptr_t)text, got, sizeof(got)), 0);
	assert_memory_equal(text, got, sizeof(got));
	assert_int_equal(memory_read(m, 8, got, 8), -EFAULT);
	/* Its first page exists, the next does not: nothing of the read counts. */
	assert_int_equal(memory_read(m, ~0ULL - 4, got, 8), -EFAULT);
	end(pid);
	assert_int_equal(memory_read(m, (__u64)(uintptr_t)text, got, 8), -ESRCH);
	probed__free(probed);
	prober__free(p);
}

static size_t trails, reads;

static void count_reads(void *ctx, const struct probe_request *r, int result, const void *data,
			size_t len, const int fds[PROBE_FDS_MAX])
{
	trails += r->op == PROBE_TRAIL;
	reads += r->op == PROBE_READ;
}

/* One object whose pointers lead to others: whole, to the end of what is mapped, to nothing, and to what says it is another's. */
static void what_an_object_leads_to_comes_with_it(void **state)
{
	static const char name[100] = "name", late[100] = "late";
	static struct {
		const void *to[4];
	} object;
	const __u64 addr = (__u64)(uintptr_t)&object;
	struct memory_trail trail = { .len = sizeof(object),
				      .cnt = 3,
				      .to = { { 0, 100 }, { 8, 100 }, { 24, 100 } } };
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct prober *p = new_prober();
	const struct memory *m;
	struct probed *probed;
	char got[200];
	__u64 ticks;
	pid_t pid;

	trails = reads = 0;
	assert_true(pages != MAP_FAILED);
	munmap(pages + PAGE, PAGE);
	memset(pages, 7, PAGE);
	object.to[0] = name;
	object.to[1] = pages + PAGE - 60;
	object.to[2] = late;
	object.to[3] = (const void *)8;
	pid = process_fork_waiting(NOBODY, NOBODY);
	assert_int_equal(process_start_ticks(pid, &ticks), 0);
	probed = probed__open(p, pid, ticks, (struct probe_image){ 0 });
	m = probed__memory(probed);
	prober__tap(p, count_reads, NULL);
	memory_expect(m, addr, &trail);
	assert_int_equal(memory_read(m, addr, got, sizeof(object)), 0);
	assert_memory_equal(got, &object, sizeof(object));
	assert_int_equal(memory_read(m, (__u64)(uintptr_t)name + 2, got, 98), 0);
	assert_memory_equal(got, name + 2, 98);
	assert_int_equal(memory_read(m, (__u64)(uintptr_t)object.to[1], got, 60), 0);
	assert_memory_equal(got, object.to[1], 60);
	assert_int_equal(trails, 1);
	assert_int_equal(reads, 0);
	/* What did not come with it is read by itself. */
	assert_int_equal(memory_read(m, (__u64)(uintptr_t)object.to[1], got, 61), -EFAULT);
	assert_int_equal(memory_read(m, 8, got, 8), -EFAULT);
	assert_int_equal(memory_read(m, (__u64)(uintptr_t)late, got, 8), 0);
	assert_memory_equal(got, late, 8);
	assert_int_equal(reads, 3);
	/* Nothing is kept afterwards, nor after what cannot be read. */
	memory_expect(m, 0, NULL);
	assert_int_equal(memory_read(m, addr, got, 8), 0);
	memory_expect(m, addr, &trail);
	memory_expect(m, 8, &trail);
	assert_int_equal(memory_read(m, addr, got, 8), 0);
	assert_int_equal(reads, 5);
	/* Pointers and sizes beyond the object or an answer. */
	trail.to[0].offset = sizeof(object) - 7;
	memory_expect(m, addr, &trail);
	trail.to[0].offset = 0;
	trail.to[0].size = PROBE_READ_MAX;
	memory_expect(m, addr, &trail);
	trail.to[0].size = 100;
	trail.cnt = MEMORY_TRAIL_MAX + 1;
	memory_expect(m, addr, &trail);
	assert_int_equal(memory_read(m, addr, got, 8), 0);
	assert_int_equal(reads, 6);
	end(pid);
	probed__free(probed);
	prober__free(p);
	munmap(pages, PAGE);
}

static void a_prober_that_dies_costs_one_answer(void **state)
{
	struct prober *p = new_prober();
	struct pollfd fds[PROBERS_MAX];
	char line[64];
	struct seen s;
	FILE *f;
	int pid = 0;

	ask(p, getpid(), &s);
	await_all(p);
	snprintf(line, sizeof(line), "pgrep -P %d krait-prober", (int)getpid());
	f = popen(line, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	pclose(f);
	kill(pid, SIGKILL);
	ask(p, getpid(), &s);
	await_all(p);
	assert_int_equal(s.calls, 1);
	ask(p, getpid(), &s);
	await_all(p);
	assert_int_equal(s.result, -ENOEXEC);
	assert_int_equal(prober__poll(p, fds), 1);
	prober__free(p);
}

/* ---- what does not come back ------------------------------------------------------------------ */

/* A process with a page that never arrives. */
struct trap {
	char *page;
	pid_t pid;
};

static void set_trap(struct trap *t, const struct stuck *stuck, uid_t uid)
{
	int fd = open(stuck->file, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	t->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(t->page, MAP_FAILED);
	t->pid = process_fork_waiting(uid, uid);
	munmap(t->page, PAGE);
	close(fd);
}

static struct probed *open_process(struct prober *p, pid_t pid)
{
	struct probed *probed;
	__u64 ticks;

	assert_int_equal(process_start_ticks(pid, &ticks), 0);
	probed = probed__open(p, pid, ticks, (struct probe_image){ 0 });
	assert_non_null(process_ids(probed));
	return probed;
}

static void who_hangs_its_readers_keeps_nobody_else_waiting(void **state)
{
	struct prober *p = new_prober();
	struct probed *hangs, *fine;
	struct stuck stuck;
	struct trap trap;
	__u64 begin_ns;
	pid_t pid;
	char byte;

	if (!stuck_mount(&stuck)) {
		prober__free(p);
		return;
	}
	set_trap(&trap, &stuck, 0);
	pid = process_fork_waiting(0, 0);
	hangs = open_process(p, trap.pid);
	fine = open_process(p, pid);
	begin_ns = clock_monotonic_ns();
	assert_int_equal(memory_read(probed__memory(hangs), (uintptr_t)trap.page, &byte, 1),
			 -EAGAIN);
	/* Not given up yet, but not asked again either; the other process is read at once. */
	assert_int_equal(memory_read(probed__memory(hangs), (uintptr_t)&byte, &byte, 1), -EAGAIN);
	assert_null(probed__refused(hangs));
	assert_int_equal(memory_read(probed__memory(fine), (uintptr_t)&p, &byte, 1), 0);
	assert_true(clock_monotonic_ns() - begin_ns < PROBER_HUNG_NS);
	while (!probed__refused(hangs) &&
	       clock_monotonic_ns() - begin_ns < PATIENCE_MS * 1000000ULL)
		prober__wait(p, 50);
	assert_string_equal(probed__refused(hangs), PROBED_HUNG);
	assert_int_equal(memory_read(probed__memory(hangs), (uintptr_t)&p, &byte, 1), -EPERM);
	assert_int_equal(memory_read(probed__memory(fine), (uintptr_t)&p, &byte, 1), 0);
	assert_int_equal(prober__hung_cnt(p), 1);
	probed__free(hangs);
	probed__free(fine);
	end(pid);
	prober__free(p);
	stuck_unmount(&stuck);
	end(trap.pid);
}

static void after_a_few_the_owner_is_left_alone_but_not_root(void **state)
{
	struct trap traps[OFFENDERS_PATIENCE + 1];
	struct stuck stuck;
	struct probed *probed[OFFENDERS_PATIENCE];
	struct prober *p = new_prober();
	struct probe_request r = { .op = PROBE_IDENTIFY };
	struct seen s = { 0 };
	char byte;

	if (!stuck_mount(&stuck)) {
		prober__free(p);
		return;
	}
	for (int i = 0; i < OFFENDERS_PATIENCE + 1; i++)
		set_trap(&traps[i], &stuck, NOBODY);
	for (int i = 0; i < OFFENDERS_PATIENCE; i++)
		probed[i] = open_process(p, traps[i].pid);
	for (int i = 0; i < OFFENDERS_PATIENCE; i++)
		(void)memory_read(probed__memory(probed[i]), (uintptr_t)traps[i].page, &byte, 1);
	for (int ms = 0; ms < PATIENCE_MS && prober__hung_cnt(p) < OFFENDERS_PATIENCE; ms += 50)
		prober__wait(p, 50);
	assert_int_equal(prober__hung_cnt(p), OFFENDERS_PATIENCE);
	r.pid = traps[OFFENDERS_PATIENCE].pid;
	assert_int_equal(prober__ask(p, PROBER_LATER, &r, NULL, 0, note, &s), -EUSERS);
	r.pid = getpid();
	assert_int_equal(prober__ask(p, PROBER_LATER, &r, NULL, 0, note, &s),
			 getuid() ? -EUSERS : 0);
	await_all(p);
	for (int i = 0; i < OFFENDERS_PATIENCE; i++)
		probed__free(probed[i]);
	assert_true(worker__dying() >= OFFENDERS_PATIENCE);
	stuck_unmount(&stuck);
	for (int i = 0; i < OFFENDERS_PATIENCE + 1; i++)
		end(traps[i].pid);
	prober__free(p);
}

static void ask_source(struct prober *p, pid_t pid, const char *path, struct seen *s)
{
	struct probe_request r = { .op = PROBE_SOURCE, .pid = pid, .source = { .all = true } };
	cleanup_close int dir = proc_open(pid), mem = open("/dev/null", O_RDONLY);
	const int fds[] = { dir, mem };
	struct proc_ids ids;

	assert_int_equal(proc_ids_at(dir, &ids), 0);
	r.source.ids = (struct task_ids){ ids.fsuid, ids.fsgid, proc_groups(&ids) };
	snprintf(r.source.path, sizeof(r.source.path), "%s", path);
	*s = (struct seen){ .fds = { -1, -1, -1 } };
	s->result = prober__ask(p, PROBER_LATER, &r, fds, 2, note, s);
	await_all(p);
}

static void a_file_that_hangs_is_no_fault_of_its_owners_processes(void **state)
{
	struct prober *p = new_prober();
	struct stuck stuck;
	struct seen s;
	pid_t pid;

	if (getuid() || !stuck_mount(&stuck)) {
		prober__free(p);
		return;
	}
	pid = process_fork_waiting(NOBODY, NOBODY);
	for (int i = 0; i < OFFENDERS_PATIENCE; i++) {
		ask_source(p, pid, stuck.file, &s);
		assert_int_equal(s.result, i ? -EUSERS : -ETIMEDOUT);
	}
	assert_int_equal(prober__hung_cnt(p), 0);
	ask(p, pid, &s);
	await_all(p);
	assert_int_not_equal(s.result, -EUSERS);
	forget_fds(&s);
	end(pid);
	stuck_unmount(&stuck);
	prober__free(p);
}

/* ---- mappings, files --------------------------------------------------------------------------- */

static void mappings_are_those_of_the_process(void **state)
{
	struct prober *p = new_prober();
	pid_t pid = process_fork_waiting(0, 0);
	struct probed *probed = open_process(p, pid);
	__u64 here = (uintptr_t)mappings_are_those_of_the_process;
	const struct probe_mapped_file *file;
	struct probe_file opened;
	struct probe_maps m;
	struct stat st;
	bool seen = false;

	assert_int_equal(probed__maps(probed, &m), 0);
	for (unsigned i = 0; i < m.mapping_cnt; i++) {
		const struct probe_mapping *one = &m.mappings[i];
		int fd;

		if (here < one->start || here >= one->end)
			continue;
		seen = true;
		assert_true(one->file > 0);
		file = &m.files[one->file - 1];
		assert_non_null(strstr(probe_maps_name(&m, file), "test_prober"));
		assert_int_equal(stat("/proc/self/exe", &st), 0);
		assert_true(file->has_id);
		assert_int_equal(file->id.ino, st.st_ino);
		fd = probed__open_mapped(probed, one, file->inode, probe_maps_name(&m, file),
					 &opened);
		assert_true(fd >= 0);
		assert_true(file_id_same(&opened.id, &file->id));
		assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
		close(fd);
	}
	assert_true(seen);
	probe_maps_free(&m);
	probed__free(probed);
	end(pid);
	prober__free(p);
}

/* As of a library that the loader is mapping: numpy's libstdc++ on arm64. Its name says nothing, as in a chroot. */
static void a_mapping_has_become_smaller(void **state)
{
	char name[] = "/tmp/krait-mapped-XXXXXX";
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct prober *p = new_prober();
	struct probed *probed = open_process(p, getpid());
	int fd = mkstemp(name), opened;
	struct probe_file file;
	struct stat st;
	char *at;

	assert_int_equal(ftruncate(fd, (off_t)(2 * page)), 0);
	assert_int_equal(fstat(fd, &st), 0);
	at = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	unlink(name);
	assert_int_equal(mprotect(at + page, page, PROT_NONE), 0);
	opened = probed__open_mapped(
		probed, &(struct probe_mapping){ .start = (__u64)at, .end = (__u64)at + 2 * page },
		st.st_ino, name, &file);
	assert_true(opened >= 0);
	assert_int_equal(file.id.ino, st.st_ino);
	close(opened);
	munmap(at, 2 * page);
	close(fd);
	probed__free(probed);
	prober__free(p);
}

static void a_fifo_under_the_name_of_a_file_is_not_opened(void **state)
{
	char name[] = "/tmp/krait-fifo-XXXXXX";
	const struct probe_mapping none = { .start = 1, .end = 2 };
	struct prober *p = new_prober();
	struct probed *probed = open_process(p, getpid());
	struct probe_file file;

	close(mkstemp(name));
	unlink(name);
	assert_int_equal(mkfifo(name, 0666), 0);
	assert_int_equal(probed__open_mapped(probed, &none, 0, name, &file), -ENOEXEC);
	assert_int_equal(probed__open_mapped(probed, &none, 0, "/dev/null", &file), -ENOEXEC);
	assert_int_equal(probed__open_mapped(probed, &none, 0, "/proc/self/fd/0", &file), -ELOOP);
	unlink(name);
	probed__free(probed);
	prober__free(p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_python_is_identified_with_descriptors),
		cmocka_unit_test(what_is_no_python_or_gone_has_no_descriptors),
		cmocka_unit_test(another_process_of_that_number_is_not_taken_for_it),
		cmocka_unit_test(another_image_is_not_taken_for_it),
		cmocka_unit_test(many_are_asked_at_once),
		cmocka_unit_test(who_is_forgotten_is_not_called),
		cmocka_unit_test(memory_is_read_through_it),
		cmocka_unit_test(what_an_object_leads_to_comes_with_it),
		cmocka_unit_test(a_prober_that_dies_costs_one_answer),
		cmocka_unit_test(who_hangs_its_readers_keeps_nobody_else_waiting),
		cmocka_unit_test(a_file_that_hangs_is_no_fault_of_its_owners_processes),
		cmocka_unit_test(after_a_few_the_owner_is_left_alone_but_not_root),
		cmocka_unit_test(mappings_are_those_of_the_process),
		cmocka_unit_test(a_mapping_has_become_smaller),
		cmocka_unit_test(a_fifo_under_the_name_of_a_file_is_not_opened),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, process_setup, process_teardown);
}
