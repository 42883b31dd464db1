/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_parser.c - parsers as processes: what they may not do, what becomes of those that die, hang or
 * compute for ever, and that the files of others do not suffer.
 *
 * This program is its own parser. Besides the usual jobs it does what the first bytes of a file tell it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_sanitized.h"
#include "symbol/parser_jobs.h"
#include "symbol/symbol_reader.h"
#include "target/parser.h"
#include "target/parser_starter.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "worker/channel.h"
#include "worker/role.h"

#define SELF "/proc/self/exe"
#define SOME_UID 4242

/* What a parser tells of itself, in place of reasons why there is no debug information. */
struct self {
	unsigned uid, gid;
	int fds;
	/* What it has tried and could not: bits, 0 is right. */
	unsigned may;
};
_Static_assert(sizeof(struct self) < PARSER_WHY_MAX, "does not fit");

/* ---- the parser ------------------------------------------------------------------------------- */

/* Each has to fail. */
static unsigned try_everything(void)
{
	unsigned may = 0;
	struct stat st;
	void *code;

	may |= (open("/", O_RDONLY) >= 0) << 0;
	may |= (open("/etc/passwd", O_RDONLY) >= 0) << 1;
	may |= (open("x", O_RDWR | O_CREAT, 0600) >= 0) << 2;
	may |= (socket(AF_INET, SOCK_STREAM, 0) >= 0) << 3;
	may |= (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) << 4;
	may |= (kill(getppid(), 0) == 0) << 5;
	may |= (!stat("/proc/self", &st)) << 6;
	may |= (memfd_create("x", 0) >= 0) << 7;
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	may |= (code != MAP_FAILED) << 8;
	code = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	may |= (!mprotect(code, 4096, PROT_READ | PROT_EXEC)) << 9;
	may |= (execl("/bin/true", "true", NULL) == 0) << 10;
	may |= (setuid(0) == 0) << 11;
#ifndef __SANITIZE_ADDRESS__
	may |= (malloc(2ULL << 30) != NULL) << 12;
#endif
	return may;
}

static void tell(struct parser_answer *answer)
{
	struct self self = {
		.uid = getuid(),
		.gid = getgid(),
		.may = try_everything(),
	};

	for (int fd = 0; fd < 100; fd++)
		self.fds += fcntl(fd, F_GETFD) >= 0;
	memset(&answer->dwarf, 0, sizeof(answer->dwarf));
	memcpy(&answer->dwarf.offsets, &self, sizeof(self));
	answer->result = -ENOENT;
}

/* What the file says is done first. False: no answer. */
static bool obey(const char *order, struct parser_answer *answer)
{
	volatile bool forever = true;

	if (!strcmp(order, "die"))
		return false;
	while (forever && !strcmp(order, "compute"))
		;
	/* About a second of CPU time, with sanitizers as without. */
	for (volatile unsigned i = 0; i < TIMES(300000000) && !strcmp(order, "work"); i++)
		;
	while (!strcmp(order, "hang"))
		poll(NULL, 0, -1);
	if (!strcmp(order, "lie"))
		answer->found.names_size = 1 << 20;
	if (!strcmp(order, "tell"))
		tell(answer);
	return true;
}

static void serve(int fd)
{
	struct parser_jobs *j = parser_jobs__new();
	static struct parser_answer answer;
	struct parser_request request;
	char order[16] = "";

	for (;;) {
		int fds[2];
		unsigned fd_cnt = 2;
		ssize_t n = channel_recv(fd, &request, sizeof(request), fds, &fd_cnt, -1);
		size_t len;

		if (n <= 0)
			return;
		memset(order, 0, sizeof(order));
		if (fd_cnt && pread(fds[0], order, sizeof(order) - 1, 0) < 0)
			return;
		len = parser_jobs__answer(j, &request, (size_t)n, fds, fd_cnt, &answer);
		for (unsigned i = 0; i < fd_cnt; i++)
			close(fds[i]);
		if (!obey(order, &answer) || (len && channel_send(fd, &answer, len, NULL, 0)))
			return;
	}
}

static int serve_parser(int fd)
{
	return parser_starter_serve(fd, serve);
}

/* ---- processes -------------------------------------------------------------------------------- */

static int order_file(const char *order)
{
	int fd = memfd_create("krait-test", MFD_CLOEXEC);

	assert_int_equal(write(fd, order, strlen(order)), strlen(order));
	return fd;
}

static struct parsers *parsers;

static int setup(void **state)
{
	parsers = parsers__new();
	return !parsers;
}

static int teardown(void **state)
{
	parsers__free(parsers);
	return 0;
}

/* The result of a job in a parser of its own, with the answer's until the next call. */
static int run(const char *order, unsigned cpu_ms, const struct parser_answer **ret)
{
	const struct parser_request r = { .job = PARSER_DWARF, .version = 0x030c07f0 };
	cleanup_close int fd = order_file(order);
	static struct parser_answer kept;
	struct parser *p = parser__start(parsers);
	int err;

	assert_non_null(p);
	assert_int_equal(parser__ask(p, &r, &fd, 1), 0);
	parser__set_limits(p, cpu_ms, 60000);
	while ((err = parser__answer(p, 100, ret)) == -EINPROGRESS)
		;
	if (!err) {
		kept = **ret;
		*ret = &kept;
	}
	parser__end(p);
	return err;
}

static void a_parser_may_do_nothing(void **state)
{
	const struct parser_answer *answer;
	struct self self;

	assert_int_equal(run("tell", 5000, &answer), 0);
	memcpy(&self, &answer->dwarf.offsets, sizeof(self));
	assert_int_equal(self.may, 0);
	/* The standard ones, which lead nowhere, and its channel. */
	assert_in_range(self.fds, 1, 4);
	if (geteuid())
		return;
	assert_in_range(self.uid, 65520, ~0U);
	assert_int_equal(self.uid, self.gid);
}

/* As the kernel says it. */
static void a_parser_has_no_rights(void **state)
{
	static const char *const lines[] = { "CapEff:\t0000000000000000\n",
					     "CapPrm:\t0000000000000000\n", "NoNewPrivs:\t1\n",
					     "Seccomp:\t2\n", "Groups:\t \n" };
	const struct parser_request r = { .job = PARSER_DWARF, .version = 0x030c07f0 };
	struct parser *p = parser__start(parsers);
	const struct parser_answer *answer;
	cleanup_close int order = order_file(""), fd = -1;
	char path[64], text[4096] = "";

	assert_non_null(p);
	assert_int_equal(parser__ask(p, &r, &order, 1), 0);
	assert_int_equal(parser__answer(p, 10000, &answer), 0);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)parser__pid(p));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) - (geteuid() != 0); i++)
		assert_non_null(strstr(text, lines[i]));
	/* Whose memory nobody but root may read belongs to root. */
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)parser__pid(p));
	assert_true(!geteuid() || open(path, O_RDONLY) < 0);
	parser__end(p);
}

static void a_parser_that_does_not_answer_is_given_up(void **state)
{
	const struct parser_answer *answer;
	__u64 begin_ns = clock_monotonic_ns();

	assert_int_equal(run("die", 5000, &answer), -EPIPE);
	assert_int_equal(run("lie", 5000, &answer), 0); /* of what it was not asked */
	assert_int_equal(run("compute", 200, &answer), -ETIMEDOUT);
	assert_int_equal(run("hang", 5000, &answer), -ETIMEDOUT);
	/* It does not take all the time that it is given when it does nothing with it. */
	assert_true(clock_monotonic_ns() - begin_ns < 30 * NS_PER_SEC);
	assert_int_equal(run("", 5000, &answer), 0);
}

static void a_starter_that_dies_is_started_again(void **state)
{
	const struct parser_answer *answer;
	struct parser *p = parser__start(parsers);
	char path[64], text[256] = "", *end;
	cleanup_fclose FILE *f = NULL;
	pid_t starter = 0;

	assert_non_null(p);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)parser__pid(p));
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	end = strrchr(text, ')');
	assert_int_equal(sscanf(end, ") %*c %d", &starter), 1);
	assert_int_equal(kill(starter, SIGKILL), 0);
	parser__end(p);
	usleep(100000);
	assert_int_equal(run("", 5000, &answer), 0);
}

/* ---- symbols ---------------------------------------------------------------------------------- */

static struct symbol_file file_of(const char *order, uid_t owner)
{
	struct symbol_file f = { .fd = -1, .debug_fd = -1, .owner = owner, .size = 1 << 20 };

	f.fd = order ? order_file(order) : open(SELF, O_RDONLY | O_CLOEXEC);
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

/* More files than a parser has open: they take turns. */
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

static bool pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/* A process that leaves its CPU to nobody but what the kernel keeps for others; 0: not permitted. */
static pid_t occupy(unsigned cpu)
{
	const struct sched_param lowest = { .sched_priority = 1 };
	pid_t pid = fork();
	int status;

	if (pid) {
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		return WIFSTOPPED(status) ? pid : 0;
	}
	/* Not for ever, whatever becomes of us. */
	alarm(20);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || !pin(cpu) ||
	    sched_setscheduler(0, SCHED_RR, &lowest))
		_exit(1);
	raise(SIGSTOP);
	for (;;)
		;
}

/* However late: in a hurry, a parser that a busy machine keeps waiting is late, too. */
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
	cpu_set_t before;
	__u64 begin_ns, late;
	pid_t hog;
	int err;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	hog = CPU_ISSET(0, &before) && CPU_ISSET(1, &before) ? occupy(1) : 0;
	if (!hog)
		skip();
	symbol_reader__hurry(r);
	/* Workers inherit it. */
	assert_true(pin(1));
	assert_int_equal(open_in_the_end(r, &first), 0);
	assert_true(pin(0));
	late = symbol_reader__late(r);
	kill(hog, SIGCONT);
	begin_ns = clock_monotonic_ns();
	assert_int_equal(symbol_reader__open(r, &slow, &opened), -EAGAIN);
	assert_int_equal(symbol_reader__open(r, &last, &opened), -EAGAIN);
	assert_true(clock_monotonic_ns() - begin_ns < 5 * NS_PER_SEC);
	assert_true(symbol_reader__late(r) > late);
	kill(hog, SIGKILL);
	assert_int_equal(waitpid(hog, NULL, 0), hog);
	/* It has been at work all the time, unless a machine that has other things to do made it wait too long. */
	err = open_in_the_end(r, &slow);
	assert_true(err == -ENOEXEC || err == -ETIMEDOUT);
	assert_int_equal(open_in_the_end(r, &last), 0);
	assert_true(!first.bad && !last.bad);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	symbol_reader__close(r, &first);
	symbol_reader__close(r, &slow);
	symbol_reader__close(r, &last);
	symbol_reader__free(r);
}

/* What is late comes just as another file is to be opened, with all numbers taken: that gets one that it shares with none. */
static void a_late_answer_leaves_no_number_to_two(void **state)
{
	static struct symbol_file files[PARSER_FILES_MAX];
	struct symbol_reader *r = symbol_reader__new();
	struct symbol_file slow = file_of("work", 0), last = file_of(NULL, 0);
	struct parser_opened opened;
	cpu_set_t before;
	pid_t hog;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	hog = CPU_ISSET(0, &before) && CPU_ISSET(1, &before) ? occupy(1) : 0;
	if (!hog)
		skip();
	symbol_reader__hurry(r);
	assert_true(pin(1));
	for (unsigned i = 0; i < PARSER_FILES_MAX; i++) {
		files[i] = file_of(NULL, 0);
		assert_int_equal(open_in_the_end(r, &files[i]), 0);
	}
	assert_true(pin(0));
	kill(hog, SIGCONT);
	assert_int_equal(symbol_reader__open(r, &slow, &opened), -EAGAIN);
	kill(hog, SIGKILL);
	assert_int_equal(waitpid(hog, NULL, 0), hog);
	assert_int_equal(open_in_the_end(r, &last), 0);
	for (unsigned i = 0; i < PARSER_FILES_MAX; i++)
		assert_false(files[i].parser && files[i].number == last.number);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	symbol_reader__close(r, &last);
	symbol_reader__close(r, &slow);
	for (unsigned i = 0; i < PARSER_FILES_MAX; i++)
		symbol_reader__close(r, &files[i]);
	symbol_reader__free(r);
}

int main(int argc, char **argv)
{
	const struct role role = { "parser", serve_parser };
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_parser_may_do_nothing),
		TEST(a_parser_has_no_rights),
		TEST(a_parser_that_does_not_answer_is_given_up),
		TEST(a_starter_that_dies_is_started_again),
		TEST(a_file_that_kills_costs_no_other_its_names),
		TEST(an_owner_has_no_more_than_its_share_of_the_time),
		TEST(a_hurry_does_not_wait_for_one_without_a_processor),
		TEST(a_late_answer_leaves_no_number_to_two),
		TEST(there_is_room_for_any_number_of_files),
	};

	if (role_find(&role, 1, argv[0]))
		return role_main(&role);
	return cmocka_run_group_tests_name("user/target/parser.c", tests, NULL, NULL);
}
