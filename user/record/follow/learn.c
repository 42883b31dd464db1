/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/learn.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "kernel/maps/known_files.h"
#include "kernel/maps/layouts.h"
#include "kernel/sampler/sampler.h"
#include "record/follow/processes.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/share/quota.h"

static void use_file(struct sampler *sampler, struct process *p, __u32 number)
{
	p->known_file = number;
	known_files__begin_use(sampler__parts(sampler)->known_files, number);
}

/*
 * From now on the next process that executes this file, or in which this library starts an
 * interpreter, is ready at its first instruction.
 */
static void learn_file(struct sampler *sampler, struct process *p, int file_fd)
{
	unsigned owner;
	struct stat st;
	int r;

	if (file_fd < 0 || p->info.file_remote || fstat(file_fd, &st))
		return;
	/* Whoever has files of many users runs only some of them as these users. */
	owner = owner_find(&sampler__parts(sampler)->books->table, st.st_uid);
	r = known_files__learn(sampler__parts(sampler)->known_files, &p->info, file_fd,
			       owner == OWNER_UNKNOWN ? p->owner : owner, PROC_PYTHON,
			       clock_monotonic_ns());
	if (r < 0)
		log_debug("learn", "%s is not known from now on: %s", p->info.file, strerror(-r));
	else
		use_file(sampler, p, (__u32)r);
}

static void explain(struct process *p, int err, const char *too_many)
{
	snprintf(p->info.why, sizeof(p->info.why), "cannot be tracked: %s",
		 err == -EDQUOT ? too_many : strerror(-err));
}

static int take_layout(struct sampler *sampler, struct process *p)
{
	struct layouts *layouts = sampler__parts(sampler)->layouts;
	int layout = layouts__take(layouts, p->owner, &p->info.offsets, clock_monotonic_ns());
	char too_many[64];

	snprintf(too_many, sizeof(too_many), "its user has %llu other interpreter builds",
		 quota__held(layouts__quota(layouts), p->owner));
	if (layout < 0)
		explain(p, layout, too_many);
	return layout;
}

int learn_process(struct sampler *sampler, struct process *p, int file_fd)
{
	struct proc_info info = {
		.runtime_addr = p->info.runtime_addr,
		.start_ns = p->start_ns,
		.flags = PROC_PYTHON,
		.owner = p->owner,
	};
	int layout = take_layout(sampler, p), err;

	if (layout < 0)
		return layout;
	info.layout = (__u32)layout;
	p->told = true;
	/* Refused once is refused: each refusal counts as a process. */
	err = p->unheard ? -EDQUOT : sampler__track(sampler, p->pid, &info);
	if (err) {
		layouts__drop(sampler__parts(sampler)->layouts, info.layout, clock_monotonic_ns());
		explain(p, err, "its user has too many processes");
		return err;
	}
	p->layout = info.layout;
	learn_file(sampler, p, file_fd);
	return 0;
}

void learn_known(struct sampler *sampler, struct process *p, __u32 layout, __u32 known_file)
{
	layouts__use(sampler__parts(sampler)->layouts, layout);
	p->layout = layout;
	use_file(sampler, p, known_file);
}

void learn_forget(struct sampler *sampler, struct process *p)
{
	layouts__drop(sampler__parts(sampler)->layouts, p->layout, clock_monotonic_ns());
	p->layout = KRAIT_NO_LAYOUT;
	known_files__end_use(sampler__parts(sampler)->known_files, p->known_file,
			     clock_monotonic_ns());
	p->known_file = KNOWN_FILE_NONE;
}
