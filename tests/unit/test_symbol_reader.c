/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbol_reader.c - symbols of files whose parsers die, hang, compute for ever or are late:
 * other owners' files do not suffer.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_told_parser.h"
#include "native/names/reader_waits.h"
#include "native/names/symbol_parser.h"
#include "native/names/symbol_reader.h"
#include "base/system/clock.h"
#include "base/worker/role.h"

#define SELF "/proc/self/exe"
#define SOME_UID 4242

static struct symbol_file file_of(const char *order, uid_t owner)
{
	struct symbol_file f = { .fd = -1, .debug_fd = -1, .owner = owner, .size = 1 << 20 };

	f.fd = order ? told_parser_order(order) : open(SELF, O_RDONLY | O_CLOEXEC);
	assert_true(f.fd >= 0);
	return f;
}

static void a_file_that_kills_costs_no_other_its_names(void **state)
{
	static const char *const orders[] = { "die", "hang", "die" };
	struct symbol_reader *r = symbol_reader__new();
	struct symbol_file good = file_of(NULL, SOME_UID), roots = file_of(NULL, 0);
	const struct parser_found *found;
	struct parser_opened opened;
	const __u64 offset = 4096;
	pid_t parser;

	assert_int_equal(symbol_reader__open(r, &roots, &opened), 0);
	parser = roots.number;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct symbol_file evil = file_of(orders[i], SOME_UID);

		assert_int_equal(symbol_reader__open(r, &good, &opened), 0);
		assert_true(symbol_reader__open(r, &evil, &opened) < 0);
		assert_true(evil.bad);
		assert_true(symbol_reader__open(r, &evil, &opened) < 0);
		assert_int_equal(symbol_reader__find(r, &good, &offset, 1, &found), 0);
		assert_false(good.bad);
		symbol_reader__close(r, &evil);
	}
	/* Root's parser has not noticed. */
	assert_int_equal(symbol_reader__find(r, &roots, &offset, 1, &found), 0);
	assert_int_equal(roots.number, parser);
	symbol_reader__close(r, &good);
	symbol_reader__close(r, &roots);
	symbol_reader__free(r);
}

static void an_owner_has_no_more_than_its_share_of_the_time(void **state)
{
	struct symbol_reader *r = symbol_reader__new();
	struct symbol_file roots = file_of(NULL, 0);
	struct parser_opened opened;
	__u64 begin_ns = clock_monotonic_ns();
	int err = 0;

	for (int i = 0; i < 100 && err != -EAGAIN; i++) {
		struct symbol_file evil = file_of("hang", SOME_UID);

		err = symbol_reader__open(r, &evil, &opened);
		symbol_reader__close(r, &evil);
	}
	assert_int_equal(err, -EAGAIN);
	assert_true(clock_monotonic_ns() - begin_ns < 20 * NS_PER_SEC);
	assert_int_equal(symbol_reader__open(r, &roots, &opened), 0);
	symbol_reader__close(r, &roots);
	symbol_reader__free(r);
}

/* More files than a parser can have open: they take turns. */
static void there_is_room_for_any_number_of_files(void **state)
{
	static struct symbol_file files[PARSER_FILES_MAX + 20];
	struct symbol_reader *r = symbol_reader__new();
	const struct parser_found *found;
	struct parser_opened opened;
	const __u64 offset = 4096;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		files[i] = file_of(NULL, 0);
		assert_int_equal(symbol_reader__open(r, &files[i], &opened), 0);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_int_equal(symbol_reader__find(r, &files[i], &offset, 1, &found), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		symbol_reader__close(r, &files[i]);
	symbol_reader__free(r);
}

/* An idle parser is restarted for the next question; a recently busy one is left alone. */
static void a_parser_with_nothing_to_do_gives_its_memory_back(void **state)
{
	struct symbol_reader *r = symbol_reader__new();
	struct symbol_file file = file_of(NULL, 0);
	const struct parser_found *found;
	struct parser_opened opened;
	const __u64 offset = 4096;

	assert_int_equal(symbol_reader__open(r, &file, &opened), 0);
	symbol_reader__rest(r, 3600 * NS_PER_SEC);
	assert_non_null(file.parser);
	symbol_reader__rest(r, 0);
	assert_null(file.parser);
	assert_int_equal(symbol_reader__find(r, &file, &offset, 1, &found), 0);
	assert_non_null(file.parser);
	symbol_reader__close(r, &file);
	symbol_reader__free(r);
}

static bool pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Makes a process that leaves its CPU to others only as far as the kernel enforces; 0: not
 * permitted.
 */
static pid_t occupy(unsigned cpu)
{
	const struct sched_param lowest = { .sched_priority = 1 };
	pid_t pid = fork();
	int status;

	if (pid) {
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		return WIFSTOPPED(status) ? pid : 0;
	}
	/* Limited, whatever happens to us. */
	alarm(20);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || !pin(cpu) ||
	    sched_setscheduler(0, SCHED_RR, &lowest))
		_exit(1);
	raise(SIGSTOP);
	for (;;)
		;
}

/* A parser started while we are on CPU 1 can run only there; afterwards we run on CPU 0. */
struct crowded {
	cpu_set_t before;
	pid_t hog;
};

/* Skips the test if that is impossible. */
static void crowd_begin(struct crowded *c, struct symbol_reader *r)
{
	assert_int_equal(sched_getaffinity(0, sizeof(c->before), &c->before), 0);
	c->hog = CPU_ISSET(0, &c->before) && CPU_ISSET(1, &c->before) ? occupy(1) : 0;
	if (!c->hog)
		skip();
	symbol_reader__hurry(r);
	/* Workers inherit it. */
	assert_true(pin(1));
}

/* From now on parsers get no CPU. */
static void crowd_out(const struct crowded *c)
{
	assert_true(pin(0));
	kill(c->hog, SIGCONT);
}

static void crowd_leaves(const struct crowded *c)
{
	kill(c->hog, SIGKILL);
	assert_int_equal(waitpid(c->hog, NULL, 0), c->hog);
}

/* However late: when krait is in a hurry, a parser delayed by a busy machine is late, too. */
static int open_in_the_end(struct symbol_reader *r, struct symbol_file *f)
{
	struct parser_opened opened;
	int err;

	while ((err = symbol_reader__open(r, f, &opened)) == -EAGAIN)
		usleep(10000);
	return err;
}

static void a_hurry_does_not_wait_for_one_without_a_processor(void **state)
{
	struct symbol_reader *r = symbol_reader__new();
	struct symbol_file first = file_of(NULL, 0), slow = file_of("work", 0),
			   last = file_of(NULL, 0);
	struct parser_opened opened;
	struct crowded crowded;
	__u64 begin_ns, late;
	int err;

	crowd_begin(&crowded, r);
	assert_int_equal(open_in_the_end(r, &first), 0);
	late = symbol_reader__late(r);
	crowd_out(&crowded);
	begin_ns = clock_monotonic_ns();
	assert_int_equal(symbol_reader__open(r, &slow, &opened), -EAGAIN);
	assert_int_equal(symbol_reader__open(r, &last, &opened), -EAGAIN);
	assert_true(clock_monotonic_ns() - begin_ns < 5 * NS_PER_SEC);
	assert_true(symbol_reader__late(r) > late);
	crowd_leaves(&crowded);
	/* It was working all the time, unless a busy machine delayed it too much. */
	err = open_in_the_end(r, &slow);
	assert_true(err == -ENOEXEC || err == -ETIMEDOUT);
	assert_int_equal(open_in_the_end(r, &last), 0);
	assert_true(!first.bad && !last.bad);
	assert_int_equal(sched_setaffinity(0, sizeof(crowded.before), &crowded.before), 0);
	symbol_reader__close(r, &first);
	symbol_reader__close(r, &slow);
	symbol_reader__close(r, &last);
	symbol_reader__free(r);
}

/*
 * The late answer arrives just when another file is to be opened and all numbers are taken: that
 * file gets a number of its own.
 */
static void a_late_answer_leaves_no_number_to_two(void **state)
{
	static struct symbol_file files[PARSER_FILES_MAX];
	struct symbol_reader *r = symbol_reader__new();
	struct symbol_file slow = file_of("work", 0), last = file_of(NULL, 0);
	struct parser_opened opened;
	struct crowded crowded;

	crowd_begin(&crowded, r);
	for (unsigned i = 0; i < PARSER_FILES_MAX; i++) {
		files[i] = file_of(NULL, 0);
		assert_int_equal(open_in_the_end(r, &files[i]), 0);
	}
	crowd_out(&crowded);
	assert_int_equal(symbol_reader__open(r, &slow, &opened), -EAGAIN);
	crowd_leaves(&crowded);
	assert_int_equal(open_in_the_end(r, &last), 0);
	for (unsigned i = 0; i < PARSER_FILES_MAX; i++)
		assert_false(files[i].parser && files[i].number == last.number);
	assert_int_equal(sched_setaffinity(0, sizeof(crowded.before), &crowded.before), 0);
	symbol_reader__close(r, &last);
	symbol_reader__close(r, &slow);
	for (unsigned i = 0; i < PARSER_FILES_MAX; i++)
		symbol_reader__close(r, &files[i]);
	symbol_reader__free(r);
}

/*
 * A recording's parser keeps krait's priority while it reads the largest libraries. One that has
 * taken longer than that is replaced.
 */
static void a_large_file_does_not_wait_for_a_turn(void **state)
{
	const struct sched_param lowest = { .sched_priority = 1 }, none = { 0 };
	struct symbol_reader *r = symbol_reader__new();
	struct symbol_file file = file_of(NULL, 0), large = file_of("toil100", 0),
			   endless = file_of("toil400", 0), last = file_of(NULL, 0);

	if (sched_setscheduler(0, SCHED_RR, &lowest))
		skip();
	symbol_reader__hurry(r);
	assert_int_equal(open_in_the_end(r, &file), 0);
	assert_true(parser__is_urgent(file.parser->process));
	assert_int_equal(open_in_the_end(r, &large), -ENOEXEC);
	assert_true(parser__is_urgent(file.parser->process));
	assert_int_equal(open_in_the_end(r, &endless), -ENOEXEC);
	assert_false(parser__is_urgent(file.parser->process));
	assert_int_equal(open_in_the_end(r, &last), 0);
	assert_null(file.parser);
	assert_true(parser__is_urgent(last.parser->process));
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	symbol_reader__close(r, &file);
	symbol_reader__close(r, &large);
	symbol_reader__close(r, &endless);
	symbol_reader__close(r, &last);
	symbol_reader__free(r);
}

/* Files that take long get only so much of it: for each owner, and for all but root together. */
static void priority_has_an_end(void **state)
{
	static struct reader_waits w;

	reader_waits_begin(&w, NS_PER_SEC);
	assert_false(reader_waits_may_hurry(&w, 0, NS_PER_SEC));
	w.hurries = true;
	reader_waits_note_urgent(&w, SOME_UID, 1100 * NS_PER_MS);
	assert_false(reader_waits_may_hurry(&w, SOME_UID, NS_PER_SEC));
	assert_true(reader_waits_may_hurry(&w, SOME_UID, 20 * NS_PER_SEC));
	assert_true(reader_waits_may_hurry(&w, SOME_UID + 1, NS_PER_SEC));
	reader_waits_note_urgent(&w, SOME_UID + 1, 950 * NS_PER_MS);
	assert_false(reader_waits_may_hurry(&w, SOME_UID + 1, NS_PER_SEC));
	assert_false(reader_waits_may_hurry(&w, SOME_UID + 2, NS_PER_SEC));
	assert_true(reader_waits_may_hurry(&w, 0, NS_PER_SEC));
}

int main(int argc, char **argv)
{
	const struct role role = { "parser", told_parser_serve, .urgent = true };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_kills_costs_no_other_its_names),
		cmocka_unit_test(an_owner_has_no_more_than_its_share_of_the_time),
		cmocka_unit_test(there_is_room_for_any_number_of_files),
		cmocka_unit_test(a_parser_with_nothing_to_do_gives_its_memory_back),
		cmocka_unit_test(a_hurry_does_not_wait_for_one_without_a_processor),
		cmocka_unit_test(a_late_answer_leaves_no_number_to_two),
		cmocka_unit_test(a_large_file_does_not_wait_for_a_turn),
		cmocka_unit_test(priority_has_an_end),
	};

	if (role_find(&role, 1, argv[0]))
		return role_main(&role);
	return cmocka_run_group_tests_name("user/native/names/symbol_reader.c", tests, NULL, NULL);
}
