/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/system/error.h"

/*
 * What KRAIT_MAX_PROCS processes need: each its folder and memory, and briefly a third; the same
 * for those that get anchors (anchoring.c), known files, and some more.
 */
#define FILES_MAX 65536
/*
 * Maps, programs, workers, outputs, and what is open while a file is read: counted, plus half as
 * many.
 */
#define FILES_BASE 64
/* A perf event has a descriptor, and so has the link to its program. */
#define FILES_PER_EVENT 2
#define FILES_LINKS 16

struct descriptors {
	unsigned cnt;
	int held[];
};

static unsigned needed_later(unsigned events)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	return FILES_LINKS + events * FILES_PER_EVENT * (cpus > 0 ? (unsigned)cpus : 1);
}

static void raise_limit(struct rlimit *limit)
{
	struct rlimit raised = *limit;

	raised.rlim_cur = limit->rlim_max < FILES_MAX ? limit->rlim_max : FILES_MAX;
	if (raised.rlim_cur > limit->rlim_cur && !setrlimit(RLIMIT_NOFILE, &raised))
		*limit = raised;
}

void descriptors_raise(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit))
		raise_limit(&limit);
}

struct descriptors *descriptors__new(unsigned events, struct rlimit *ret_old, struct error *err)
{
	unsigned cnt = needed_later(events);
	struct descriptors *d = calloc(1, sizeof(*d) + cnt * sizeof(d->held[0]));
	struct rlimit limit;
	int fd;

	if (!d || getrlimit(RLIMIT_NOFILE, &limit)) {
		free(d);
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	*ret_old = limit;
	raise_limit(&limit);
	if (limit.rlim_cur < FILES_BASE + cnt) {
		free(d);
		error_set(err, EMFILE, EXIT_CODE_KERNEL,
			  "%llu file descriptors are too few (ulimit -n): krait needs %u here",
			  (unsigned long long)limit.rlim_cur, FILES_BASE + cnt);
		return NULL;
	}
	fd = eventfd(0, EFD_CLOEXEC);
	while (fd >= 0 && d->cnt < cnt) {
		d->held[d->cnt++] = fd;
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	if (fd >= 0)
		close(fd);
	return d;
}

void descriptors__release(struct descriptors *d)
{
	while (d && d->cnt)
		close(d->held[--d->cnt]);
}

void descriptors__free(struct descriptors *d)
{
	descriptors__release(d);
	free(d);
}
