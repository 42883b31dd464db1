/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/tracking.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "sampler/sampler.h"
#include "session/processes.h"
#include "target/proc.h"
#include "util/cleanup.h"
#include "util/log.h"

/* Where an address alone does not identify a code object, the kernel takes fingerprints. */
static __u32 track_flags(const struct py_offsets *offsets)
{
	return offsets->interp.code_object_generation == PYOFF_ABSENT ? PROC_FINGERPRINT : 0;
}

/* The next process that executes this file is ready at its first instruction. */
static void learn_binary(struct sampler *sampler, const struct process *p)
{
	struct proc_stat proc;
	struct binary binary;
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", p->pid);
	if (p->info.build != PY_BUILD_EXE || proc_stat_read(p->pid, &proc) || stat(path, &st) ||
	    proc.start_ticks != p->info.start_ticks || proc.start_code <= 1)
		return;
	binary = (struct binary){ st.st_dev, st.st_ino, st.st_size };
	sampler__learn_binary(sampler, &binary, p->info.runtime_addr - proc.start_code,
			      &p->info.offsets, track_flags(&p->info.offsets));
}

/* The next process in which this library begins an interpreter is ready at that moment. */
static void learn_library(struct sampler *sampler, const struct process *p)
{
	cleanup_close int fd = -1;
	char path[PATH_MAX];
	int err;

	if (p->info.build != PY_BUILD_SHARED || !p->info.map_start)
		return;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", p->pid, p->info.map_start,
		 p->info.map_end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", p->pid, p->info.file);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	if (fd < 0)
		return;
	err = sampler__learn_library(sampler, fd, &p->info.offsets, track_flags(&p->info.offsets));
	if (err)
		log_debug("tracking", "%s is not probed: %s", p->info.file, strerror(-err));
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
	learn_binary(sampler, p);
	learn_library(sampler, p);
	return 0;
}
