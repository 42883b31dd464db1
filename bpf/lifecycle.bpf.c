/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lifecycle.bpf.c - processes come, change and go; nothing is polled, and nothing waits for user space.
 *
 * A forked child is its parent's copy: its entry is there before it runs. An exec of a binary whose
 * interpreter is known is resolved on the spot; any other leaves an entry that is only followed. An
 * exit deletes. Each event also wakes user space, which looks at the process itself.
 *
 * These programs run in process context, so changing a hash is safe here, unlike in the sampler.
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

static __always_inline int emit_task(struct task_struct *task, __u32 type, __u32 parent_pid,
				     __u32 layout)
{
	struct event_task event = {
		.type = type,
		.size = sizeof(event),
		.time_ns = bpf_ktime_get_ns(),
		.start_ns = task_start_ns(task),
		.pid = BPF_CORE_READ(task, tgid),
		.tid = BPF_CORE_READ(task, pid),
		.parent_pid = parent_pid,
		.layout = layout,
	};

	BPF_CORE_READ_STR_INTO(&event.comm, task, comm);
	if (bpf_ringbuf_output(&ring, &event, sizeof(event), BPF_RB_FORCE_WAKEUP))
		count(COUNTER_EVENTS_DROPPED);
	return 0;
}

/* The new image: known, then its layout is the result, or to be found out by user space. */
static __always_inline __u32 resolve_exec(struct task_struct *task, __u32 pid)
{
	struct proc_info *old = bpf_map_lookup_elem(&procs, &pid);
	struct proc_info proc = { .start_ticks = process_start_ticks(task) };
	struct binary_info *binary;
	struct binary_key key;

	if (!old && !follow_all)
		return KRAIT_NO_LAYOUT;
	task_binary(task, &key);
	binary = bpf_map_lookup_elem(&binaries, &key);
	if (binary) {
		proc.runtime_addr = BPF_CORE_READ(task, mm, start_code) + binary->runtime_delta;
		proc.layout = binary->layout;
		proc.flags = binary->flags;
	} else if (!old) {
		return KRAIT_NO_LAYOUT;
	}
	bpf_map_update_elem(&procs, &pid, &proc, BPF_ANY);
	return binary ? proc.layout : KRAIT_NO_LAYOUT;
}

SEC("raw_tp/sched_process_exec")
int process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 layout = resolve_exec(task, BPF_CORE_READ(task, tgid));

	return emit_task(task, EVENT_EXEC, BPF_CORE_READ(task, real_parent, tgid), layout);
}

SEC("raw_tp/sched_process_fork")
int process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u32 parent_pid = BPF_CORE_READ(parent, tgid), pid = BPF_CORE_READ(child, tgid);
	struct proc_info *known;

	if ((__u32)BPF_CORE_READ(child, pid) != pid)
		return 0; /* a thread */
	known = bpf_map_lookup_elem(&procs, &parent_pid);
	if (known) {
		struct proc_info proc = *known;

		proc.start_ticks = process_start_ticks(child);
		proc.dropped = 0;
		bpf_map_update_elem(&procs, &pid, &proc, BPF_ANY);
	}
	return emit_task(child, EVENT_FORK, parent_pid, KRAIT_NO_LAYOUT);
}

SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid);

	if (BPF_CORE_READ(task, signal, live.counter) == 0) {
		bpf_map_delete_elem(&procs, &pid);
		return emit_task(task, EVENT_EXIT, 0, KRAIT_NO_LAYOUT);
	}
	/* By process, not by slot: a thread that got its slot late must still give it back. */
	if (bpf_map_lookup_elem(&procs, &pid))
		return emit_task(task, EVENT_THREAD_EXIT, 0, KRAIT_NO_LAYOUT);
	return 0;
}
