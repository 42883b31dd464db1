/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * contain.c - runs one test and cleans up after it: the test cannot outlive its time, and no process, mount or file of
 * it outlives the test, however it ends and whoever kills the caller.
 *
 * usage: contain SECONDS COMMAND [ARGUMENT...]     (prove -e 'build/tests/run/contain 600')
 *
 * As root, the test has its own mounts, and each /tmp it sees, here and in the roots of interpreters (KRAIT_PYTHONS), is
 * a new folder; without root, only TMPDIR is a new folder.
 *
 * KRAIT_OUTPUTS: a folder for the test's stdout and stderr, in NAME.log (its path, with dots for slashes), and for
 * times.tsv, with a line per test: elapsed seconds, CPU seconds of it and everything it started, and its path.
 *
 * Exits as the command does; 124 after a timeout. In C, because hundreds of tests are run in this way.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The new folder in a /tmp is named by this and our process ID. */
#define PREFIX "krait-contain-"
#define MAX_ROOTS 32
#define MAX_LEFT 256
/* A process that survives SIGKILL for this long hangs in the kernel; we leave it to init. */
#define DEATH_SECS 10
/* What is about to end by itself, like a browser's helpers, gets so long. */
#define GRACE_SECS 0.2
#define TIMED_OUT 124

struct contain {
	const char *test;
	const char *outputs; /* NULL: nothing is kept */
	double seconds, began;
	pid_t own_pid, pid;
	char tmp[MAX_ROOTS][PATH_MAX]; /* each /tmp */
	unsigned tmp_cnt;
	pid_t told[MAX_LEFT]; /* those left behind that stderr has been told of */
	unsigned told_cnt;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* ---- outputs ---------------------------------------------------------------------------------- */

static void write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t done = write(fd, data, size);

		if (done < 0 && errno != EINTR)
			return;
		if (done > 0) {
			data += done;
			size -= (size_t)done;
		}
	}
}

/* Copies all that comes to both; does not return. */
static void copy_to_both(int from, int to, int file)
{
	char data[1 << 16];
	ssize_t size;

	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	while ((size = read(from, data, sizeof(data))) > 0 || (size < 0 && errno == EINTR)) {
		if (size < 0)
			continue;
		write_all(to, data, (size_t)size);
		write_all(file, data, (size_t)size);
	}
	_exit(0);
}

/*
 * Copies what is written to fd into the file, in a process that is not our child: it ends when nobody has fd any more.
 */
static void keep(int fd, const char *path)
{
	int ends[2], file;
	pid_t pid;

	if (pipe(ends))
		return;
	pid = fork();
	if (!pid) {
		if (fork())
			_exit(0);
		close(ends[1]);
		close(fd == STDOUT_FILENO ? STDERR_FILENO : STDOUT_FILENO);
		file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		copy_to_both(ends[0], fd, file);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	dup2(ends[1], fd);
	close(ends[0]);
	close(ends[1]);
}

static void keep_outputs(const struct contain *c)
{
	char path[PATH_MAX];
	const char *name = c->test + strspn(c->test, "/");
	int at, fd;

	if (!c->outputs)
		return;
	at = snprintf(path, sizeof(path), "%s/", c->outputs);
	snprintf(path + at, sizeof(path) - (size_t)at, "%s.log", name);
	for (char *p = path + at; *p; p++) {
		if (*p == '/')
			*p = '.';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	close(fd);
	keep(STDOUT_FILENO, path);
	keep(STDERR_FILENO, path);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Records what our children and theirs, all of which have ended, used. */
static void keep_times(const struct contain *c)
{
	char path[PATH_MAX], line[PATH_MAX + 64];
	struct rusage used;
	int fd, size;

	if (!c->outputs || getrusage(RUSAGE_CHILDREN, &used))
		return;
	size = snprintf(line, sizeof(line), "%.2f\t%.2f\t%s\n", now() - c->began,
			seconds_of(used.ru_utime) + seconds_of(used.ru_stime), c->test);
	snprintf(path, sizeof(path), "%s/times.tsv", c->outputs);
	/* A single append: lines of parallel tests do not mix. */
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	write_all(fd, line, (size_t)size);
	close(fd);
}

/* ---- folders ---------------------------------------------------------------------------------- */

static void add_root(struct contain *c, const char *root)
{
	char tmp[PATH_MAX];

	snprintf(tmp, sizeof(tmp), "%s%stmp", root, root[strlen(root) - 1] == '/' ? "" : "/");
	for (unsigned i = 0; i < c->tmp_cnt; i++) {
		if (!strcmp(c->tmp[i], tmp))
			return;
	}
	if (c->tmp_cnt < MAX_ROOTS && is_folder(tmp))
		memcpy(c->tmp[c->tmp_cnt++], tmp, sizeof(tmp));
}

/* A line has a version, a kind, a root and a path. */
static void find_roots(struct contain *c)
{
	const char *list = getenv("KRAIT_PYTHONS");
	FILE *f = list ? fopen(list, "re") : NULL;
	char line[3 * PATH_MAX], root[PATH_MAX];

	add_root(c, "/");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*[^\t]\t%*[^\t]\t%4095[^\t]\t", root) == 1)
			add_root(c, root);
	}
	if (f)
		fclose(f);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	if (remove(path))
		return 0; /* what cannot be removed stays */
	return 0;
}

static void remove_folder(const char *path)
{
	/* Most tests leave theirs empty. */
	if (rmdir(path))
		nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool is_running(const char *pid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%s", pid);
	return is_folder(path);
}

/* Removes our folders, and those of earlier runs that were killed. */
static void remove_folders(const struct contain *c)
{
	for (unsigned i = 0; i < c->tmp_cnt; i++) {
		DIR *dir = opendir(c->tmp[i]);
		struct dirent *e;

		while (dir && (e = readdir(dir))) {
			const char *pid = e->d_name + strlen(PREFIX);
			char path[2 * PATH_MAX];

			if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) ||
			    (atoi(pid) != c->own_pid && is_running(pid)))
				continue;
			snprintf(path, sizeof(path), "%s/%s", c->tmp[i], e->d_name);
			remove_folder(path);
		}
		if (dir)
			closedir(dir);
	}
}

static void folder_in(const struct contain *c, unsigned i, char *ret, size_t size)
{
	snprintf(ret, size, "%s/" PREFIX "%d", c->tmp[i], c->own_pid);
}

static void make_folders(const struct contain *c)
{
	char path[2 * PATH_MAX];

	for (unsigned i = 0; i < c->tmp_cnt; i++) {
		folder_in(c, i, path, sizeof(path));
		if (mkdir(path, 0700) || chmod(path, 01777)) {
			perror(path);
			exit(1);
		}
	}
}

static bool is_in_tmp(const char *path)
{
	char real[PATH_MAX];

	return realpath(path, real) && !strncmp(real, "/tmp/", 5);
}

/* In the test's process: makes later mounts end with its last process. */
static void own_mounts(const struct contain *c)
{
	const char *build = getenv("KRAIT_BUILD");
	char folder[2 * PATH_MAX];

	if (is_in_tmp(".") || is_in_tmp(build ? build : ".") || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		folder_in(c, 0, folder, sizeof(folder));
		setenv("TMPDIR", folder, 1);
		return;
	}
	for (unsigned i = 0; i < c->tmp_cnt; i++) {
		folder_in(c, i, folder, sizeof(folder));
		mount(folder, c->tmp[i], NULL, MS_BIND, NULL);
	}
}

/* ---- processes -------------------------------------------------------------------------------- */

/* Tells stderr once of a process that the test has left behind. */
static void tell(struct contain *c, pid_t pid)
{
	char path[64], command[200];
	ssize_t size;
	int fd;

	for (unsigned i = 0; i < c->told_cnt; i++) {
		if (c->told[i] == pid)
			return;
	}
	if (c->told_cnt < MAX_LEFT)
		c->told[c->told_cnt++] = pid;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? 0 : read(fd, command, sizeof(command) - 1);
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i + 1 < size; i++) {
		if (!command[i])
			command[i] = ' ';
	}
	if (size <= 0)
		return; /* it has ended */
	command[size] = '\0';
	dprintf(STDERR_FILENO, "\n# it left this behind, which was ended: %s\n", command);
}

static void kill_children(struct contain *c)
{
	char path[64];
	FILE *f;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", c->own_pid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1) {
		tell(c, pid);
		kill(pid, SIGKILL);
	}
	if (f)
		fclose(f);
}

/* Tells whether a child is still there. */
static bool has_children(void)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG);
	while (pid > 0);
	return !pid;
}

/* Kills everything that is left. Orphans become our children, so this finds them in any case. */
static void kill_rest(struct contain *c)
{
	double begin = now();

	while (has_children() && now() < begin + DEATH_SECS) {
		if (now() > begin + GRACE_SECS)
			kill_children(c);
		usleep(5000);
	}
}

/* Returns -1 if the test is still running, else its exit code. */
static int collect(const struct contain *c)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == c->pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return pid < 0 ? 1 : -1;
}

/* Returns the test's exit code, 124 after a timeout, or that of the signal that ends us. */
static int wait_for(const struct contain *c, const sigset_t *signals)
{
	double deadline = now() + c->seconds;

	while (true) {
		double left = deadline - now();
		struct timespec t = { 0 };
		int number, code;

		if (left > 0) {
			t.tv_sec = (time_t)left;
			t.tv_nsec = (long)((left - (double)t.tv_sec) * 1e9);
		}
		number = sigtimedwait(signals, NULL, &t);
		if (number < 0 && errno == EINTR)
			continue;
		if (number < 0) {
			dprintf(STDERR_FILENO, "\n# took longer than %.0f s, and was ended\n",
				c->seconds);
			return TIMED_OUT;
		}
		if (number != SIGCHLD)
			return 128 + number;
		code = collect(c);
		if (code >= 0)
			return code;
	}
}

static void run(const struct contain *c, char **command, const sigset_t *mask)
{
	sigprocmask(SIG_SETMASK, mask, NULL);
	own_mounts(c);
	execvp(command[0], command);
	fprintf(stderr, "%s: %s\n", command[0], strerror(errno));
	_exit(127);
}

/* Returns the test's exit code. */
static int contain(struct contain *c, char **command)
{
	sigset_t signals, mask;
	int code;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	c->pid = fork();
	if (!c->pid)
		run(c, command, &mask);
	code = c->pid < 0 ? 1 : wait_for(c, &signals);
	kill_rest(c);
	return code;
}

int main(int argc, char **argv)
{
	static struct contain c;
	pid_t parent = getppid();
	int code;

	if (argc < 3 || (c.seconds = atof(argv[1])) <= 0) {
		fprintf(stderr, "usage: contain SECONDS COMMAND [ARGUMENT...]\n");
		return 2;
	}
	c.began = now();
	c.own_pid = getpid();
	c.test = argv[2];
	c.outputs = getenv("KRAIT_OUTPUTS");
	keep_outputs(&c);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (getppid() != parent)
		return 1;
	find_roots(&c);
	remove_folders(&c);
	make_folders(&c);
	code = contain(&c, argv + 2);
	remove_folders(&c);
	keep_times(&c);
	return code;
}
