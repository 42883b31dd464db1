/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/tracking.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/sampler.h"
#include "session/processes.h"
#include "util/cleanup.h"
#include "util/log.h"

/* Where an address alone does not identify a code object, the kernel takes fingerprints. */
static __u32 track_flags(const struct py_offsets *offsets)
{
	return offsets->interp.code_object_generation == PYOFF_ABSENT ? PROC_FINGERPRINT : 0;
}

/*
 * The next process that executes this file is ready at its first instruction. All of it is what the
 * file says: the process that it was met in has no say in what others are.
 */
static void learn_binary(struct sampler *sampler, const struct py_process *p)
{
	const struct binary binary = { p->file_id.dev, p->file_id.ino, (off_t)p->file_id.size };

	if (p->of_file && p->build == PY_BUILD_EXE)
		sampler__learn_binary(sampler, &binary, p->code_delta, &p->offsets,
				      track_flags(&p->offsets));
}

/* The library itself, or -1: another file may be there by now. */
static int open_library(const struct py_process *p)
{
	char path[PATH_MAX];
	struct file_id id;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", p->pid, p->map_start,
		 p->map_end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", p->pid, p->file);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	if (fd < 0 || fstat(fd, &st))
		return fd;
	id = file_id_of(&st);
	if (file_id_same(&id, &p->file_id))
		return fd;
	close(fd);
	return -1;
}

/* The next process in which this library begins an interpreter is ready at that moment. */
static void learn_library(struct sampler *sampler, const struct py_process *p)
{
	cleanup_close int fd = -1;
	int err;

	if (!p->of_file || p->build != PY_BUILD_SHARED || !p->map_start)
		return;
	fd = open_library(p);
	if (fd < 0)
		return;
	err = sampler__learn_library(sampler, fd, &p->offsets, track_flags(&p->offsets));
	if (err)
		log_debug("tracking", "%s is not probed: %s", p->file, strerror(-err));
}

int tracking_begin(struct sampler *sampler, const struct process *p)
{
	struct proc_info info = {
		.runtime_addr = p->info.runtime_addr,
		.start_ns = p->start_ns,
		.flags = track_flags(&p->info.offsets),
		.owner = p->owner,
	};
	int err = sampler__track(sampler, p->pid, &info, &p->info.offsets);

	if (err)
		return err;
	learn_binary(sampler, &p->info);
	learn_library(sampler, &p->info);
	return 0;
}
