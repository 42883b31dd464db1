/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/ride.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/data/vec.h"
#include "base/system/error.h"
#include "process/proc/maps.h"

#define PERF_EVENT_LINK "anon_inode:[perf_event]"

static bool is_event(int fds_fd, const char *name)
{
	char link[64];
	ssize_t n = readlinkat(fds_fd, name, link, sizeof(link) - 1);

	if (n < 0)
		return false;
	link[n] = '\0';
	return !strcmp(link, PERF_EVENT_LINK);
}

static int take(struct ride *r, unsigned *cap, int pidfd, int number)
{
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);

	if (fd < 0)
		return errno == EBADF ? 0 : -errno; /* closed meanwhile */
	if (vec_reserve(r->fds, *cap, r->cnt + 1)) {
		close(fd);
		return -ENOMEM;
	}
	r->fds[r->cnt++] = fd;
	return 0;
}

static int take_all(struct ride *r, pid_t pid)
{
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct dirent *entry;
	unsigned cap = 0;
	char path[64];
	cleanup_closedir DIR *dir = NULL;
	int err = 0;

	if (pidfd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		if (is_event(dirfd(dir), entry->d_name))
			err = take(r, &cap, pidfd, atoi(entry->d_name));
	}
	return err ? err : r->cnt ? 0 : -ENOENT;
}

/* perf maps the rings of its events after it has opened all of them (record__open(), tools/perf/builtin-record.c). */
bool ride_is_possible(pid_t pid)
{
	struct maps *m = malloc(sizeof(*m));
	struct maps_line line;
	bool found = false;

	if (m && !maps_open(m, pid)) {
		while (!found && maps_next(m, &line) == 1)
			found = !strcmp(line.path, PERF_EVENT_LINK);
		maps_close(m);
	}
	free(m);
	return found;
}

int ride_find(struct ride *r, pid_t pid, struct error *err)
{
	int result = take_all(r, pid);

	if (!result)
		return 0;
	ride_detach(r);
	switch (-result) {
	case ENOENT:
		return error_set(err, ENOENT, EXIT_CODE_TARGET,
				 "process %d has no perf events: it is not a perf that records",
				 pid);
	case ESRCH:
		return error_set(err, ESRCH, EXIT_CODE_TARGET, "there is no process %d", pid);
	case EPERM:
	case EACCES:
		return error_set(
			err, -result, EXIT_CODE_PERMISSION,
			"the events of process %d are not accessible: that needs root, or CAP_SYS_PTRACE%s",
			pid, error_sudo());
	case ENOSYS:
		return error_set(
			err, ENOSYS, EXIT_CODE_KERNEL,
			"this kernel cannot share perf's events with krait (that needs 5.6)");
	case EMFILE:
		return error_set(
			err, EMFILE, EXIT_CODE_PERMISSION,
			"perf has more events than krait may have file descriptors (raise: ulimit -n)");
	default:
		return error_set(err, -result, EXIT_CODE_KERNEL, "the events of process %d: %s",
				 pid, strerror(-result));
	}
}

/* A link ends with krait. Before 5.15 the program stays until the event is closed, and runs for nobody. */
static int attach(int program_fd, int event_fd)
{
	int link = bpf_link_create(program_fd, event_fd, BPF_PERF_EVENT, NULL);

	if (link != -EINVAL)
		return link;
	if (ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, program_fd))
		return -errno;
	link = fcntl(event_fd, F_DUPFD_CLOEXEC, 0);
	return link < 0 ? -errno : link;
}

int ride_attach(struct ride *r, const struct bpf_program *program, struct error *err)
{
	const int program_fd = bpf_program__fd(program);
	unsigned cnt = 0;
	int last = 0;

	for (unsigned i = 0; i < r->cnt; i++) {
		int link = attach(program_fd, r->fds[i]);

		close(r->fds[i]);
		if (link >= 0)
			r->fds[cnt++] = link;
		else
			last = link;
	}
	r->cnt = cnt;
	if (cnt)
		return 0;
	return error_set(
		err, -last, EXIT_CODE_KERNEL,
		"none of perf's events takes krait's program: %s (tracepoints and probes do not)",
		strerror(-last));
}

void ride_detach(struct ride *r)
{
	for (unsigned i = 0; i < r->cnt; i++)
		close(r->fds[i]);
	free(r->fds);
	*r = (struct ride){ 0 };
}
