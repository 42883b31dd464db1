/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_procs.h - which mappings a process has, by their number in rows.h.
 *
 * Must hold: like procs, it is changed only in process context and by user space. A process has an
 * entry here only while it has one there; an entry left by an earlier process with the same pid
 * does not count.
 */
#ifndef KRAIT_BPF_MAP_UNWIND_PROCS_H
#define KRAIT_BPF_MAP_UNWIND_PROCS_H

#include "bpf/abi.h"
#include "bpf/native/rows.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KRAIT_MAX_PROCS);
	__type(key, __u32);
	__type(value, struct unwind_proc);
} unwind_procs SEC(".maps") __weak;

/*
 * The space of a process; 0 none. Reads the start last: if the entry has changed hands, the start
 * differs.
 */
static __always_inline __u32 unwind_space_of(__u32 pid, __u64 start_ns)
{
	struct unwind_proc *proc = bpf_map_lookup_elem(&unwind_procs, &pid);
	__u32 space;

	if (!proc)
		return 0;
	space = *(volatile __u32 *)&proc->space;
	barrier();
	return same_start(*(volatile __u64 *)&proc->start_ns, start_ns) ? space : 0;
}

#endif /* KRAIT_BPF_MAP_UNWIND_PROCS_H */
