/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lifecycle.bpf.c - reports processes that start, change and end; nothing polls, and nothing waits
 * for user space.
 *
 * A forked child is a copy of its parent: its entry exists before it runs. If the interpreter of an
 * executed binary is known, its entry is complete at once. Any other exec leaves an entry that is
 * only followed, until a known library in it starts an interpreter. An exit deletes the entry. A
 * new image also wakes user space, which examines the process itself, unless user space has said
 * that this executable is not Python.
 *
 * These programs run in process context, so they may change a hash, unlike the sampler.
 */
#include "bpf/abi.h"
#include "bpf/share.h"
#include "bpf/read.h"
#include "bpf/native/rows.h"
#include "bpf/map/unwind_procs.h"
#include "bpf/kernel_task.h"
#include "bpf/map/procs.h"
#include "bpf/map/room.h"
#include "bpf/map/proc_entries.h"
#include "bpf/wait/clock.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KRAIT_MAX_BINARIES);
	__type(key, struct binary_key);
	__type(value, struct binary_info);
} binaries SEC(".maps");

/* Executables that user space found not to be Python, per user (kernel/maps/plain_files.h). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KRAIT_MAX_PLAIN);
	__type(key, struct plain_key);
	__type(value, __u32); /* enum plain_verdict */
} plain SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KRAIT_MAX_ENTRIES);
	__type(key, __u32); /* attach cookie of the uprobe on the function */
	__type(value, struct binary_info);
} entries SEC(".maps");

/* Size of the ring buffer: process events may fill all of it. */
const volatile __u64 ring_bytes_max = 1 << 20;

/* Follow every process, not only those in procs and their descendants. */
const volatile bool follow_all = false;

/* Do not wake user space for new processes (sampler__hush()). */
volatile __u32 hushed = 0;

/* Bits of an offset within a page. */
const volatile __u32 page_shift = 12;

/* The owner of the task at that address, by its current credentials. A global function: verified once. */
__weak __noinline int task_owner(__u64 task_addr)
{
	struct owner_books *books = owner_books();

	return books ? owner_of(&books->table, task_payer(task_addr)) : OWNER_ROOT;
}

static __always_inline void begin_task(struct record_task *record, struct task_struct *task,
				       __u32 type)
{
	*record = (struct record_task){
		.type = type,
		.owner = task_owner((__u64)task),
		.size = sizeof(*record),
		.time_ns = bpf_ktime_get_ns(),
		.start_ns = type == RECORD_THREAD_EXIT ? task_start_ns(task) :
							 process_start_ns(task),
		.pid = BPF_CORE_READ(task, tgid),
		.tid = BPF_CORE_READ(task, pid),
		.layout = KRAIT_NO_LAYOUT,
		.uid = task_uid(task),
	};
	/* What a program with other rights is called is not for who records its own. */
	if (!own_only || (type == RECORD_EXEC ? task_has_rights_of(task, own_uid, own_gid) :
						task_is_own(task, own_uid, own_gid)))
		BPF_CORE_READ_STR_INTO(&record->comm, task, comm);
}

/* Sends a process event; all go through here. */
static __always_inline void emit(void *record, __u64 size, __u32 owner, __u64 flags)
{
	__u64 waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	struct owner_books *books = owner_books();
	struct owner_use *use;

	if (!books)
		return;
	use = owner_use(books, owner);
	if (!ring_allows(books, owner, size, waiting, ring_bytes_max) ||
	    bpf_ringbuf_output(&ring, record, size, flags)) {
		atomic_add(&use->events_dropped, 1);
		count(COUNTER_EVENTS_DROPPED);
		return;
	}
	ring_took(use, size);
}

/* User space looks at new processes at once; ends can wait for its next turn. */
static __always_inline int emit_task(struct record_task *record, __u64 flags)
{
	emit(record, sizeof(*record), record->owner, flags);
	return 0;
}

/* Enters a process whose interpreter is known, and reports it. */
static __always_inline void enter_proc(struct record_task *record, struct proc_info *proc,
				       const struct binary_info *known, __u64 base_addr)
{
	__u32 pid = record->pid;

	proc->runtime_addr = base_addr + known->runtime_delta;
	proc->layout = known->layout;
	proc->flags = known->flags;
	proc->sampled_ns = record->time_ns;
	if (put_proc(pid, proc))
		return;
	record->runtime_addr = proc->runtime_addr;
	record->layout = proc->layout;
	record->file = known->file;
}

/*
 * What a user's processes have shown holds only for that user, who can stop each of them before it
 * becomes Python. What root's processes have shown holds for every user whose own processes have
 * shown nothing; if they have shown Python, it holds for everybody.
 */
static __always_inline bool is_plain(const struct binary_key *file, __u32 uid)
{
	struct plain_key key = { .file = *file };
	__u32 *roots = bpf_map_lookup_elem(&plain, &key), *own;

	if (roots && *roots == PLAIN_PYTHON)
		return false;
	key.uid = uid;
	own = bpf_map_lookup_elem(&plain, &key);
	if (!own)
		own = roots;
	return own && *own == PLAIN_NEVER_PYTHON;
}

/*
 * Looks up the new image: its interpreter is known, or user space must find out. False if nobody
 * follows the process.
 */
static __always_inline bool resolve_exec(struct task_struct *task, struct record_exec *record)
{
	__u32 pid = record->task.pid;
	struct proc_info *old = find_proc(pid, record->task.start_ns);
	struct proc_info proc = { .start_ns = record->task.start_ns, .owner = record->task.owner };
	struct binary_info *binary;

	if (!old && !follow_all)
		return false;
	if (old)
		forget_image(pid);
	task_binary(task, &record->file);
	binary = bpf_map_lookup_elem(&binaries, &record->file);
	if (binary) {
		enter_proc(&record->task, &proc, binary, BPF_CORE_READ(task, mm, start_code));
		return true;
	}
	if (old)
		put_proc(pid, &proc);
	if (is_plain(&record->file, record->task.uid))
		record->task.file = RECORD_FILE_PLAIN;
	return true;
}

/* From now on the thread's ticks become samples. */
static __always_inline void begin_clock(struct task_struct *task, __u32 pid)
{
	struct proc_info *proc = bpf_map_lookup_elem(&procs, &pid);

	if (proc)
		send_clock(task, proc, CLOCK_RUNNING);
}

static __always_inline int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct record_exec record = { 0 };

	begin_task(&record.task, task, RECORD_EXEC);
	record.task.parent_pid = BPF_CORE_READ(task, real_parent, tgid);
	/*
	 * A machine that runs a compiler makes a hundred of these a second: they would wake user
	 * space for nothing.
	 */
	if (!resolve_exec(task, &record))
		return 0;
	record.task.size = sizeof(record);
	emit(&record, sizeof(record), record.task.owner,
	     hushed || record.task.file == RECORD_FILE_PLAIN ? BPF_RB_NO_WAKEUP :
							       BPF_RB_FORCE_WAKEUP);
	begin_clock(task, record.task.pid);
	return 0;
}

SEC("raw_tp/sched_process_exec")
OWN_PROGRAM(process_exec, struct bpf_raw_tracepoint_args, on_exec)

/*
 * A function of a known library that starts an interpreter. The program may be linked with the
 * library or may load it much later. A process that already runs an interpreter keeps that one.
 */
SEC("uprobe")
int runtime_begin(struct pt_regs *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct proc_info proc = { .start_ns = process_start_ns(task) };
	__u32 pid = bpf_get_current_pid_tgid() >> 32, cookie = bpf_get_attach_cookie(ctx);
	struct proc_info *old = find_proc(pid, proc.start_ns);
	struct binary_info *known = bpf_map_lookup_elem(&entries, &cookie);
	struct record_task record;

	if (!known || (!old && !follow_all))
		return 0;
	if (old && old->flags & PROC_PYTHON &&
	    (old->seen || old->runtime_addr == PT_REGS_IP(ctx) + known->runtime_delta))
		return 0;
	begin_task(&record, task, RECORD_RUNTIME);
	proc.owner = record.owner;
	enter_proc(&record, &proc, known, PT_REGS_IP(ctx));
	emit_task(&record, hushed ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	begin_clock(task, pid);
	return 0;
}

/* A forked child has what its parent has: an entry with the same content but the child's own start. */
#define COPY_TO_CHILD(map, type, parent_pid, pid, start)                                           \
	do {                                                                                       \
		type *parents = bpf_map_lookup_elem(map, parent_pid), own;                         \
                                                                                                   \
		if (parents) {                                                                     \
			own = *parents;                                                            \
			own.start_ns = start;                                                      \
			bpf_map_update_elem(map, pid, &own, BPF_ANY);                              \
		}                                                                                  \
	} while (0)

static __always_inline void copy_to_child(__u32 parent_pid, __u32 pid, __u64 start_ns)
{
	COPY_TO_CHILD(&unwind_procs, struct unwind_proc, &parent_pid, &pid, start_ns);
	COPY_TO_CHILD(&task_layouts, struct task_layout, &parent_pid, &pid, start_ns);
	COPY_TO_CHILD(&greenlet_places, struct greenlet_place, &parent_pid, &pid, start_ns);
}

static __always_inline int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u32 parent_pid = BPF_CORE_READ(parent, tgid), pid = BPF_CORE_READ(child, tgid);
	__u64 parent_start_ns = process_start_ns(parent);
	struct proc_info *known, proc;
	struct record_task record;

	if ((__u32)BPF_CORE_READ(child, pid) != pid)
		return 0; /* a thread */
	known = find_proc(parent_pid, parent_start_ns);
	if (!known)
		return 0; /* not followed, or not Python yet: its exec or a uprobe will report it */
	proc = *known;
	begin_task(&record, child, RECORD_FORK);
	proc.start_ns = record.start_ns;
	proc.owner = record.owner;
	proc.dropped = 0;
	proc.mmaps = 0;
	proc.payer = 0;
	proc.walks_ns = 0;
	proc.walk_cnt = 0;
	/* Most forks on a host exec or end soon, before anybody needs to know them: record/follow/forks.c. */
	proc.unmet = follow_all;
	/* Without room user space must not hear of it either: nothing would report its end. */
	if (put_proc(pid, &proc))
		return 0;
	copy_to_child(parent_pid, pid, record.start_ns);
	record.parent_pid = parent_pid;
	record.parent_start_ns = parent_start_ns;
	return emit_task(&record, follow_all ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
}

SEC("raw_tp/sched_process_fork")
OWN_PROGRAM(process_fork, struct bpf_raw_tracepoint_args, on_fork)

static __always_inline int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct proc_info *proc = find_proc(pid, process_start_ns(task));
	bool is_last = BPF_CORE_READ(task, signal, live.counter) == 0;
	struct record_task record;

	/* Checks the process, not the slot: a thread that got its slot late must still return it. */
	if (!proc && !(is_last && follow_all))
		return 0;
	if (proc)
		send_clock(task, proc, CLOCK_RUNNING | CLOCK_LAST);
	begin_task(&record, task, is_last ? RECORD_EXIT : RECORD_THREAD_EXIT);
	if (is_last) {
		if (proc)
			record.dropped = proc->dropped;
		delete_proc(pid);
	}
	return emit_task(&record, BPF_RB_NO_WAKEUP);
}

SEC("raw_tp/sched_process_exit")
OWN_PROGRAM(process_exit, struct bpf_raw_tracepoint_args, on_exit)

#define VM_EXEC 4
/* More threads than map code in one process at the same moment. */
#define MMAPS_AT_ONCE 64

/* Describes the mapping; memory without a file has nothing to describe. */
static __always_inline void describe_mapping(struct record_mmap *record, struct vm_area_struct *vma)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);

	record->start = BPF_CORE_READ(vma, vm_start);
	record->end = BPF_CORE_READ(vma, vm_end);
	if (!file)
		return;
	record->offset = BPF_CORE_READ(vma, vm_pgoff) << page_shift;
	inode_key(BPF_CORE_READ(file, f_inode), &record->file);
}

/*
 * The kernel calls the traced function whenever something was mapped, or became code through
 * mprotect(), whether or not anybody records it (mm/vma.c, mm/mprotect.c). What exec maps is not
 * yet in any task's memory; user space finds it when it examines the new image.
 */
static __always_inline int on_mmap(struct pt_regs *ctx)
{
	struct vm_area_struct *vma = (struct vm_area_struct *)PT_REGS_PARM1(ctx);
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct record_mmap record = { .type = RECORD_MMAP, .size = sizeof(record) };
	struct proc_info *proc;

	if (!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC) ||
	    BPF_CORE_READ(vma, vm_mm) != BPF_CORE_READ(task, mm))
		return 0;
	record.pid = bpf_get_current_pid_tgid() >> 32;
	record.start_ns = process_start_ns(task);
	proc = find_proc(record.pid, record.start_ns);
	if (!proc || !(proc->flags & PROC_PYTHON) || proc->mmaps > MMAPS_MAX)
		return 0;
	/*
	 * No atomic instruction returns a result before 5.12, so threads that count at once may
	 * each say that theirs is the last.
	 */
	record.last = proc->mmaps >= MMAPS_MAX - MMAPS_AT_ONCE;
	atomic_add(&proc->mmaps, 1);
	record.owner = proc->owner;
	describe_mapping(&record, vma);
	/* Urgent: nobody can unwind the code before user space has examined it. */
	emit(&record, sizeof(record), record.owner,
	     hushed ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("kprobe/perf_event_mmap")
OWN_PROGRAM(process_mmap, struct pt_regs, on_mmap)
