/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lifecycle.bpf.c - processes come, change and go; nothing is polled.
 *
 * Each event wakes user space at once, which then creates or deletes the map entries. The one thing
 * that cannot wait is exec: the old image's addresses mean nothing in the new one, so the entry is
 * marked stale right here.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "abi.h"
#include "fingerprint.h"
#include "read.h"
#include "thread.h"
#include "walk.h"
#include "anchor.h"
#include "codedef.h"
#include "maps.h"
#include "task.h"

static __always_inline int emit_task(struct task_struct *task, __u32 type, __u32 parent_pid)
{
	struct event_task event = {
		.type = type,
		.size = sizeof(event),
		.time_ns = bpf_ktime_get_ns(),
		.start_ns = task_start_ns(task),
		.pid = BPF_CORE_READ(task, tgid),
		.tid = BPF_CORE_READ(task, pid),
		.parent_pid = parent_pid,
	};

	if (bpf_ringbuf_output(&ring, &event, sizeof(event), BPF_RB_FORCE_WAKEUP))
		count(COUNTER_EVENTS_DROPPED);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct proc_info *proc = bpf_map_lookup_elem(&procs, &pid);

	if (proc)
		proc->stale = 1;
	return emit_task(task, EVENT_EXEC, BPF_CORE_READ(task, real_parent, tgid));
}

SEC("raw_tp/sched_process_fork")
int process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];

	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0; /* a thread */
	return emit_task(child, EVENT_FORK, BPF_CORE_READ(parent, tgid));
}

SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid);

	if (BPF_CORE_READ(task, signal, live.counter) == 0)
		return emit_task(task, EVENT_EXIT, 0);
	/* By process, not by slot: a thread that got its slot late must still give it back. */
	if (bpf_map_lookup_elem(&procs, &pid))
		return emit_task(task, EVENT_THREAD_EXIT, 0);
	return 0;
}
