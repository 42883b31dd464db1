/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc_entries.h - enters processes into procs and deletes them, at their owners' expense
 * (share.h). Only for programs in process context.
 */
#ifndef KRAIT_BPF_MAP_PROC_ENTRIES_H
#define KRAIT_BPF_MAP_PROC_ENTRIES_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/map/procs.h"
#include "bpf/map/room.h"
#include "bpf/share.h"
#include "bpf/map/unwind_procs.h"

static __always_inline bool may_add_proc(struct owner_books *books, __u32 owner)
{
	__s64 all = books->procs, roots = books->use[OWNER_ROOT].procs;
	__s64 held = owner_use(books, owner)->procs;
	__u64 free = share_free(owner, KRAIT_MAX_PROCS, all > 0 ? all : 0,
				KRAIT_MAX_PROCS / ROOM_ROOT_RESERVE, roots > 0 ? roots : 0);

	return share_allows(owner, held > 0 ? held : 0, 1, KRAIT_MAX_PROCS, free);
}

/*
 * Enters a process or replaces it, at its owner's expense. User space may do the same at the same
 * time: whoever inserts pays. Returns 0, or -1 if there is no room.
 */
static __always_inline int put_proc(__u32 pid, const struct proc_info *proc)
{
	struct proc_info *old = bpf_map_lookup_elem(&procs, &pid);
	struct owner_books *books = owner_books();

	if (!books)
		return -1;
	books->pids[pids_place(pid)] = 1;
	if (old) {
		move_proc(books, old->owner, proc->owner);
		return bpf_map_update_elem(&procs, &pid, proc, BPF_ANY) ? -1 : 0;
	}
	if (!may_add_proc(books, proc->owner) ||
	    bpf_map_update_elem(&procs, &pid, proc, BPF_NOEXIST)) {
		atomic_add(&owner_use(books, proc->owner)->procs_refused, 1);
		return -1;
	}
	atomic_add(&owner_use(books, proc->owner)->procs, 1);
	atomic_add(&books->procs, 1);
	return 0;
}

/* Forgets what we know of an image besides its interpreter. */
static __always_inline void forget_image(__u32 pid)
{
	bpf_map_delete_elem(&unwind_procs, &pid);
	bpf_map_delete_elem(&task_layouts, &pid);
	bpf_map_delete_elem(&greenlet_places, &pid);
}

static __always_inline void delete_proc(__u32 pid)
{
	struct proc_info *old = bpf_map_lookup_elem(&procs, &pid);
	struct owner_books *books = owner_books();
	__u32 owner;

	if (!old || !books)
		return;
	owner = old->owner;
	forget_image(pid);
	if (bpf_map_delete_elem(&procs, &pid))
		return;
	atomic_add(&owner_use(books, owner)->procs, -1);
	atomic_add(&books->procs, -1);
}

/* The entry of this process, not of an earlier one with the same pid. */
static __always_inline struct proc_info *find_proc(__u32 pid, __u64 start_ns)
{
	struct proc_info *proc = bpf_map_lookup_elem(&procs, &pid);

	return proc && same_start(proc->start_ns, start_ns) ? proc : NULL;
}

#endif /* KRAIT_BPF_MAP_PROC_ENTRIES_H */
