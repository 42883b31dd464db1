/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_perf_map.c - the text of perf maps, and where they may be written: the folder belongs to the
 * profiled process, which may have put anything there.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "capture/perfmap/perf_map.h"
#include "record/run/pid_starts.h"
#include "support_folder.h"
#include "support_profile.h"
#include "capture/perfmap/perf_map_file.h"

/* ---- text ------------------------------------------------------------------------------------- */

struct text {
	int pid;
	char *text;
	size_t size;
};

struct texts {
	struct text list[8];
	int cnt;
	int refused; /* a pid for which there is no file */
	int full; /* one whose file has no room */
	int failed_pid, failed_err;
};

static FILE *open_text(void *ctx, int pid)
{
	struct texts *t = ctx;
	struct text *one = &t->list[t->cnt];

	if (pid == t->refused)
		return NULL;
	if (pid == t->full)
		return fopen("/dev/full", "we");
	assert_in_range(t->cnt++, 0, 7);
	one->pid = pid;
	return open_memstream(&one->text, &one->size);
}

static void not_written(void *ctx, int pid, int err)
{
	struct texts *t = ctx;

	t->failed_pid = pid;
	t->failed_err = err;
}

static int write_maps(struct dso *d, const struct dict *dict, struct texts *t)
{
	const struct perf_map_files files = { .open = open_text, .failed = not_written, .ctx = t };

	return perf_maps_write(d, dict, &files);
}

static void free_texts(struct texts *t)
{
	for (int i = 0; i < t->cnt; i++)
		free(t->list[i].text);
	memset(t, 0, sizeof(*t));
}

/* Two processes with one function in common. */
static struct profile *two_processes(void)
{
	struct profile *p = profile__new();
	__u32 both = add_function(p, "both", "/srv/a.py", 1, 2);
	__u32 again = add_function(p, "both", "/srv/a.py", 1, 3);
	__u32 one = push(p, push(p, 0, add_process(p, "py", 20)), add_thread(p, "py", 20, 20));
	__u32 two = push(p, push(p, 0, add_process(p, "py", 10)), add_thread(p, "py", 10, 11));

	add_samples(p, push(p, push(p, one, both), add_function(p, "secret", "/srv/b.py", 4, 5)),
		    1);
	add_samples(p, push(p, one, again), 1);
	add_samples(p, push(p, push(p, two, both), add_mark(p, "[truncated]")), 1);
	return p;
}

static void each_process_has_what_was_met_in_it(void **state)
{
	struct profile *p = two_processes();
	struct dso *d = dso__new();
	struct texts t = { 0 };

	assert_int_equal(write_maps(d, p->dict, &t), 0);
	assert_int_equal(t.cnt, 2);
	assert_int_equal(t.list[0].pid, 10);
	assert_int_equal(t.list[1].pid, 20);
	for (int i = 0; i < 2; i++) {
		unsigned long long last = 0, start, size;
		char *line, *rest = NULL, name[128];

		assert_memory_equal(t.list[i].text, PERF_MAP_FIRST_LINE,
				    strlen(PERF_MAP_FIRST_LINE));
		assert_non_null(strstr(t.list[i].text, "py::both:"));
		for (line = strtok_r(t.list[i].text, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest)) {
			assert_int_equal(sscanf(line, "%llx %llx %127[^\n]", &start, &size, name),
					 3);
			assert_true(start >= last && size >= 4 && !(size % 4));
			last = start + size;
			/* A function that only one of them has is not in the other's map. */
			assert_true(i || !strstr(name, "secret"));
			assert_true(!i || !strstr(name, "truncated"));
		}
	}
	free_texts(&t);
	t.refused = 10;
	assert_int_equal(write_maps(d, p->dict, &t), 0);
	assert_int_equal(t.cnt, 1);
	assert_non_null(strstr(t.list[0].text, "py::secret:"));
	free_texts(&t);
	dso__free(d);
	profile__free(p);
}

/*
 * A process may choose a /tmp without room: that must not affect other processes' files or the
 * capture.
 */
static void a_file_without_room_is_no_others_concern(void **state)
{
	struct profile *p = two_processes();
	struct dso *d = dso__new();
	struct texts t = { .full = 10 };

	assert_int_equal(write_maps(d, p->dict, &t), 0);
	assert_int_equal(t.failed_pid, 10);
	assert_int_equal(t.failed_err, -ENOSPC);
	assert_int_equal(t.cnt, 1);
	assert_int_equal(t.list[0].pid, 20);
	assert_non_null(strstr(t.list[0].text, "py::secret:"));
	free_texts(&t);
	dso__free(d);
	profile__free(p);
}

/* Each place of a stack lies in a function with that name. */
static void addresses_are_those_of_the_capture(void **state)
{
	struct profile *p = large_profile(3000);
	struct dso *d = dso__new();
	struct texts t = { 0 };
	__u64 address, start, size;
	int found = 0, asked = 0;

	for (__u32 i = 1; i <= dict__frame_cnt(p->dict); i++)
		dso__address(d, p->dict, i);
	assert_int_equal(write_maps(d, p->dict, &t), 0);
	assert_true(t.cnt > 0);
	for (__u32 i = 1; i <= dict__node_cnt(p->dict); i += 7) {
		__u32 frame = dict__node_at(p->dict, i)->frame;
		const struct profile_frame *f = dict__frame_at(p->dict, frame);

		if (f->kind != FRAME_PYTHON)
			continue;
		asked++;
		address = dso__address(d, p->dict, frame);
		for (int k = 0; k < t.cnt; k++) {
			bool here = false;

			for (const char *line = t.list[k].text; *line;
			     line = strchr(line, '\n') + 1) {
				if (sscanf(line, "%llx %llx ", &start, &size) == 2 &&
				    address > start && address <= start + size)
					here = true;
			}
			if (here) {
				found++;
				break;
			}
		}
	}
	assert_true(asked > 50);
	assert_int_equal(found, asked);
	free_texts(&t);
	dso__free(d);
	profile__free(p);
}

/* ---- files ------------------------------------------------------------------------------------ */

#define FIRST "100 4 first\n"

struct root {
	char path[64], tmp[80], map[96], other[96];
	int fd;
};

static void root_open(struct root *r)
{
	test_folder_make(r->path);
	snprintf(r->tmp, sizeof(r->tmp), "%s/tmp", r->path);
	snprintf(r->map, sizeof(r->map), "%s/perf-77.map", r->tmp);
	snprintf(r->other, sizeof(r->other), "%s/other", r->path);
	assert_int_equal(mkdir(r->tmp, 0700), 0);
	assert_int_equal(chmod(r->tmp, 01777), 0);
	r->fd = open(r->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(r->fd >= 0);
}

static void root_close(struct root *r)
{
	close(r->fd);
	test_folder_remove(r->path);
}

/* Opens, and writes a word if allowed. Returns the result of opening. */
static int try(const struct root *r, bool trusted)
{
	const struct perf_map_place place = { .root_fd = r->fd,
					      .trusted = trusted,
					      .pid = 77,
					      .known = true,
					      .ids.euid = geteuid() };
	char path[64];
	int fd = perf_map_file_open(&place, FIRST, path, sizeof(path));

	if (fd < 0)
		return fd;
	assert_int_equal(write(fd, "new", 3), 3);
	close(fd);
	return 0;
}

/* If another process has the pid by now, the file goes where those of ended processes are. */
static void a_pid_that_is_anothers_by_now_is_nobodys(void **state)
{
	struct perf_map_place place;
	struct proc_stat stat;

	assert_int_equal(proc_stat_read(getpid(), &stat), 0);
	assert_int_equal(perf_map_file_find(getpid(), stat.start_ticks, &place), 0);
	assert_true(place.known);
	close(place.root_fd);
	assert_int_equal(perf_map_file_find(getpid(), stat.start_ticks + 1, &place), 0);
	assert_false(place.known);
	assert_true(place.trusted);
	close(place.root_fd);
	assert_int_equal(perf_map_file_find(getpid(), 0, &place), 0);
	assert_false(place.known);
	close(place.root_fd);
}

/* Who ended, who has the pid now, and who began when. */
static void a_pid_of_several_processes_stands_for_none(void **state)
{
	const __u64 tick = KRAIT_NS_PER_TICK;
	struct pid_starts s = { 0 };

	assert_int_equal(pid_starts_only(&s, 5, 0), 0);
	assert_int_equal(pid_starts_only(&s, 5, 100 * tick), 100 * tick);
	pid_starts_add(&s, 5, 100 * tick); /* it has executed something */
	pid_starts_add(&s, 6, 200 * tick);
	pid_starts_add(&s, 7, 300 * tick);
	pid_starts_add(&s, 6, 400 * tick);
	assert_int_equal(pid_starts_only(&s, 5, 100 * tick), 100 * tick);
	assert_int_equal(pid_starts_only(&s, 5, 0), 100 * tick);
	assert_int_equal(pid_starts_only(&s, 5, 500 * tick), 0);
	assert_int_equal(pid_starts_only(&s, 6, 0), 0);
	assert_int_equal(pid_starts_only(&s, 6, 400 * tick), 0);
	assert_int_equal(pid_starts_only(&s, 7, 0), 300 * tick);
	pid_starts_add(&s, 7, 300 * tick + 1);
	assert_int_equal(pid_starts_only(&s, 7, 0) / tick, 300);
	pid_starts_free(&s);
}

/* Processes that take turns with a few pids, as many as another process likes. */
static void a_flood_of_processes_is_not_remembered_one_by_one(void **state)
{
	const __u64 tick = KRAIT_NS_PER_TICK;
	struct pid_starts s = { 0 };

	/* One that executed something, and was asked by the clock in between. */
	pid_starts_add(&s, 1, 5 * tick + 3);
	for (unsigned i = 0; i < 300000; i++)
		pid_starts_add(&s, 100 + (pid_t)(i % 1000), (7 + i) * tick);
	pid_starts_add(&s, 1, 5 * tick);
	assert_in_range(s.cap, 1001, 4 * 1001);
	assert_int_equal(pid_starts_only(&s, 1, 5 * tick), 5 * tick + 3);
	assert_int_equal(pid_starts_only(&s, 1, 5 * tick + 4), 0);
	assert_int_equal(pid_starts_only(&s, 2, 9 * tick), 9 * tick);
	for (unsigned i = 0; i < 1000; i++) {
		pid_t pid = 100 + (pid_t)i;

		/* Neither the first nor the last of them, nor anybody else. */
		assert_int_equal(pid_starts_only(&s, pid, 0), 0);
		assert_int_equal(pid_starts_only(&s, pid, (7 + i) * tick), 0);
		assert_int_equal(pid_starts_only(&s, pid, (7 + i + 299000) * tick), 0);
		assert_int_equal(pid_starts_only(&s, pid, (400000 + i) * tick), 0);
	}
	pid_starts_free(&s);
}

/* Each has a pid of its own: the list grows with them, and each is known. */
static void the_starts_of_many_pids_are_known(void **state)
{
	const __u64 tick = KRAIT_NS_PER_TICK;
	struct pid_starts s = { 0 };

	for (unsigned i = 50000; i; i--)
		pid_starts_add(&s, (pid_t)i, (7 + i) * tick);
	for (unsigned i = 1; i <= 50000; i++)
		assert_int_equal(pid_starts_only(&s, (pid_t)i, 0), (7 + i) * tick);
	/* The second process of one of them, after everybody was asked for. */
	pid_starts_add(&s, 77, 60000 * tick);
	assert_int_equal(pid_starts_only(&s, 77, 60000 * tick), 0);
	assert_int_equal(pid_starts_only(&s, 78, 0), 85 * tick);
	pid_starts_free(&s);
}

static void a_map_is_a_new_file(void **state)
{
	struct stat st;
	struct root r;

	root_open(&r);
	assert_int_equal(try(&r, false), 0);
	assert_file(r.map, "new");
	assert_int_equal(stat(r.map, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	root_close(&r);
}

static void only_our_own_is_replaced(void **state)
{
	struct root r;

	root_open(&r);
	test_file_put(r.map, FIRST "200 4 old\n");
	assert_int_equal(try(&r, false), 0);
	assert_file(r.map, "new");
	test_file_put(r.map, "7f00 10 py::of_cpython:/a.py\n");
	assert_int_equal(try(&r, false), -EEXIST);
	assert_file(r.map, "7f00 10 py::of_cpython:/a.py\n");
	test_file_put(r.map, "100");
	assert_int_equal(try(&r, false), -EEXIST);
	root_close(&r);
}

/* Anything in its place is neither followed, nor written to, nor waited for. */
static void traps_in_its_place_are_left_alone(void **state)
{
	struct root r;

	root_open(&r);
	test_file_put(r.other, FIRST);
	assert_int_equal(symlink(r.other, r.map), 0);
	assert_int_equal(try(&r, false), -EEXIST);
	assert_file(r.other, FIRST);
	assert_int_equal(unlink(r.map), 0);
	assert_int_equal(link(r.other, r.map), 0);
	assert_int_equal(try(&r, false), -EEXIST);
	assert_file(r.other, FIRST);
	assert_int_equal(unlink(r.map), 0);
	assert_int_equal(symlink("/nowhere/at/all", r.map), 0);
	assert_int_equal(try(&r, false), -EEXIST);
	assert_int_equal(unlink(r.map), 0);
	assert_int_equal(mkfifo(r.map, 0600), 0);
	assert_int_equal(try(&r, false), -EEXIST);
	assert_int_equal(unlink(r.map), 0);
	assert_int_equal(mkdir(r.map, 0700), 0);
	assert_int_equal(try(&r, false), -EEXIST);
	root_close(&r);
}

/* A link as /tmp is followed only below our own root, and never out of it. */
static void a_linked_folder_is_trusted_only_if_it_is_ours(void **state)
{
	struct root r;

	root_open(&r);
	assert_int_equal(rmdir(r.tmp), 0);
	assert_int_equal(try(&r, false), -ENOENT);
	assert_int_equal(mkdir(r.other, 0700), 0);
	assert_int_equal(symlink("other", r.tmp), 0);
	assert_int_equal(try(&r, false), -ELOOP);
	assert_int_equal(try(&r, true), 0);
	assert_file(r.map, "new");
	assert_int_equal(unlink(r.tmp), 0);
	assert_int_equal(symlink("../../../../../../etc", r.tmp), 0);
	assert_int_equal(try(&r, false), -ELOOP);
	assert_int_equal(try(&r, true), -ENOENT);
	assert_int_equal(unlink(r.tmp), 0);
	test_file_put(r.tmp, "a file");
	assert_int_equal(try(&r, false), -ENOTDIR);
	root_close(&r);
}

/* No files in a folder that others could move away or that is not fit to be a /tmp. */
static void a_folder_that_is_no_tmp_is_refused(void **state)
{
	struct root r;

	root_open(&r);
	assert_int_equal(chmod(r.tmp, 0777), 0);
	assert_int_equal(try(&r, false), -EPERM);
	assert_int_equal(chmod(r.tmp, 0755), 0);
	assert_int_equal(try(&r, false), -EPERM);
	assert_int_equal(try(&r, true), 0);
	if (!geteuid()) {
		assert_int_equal(unlink(r.map), 0);
		assert_int_equal(chown(r.tmp, 61003, 61003), 0);
		assert_int_equal(chmod(r.tmp, 01777), 0);
		assert_int_equal(try(&r, false), -EPERM);
	}
	root_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_process_has_what_was_met_in_it),
		cmocka_unit_test(addresses_are_those_of_the_capture),
		cmocka_unit_test(a_file_without_room_is_no_others_concern),
		cmocka_unit_test(a_pid_that_is_anothers_by_now_is_nobodys),
		cmocka_unit_test(a_pid_of_several_processes_stands_for_none),
		cmocka_unit_test(a_flood_of_processes_is_not_remembered_one_by_one),
		cmocka_unit_test(the_starts_of_many_pids_are_known),
		cmocka_unit_test(a_map_is_a_new_file),
		cmocka_unit_test(only_our_own_is_replaced),
		cmocka_unit_test(traps_in_its_place_are_left_alone),
		cmocka_unit_test(a_folder_that_is_no_tmp_is_refused),
		cmocka_unit_test(a_linked_folder_is_trusted_only_if_it_is_ours),
	};

	return cmocka_run_group_tests_name("perf map", tests, NULL, NULL);
}
