/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_told_parser.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "native/names/parser_jobs.h"
#include "process/parser/parser_starter.h"
#include "base/system/clock.h"
#include "base/worker/channel.h"

/* Tries forbidden actions, all of which must fail. */
static unsigned try_everything(void)
{
	unsigned may = 0;
	struct stat st;
#ifndef __SANITIZE_ADDRESS__
	void *volatile memory; /* a compiler may leave out a malloc() that nobody uses */
#endif
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
	memory = malloc(2ULL << 30);
	may |= (memory != NULL) << 12;
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

static __u64 cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (__u64)t.tv_sec * NS_PER_SEC + (__u64)t.tv_nsec;
}

/* Does first what the file says. Returns false: no answer. */
static bool obey(const char *order, struct parser_answer *answer)
{
	volatile bool forever = true;
	__u64 begin_ns = cpu_ns();

	if (!strcmp(order, "die"))
		return false;
	while (forever && !strcmp(order, "compute"))
		;
	/* About half a second of CPU time, with or without sanitizers. */
	for (volatile unsigned i = strcmp(order, "work") ? 0 : 300000000; i; i--)
		;
	while (!strncmp(order, "toil", 4) &&
	       cpu_ns() < begin_ns + strtoul(order + 4, NULL, 10) * NS_PER_MS)
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

int told_parser_serve(int fd)
{
	return parser_starter_serve(fd, serve);
}

int told_parser_order(const char *order)
{
	int fd = memfd_create("krait-test", MFD_CLOEXEC);

	assert_int_equal(write(fd, order, strlen(order)), strlen(order));
	return fd;
}
