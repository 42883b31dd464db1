/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel_task.h - what krait needs from the kernel's task_struct, relocated by CO-RE.
 *
 * The only place on the BPF side that knows kernel structures and the machine's registers.
 */
#ifndef KRAIT_BPF_KERNEL_TASK_H
#define KRAIT_BPF_KERNEL_TASK_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/arch.h"

#define PF_EXITING 0x00000004 /* include/linux/sched.h */

/* mm->flags is a word; since 6.18 it is a bitmap whose first word has the same bits. */
struct mm_struct___word {
	unsigned long flags;
} __attribute__((preserve_access_index));

struct mm_struct___bitmap {
	struct {
		unsigned long __mm_flags[1];
	} flags;
} __attribute__((preserve_access_index));

#define MM_DUMPABLE_MASK 3 /* include/linux/mm_types.h, sched/coredump.h: the two lowest bits */
#define MM_DUMPABLE_USER 1 /* SUID_DUMP_USER */

/*
 * May the task's own user trace it? Not if it has changed its ids, by exec or afterwards, or has
 * asked not to be traced. /proc shows this by the owner of its files, but for root's processes they
 * look the same in both cases.
 */
static __always_inline bool mm_is_dumpable(const void *mm)
{
	const struct mm_struct___bitmap *bitmap = mm;
	const struct mm_struct___word *word = mm;
	unsigned long flags = 0;

	if (bpf_core_field_exists(bitmap->flags))
		flags = BPF_CORE_READ(bitmap, flags.__mm_flags[0]);
	else if (bpf_core_field_exists(word->flags))
		flags = BPF_CORE_READ(word, flags);
	return (flags & MM_DUMPABLE_MASK) == MM_DUMPABLE_USER;
}

static __always_inline bool task_is_dumpable(struct task_struct *task)
{
	return mm_is_dumpable(BPF_CORE_READ(task, mm));
}

/* Is it between two images? The kernel's bit is optional, so CO-RE looks it up. */
static __always_inline bool task_is_execing(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/*
 * Would the kernel let a process with these ids and without capabilities, in the initial user
 * namespace, trace the task now? The same questions as __ptrace_may_access() and
 * cap_ptrace_access_check() ask; what a security module would say is for who opens its memory.
 */
static __always_inline bool task_has_rights_of(struct task_struct *task, __u32 uid, __u32 gid)
{
	const struct cred *cred = BPF_CORE_READ(task, real_cred);
	__u64 caps = ~0ULL; /* two halves before 6.3 */

	if (bpf_core_read(&caps, sizeof(caps), &cred->cap_permitted) || caps)
		return false;
	return BPF_CORE_READ(cred, uid.val) == uid && BPF_CORE_READ(cred, euid.val) == uid &&
	       BPF_CORE_READ(cred, suid.val) == uid && BPF_CORE_READ(cred, gid.val) == gid &&
	       BPF_CORE_READ(cred, egid.val) == gid && BPF_CORE_READ(cred, sgid.val) == gid &&
	       !BPF_CORE_READ(cred, user_ns, level) && task_is_dumpable(task);
}

/*
 * The same at any moment. Not within exec: there a task has the name and memory of a set-uid program before its
 * rights (begin_new_exec() in fs/exec.c). sched_process_exec is later: it has both.
 */
static __always_inline bool task_is_own(struct task_struct *task, __u32 uid, __u32 gid)
{
	return !task_is_execing(task) && task_has_rights_of(task, uid, gid);
}

/* Its real uid, in the initial user namespace. */
static __always_inline __u32 task_uid(struct task_struct *task)
{
	return BPF_CORE_READ(task, real_cred, uid.val);
}

/* The deepest that the kernel allows (kernel/user_namespace.c). */
#define USER_NS_LEVELS 33
/* Levels that one call goes up. */
#define USER_NS_STEPS 8

/*
 * The namespace that many levels above, or USER_NS_STEPS above if that is less. A global function: the
 * verifier follows its steps once, not all levels one after the other.
 */
__weak __noinline __u64 user_ns_above(__u64 ns_addr, int levels)
{
	const struct user_namespace *ns = (const void *)ns_addr;

	for (int i = 0; i < USER_NS_STEPS && i < levels; i++)
		ns = BPF_CORE_READ(ns, parent);
	return (__u64)ns;
}

/*
 * Whose share the task at that address uses: its real uid; but in a user namespace, who made the
 * outermost one (below the initial one). If that was root, the uid for whose ids it was made: the first
 * one, on the outside. So the tens of thousands of uids that a user has there count as one.
 */
__weak __noinline __u32 task_payer(__u64 task_addr)
{
	const struct cred *cred = BPF_CORE_READ((struct task_struct *)task_addr, real_cred);
	const struct user_namespace *ns = BPF_CORE_READ(cred, user_ns);
	__u32 uid = BPF_CORE_READ(cred, uid.val), payer;
	int level = BPF_CORE_READ(ns, level);

	if (!level)
		return uid;
	for (int i = 1; i < USER_NS_LEVELS; i += USER_NS_STEPS)
		ns = (const void *)user_ns_above((__u64)ns, level - i);
	payer = BPF_CORE_READ(ns, owner.val);
	if (!payer && BPF_CORE_READ(ns, uid_map.nr_extents))
		payer = BPF_CORE_READ(ns, uid_map.extent[0].lower_first);
	return payer ? payer : uid;
}

/* groups: memory to read them to. */
static __always_inline __u32 read_groups(const struct group_info *info, __u32 cnt, __u32 *groups)
{
	if (cnt >= TASK_GROUPS_MAX)
		return TASK_GROUPS_MANY;
	cnt = masked(cnt, TASK_GROUPS_MAX - 1);
	if (cnt && bpf_core_read(groups, cnt * sizeof(*groups), &info->gid))
		return TASK_GROUPS_MANY;
	return task_groups(groups, cnt);
}

/* Its own ids, not those that the kernel assumes for it for a moment (overlayfs, access()). */
static __always_inline void task_ids(struct task_ids *ret, struct task_struct *task,
				     __u32 groups[TASK_GROUPS_MAX])
{
	const struct cred *cred = BPF_CORE_READ(task, real_cred);

	ret->uid = BPF_CORE_READ(cred, fsuid.val);
	ret->gid = BPF_CORE_READ(cred, fsgid.val);
	ret->groups = read_groups(BPF_CORE_READ(cred, group_info),
				  BPF_CORE_READ(cred, group_info, ngroups), groups);
}

/*
 * The same for the current task, and who pays for it. in_place: see current_task(). Each pointer that is
 * followed from there makes the verifier search the kernel's types several times, 0.25 ms each.
 */
static __always_inline __u32 current_ids(struct task_ids *ret, bool in_place,
					 __u32 groups[TASK_GROUPS_MAX])
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	const struct cred *cred;
	__u32 payer;

	if (!in_place) {
		task_ids(ret, task, groups);
		return task_payer((__u64)task);
	}
	cred = bpf_get_current_task_btf()->real_cred;
	ret->uid = cred->fsuid.val;
	ret->gid = cred->fsgid.val;
	payer = cred->user_ns->level ? task_payer((__u64)task) : cred->uid.val;
	ret->groups = read_groups(cred->group_info, cred->group_info->ngroups, groups);
	return payer;
}

static __always_inline __u32 task_fsuid(struct task_struct *task, bool in_place)
{
	return in_place ? bpf_get_current_task_btf()->real_cred->fsuid.val :
			  BPF_CORE_READ(task, real_cred, fsuid.val);
}

/* Older names of an inode's change time, up to 6.5 and up to 6.10. */
struct inode___before_6_6 {
	struct timespec64 i_ctime;
} __attribute__((preserve_access_index));
struct inode___before_6_11 {
	struct timespec64 __i_ctime;
} __attribute__((preserve_access_index));

/* From 6.13 on one bit means that somebody has asked for the time (I_CTIME_QUERIED). */
#define CTIME_NSEC_MASK ((1U << 30) - 1)

static __always_inline void inode_ctime(struct inode *inode, struct binary_key *ret)
{
	if (bpf_core_field_exists(inode->i_ctime_sec)) {
		ret->ctime_sec = BPF_CORE_READ(inode, i_ctime_sec);
		ret->ctime_nsec = BPF_CORE_READ(inode, i_ctime_nsec) & CTIME_NSEC_MASK;
	} else if (bpf_core_field_exists(((struct inode___before_6_11 *)inode)->__i_ctime)) {
		struct inode___before_6_11 *old = (void *)inode;

		ret->ctime_sec = BPF_CORE_READ(old, __i_ctime.tv_sec);
		ret->ctime_nsec = BPF_CORE_READ(old, __i_ctime.tv_nsec);
	} else {
		struct inode___before_6_6 *old = (void *)inode;

		ret->ctime_sec = BPF_CORE_READ(old, i_ctime.tv_sec);
		ret->ctime_nsec = BPF_CORE_READ(old, i_ctime.tv_nsec);
	}
}

static __always_inline void inode_key(struct inode *inode, struct binary_key *ret)
{
	ret->inode = BPF_CORE_READ(inode, i_ino);
	ret->size = BPF_CORE_READ(inode, i_size);
	ret->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	inode_ctime(inode, ret);
}

/* The file that the task executes. */
static __always_inline void task_binary(struct task_struct *task, struct binary_key *ret)
{
	inode_key(BPF_CORE_READ(task, mm, exe_file, f_inode), ret);
}

/* Start of the task, ns on the boot clock; together with the tid it identifies a thread for good. */
static __always_inline __u64 task_start_ns(struct task_struct *task)
{
	return BPF_CORE_READ(task, start_boottime);
}

/*
 * Start of the task's process: field 22 of /proc/PID/stat, there in ticks (fs/proc/array.c,
 * do_task_stat()).
 */
static __always_inline __u64 process_start_ns(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

/* The current thread's number in its own pid namespace; 0: unknown. */
static __always_inline __u32 current_ns_tid(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid number = {};

	/* include/linux/pid_namespace.h: MAX_PID_NS_LEVEL */
	if (level > 32 || bpf_core_read(&number, sizeof(number), &pid->numbers[level]))
		return 0;
	return (__u32)number.nr;
}

static __always_inline __u64 task_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, THREAD_POINTER);
}

/* What a sample needs to know about its thread. */
struct current_task {
	__u64 start_ns, thread_ptr;
	/* its memory is gone, or soon will be: do_exit() sets the flag before exit_mm() (kernel/exit.c) */
	bool is_exiting;
	bool is_execing; /* between two images */
};

/*
 * in_place: the kernel has bpf_get_current_task_btf() (5.11+), whose members can be read without a
 * helper for each.
 */
static __always_inline void current_task(struct current_task *ret, bool in_place)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if (!in_place) {
		ret->start_ns = task_start_ns(task);
		ret->thread_ptr = task_thread_pointer(task);
		ret->is_exiting = BPF_CORE_READ(task, flags) & PF_EXITING;
		ret->is_execing = task_is_execing(task);
		return;
	}
	task = bpf_get_current_task_btf();
	ret->start_ns = task->start_boottime;
	ret->thread_ptr = task->THREAD_POINTER;
	ret->is_exiting = task->flags & PF_EXITING;
	ret->is_execing = bpf_core_field_exists(task->in_execve) &&
			  BPF_CORE_READ_BITFIELD(task, in_execve);
}

/* The leader of other threads is not followed in place: see current_ids(). */
static __always_inline __u64 current_process_start_ns(bool in_place)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	if (in_place && pid_tgid >> 32 == (__u32)pid_tgid)
		return bpf_get_current_task_btf()->start_boottime;
	return process_start_ns((struct task_struct *)bpf_get_current_task());
}
/*
 * Reads from the context, in one instruction: the verifier demands it, and the compiler would not
 * do it.
 */
static __always_inline __u64 context_reg(const void *ctx, const int number)
{
	__u64 value;

	asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(value) : "r"(ctx), "i"(number * 8));
	return value;
}

/* All registers, in the kernel's memory. */
static __always_inline const void *context_regs(const void *ctx)
{
	const struct bpf_perf_event_data_kern *kern = ctx;

	return BPF_CORE_READ(kern, regs);
}

/*
 * The index that user space has given to the perf event: stored in an attribute that has no meaning
 * without a perf ring buffer. An attach cookie would need 5.15.
 */
static __always_inline __u32 event_index(const void *ctx)
{
	const struct bpf_perf_event_data_kern *kern = ctx;
	__u32 index = BPF_CORE_READ(kern, event, attr.wakeup_events);

	return index < KRAIT_MAX_EVENTS ? index : 0;
}

/* Size of kernel stacks on kernels without bpf_task_pt_regs(), except debugging kernels. */
#define TASK_STACK_SIZE 16384

/* Where the task's kernel stack holds the user-mode registers. */
static __always_inline const void *task_stack_regs(struct task_struct *task)
{
	return (const char *)BPF_CORE_READ(task, stack) + TASK_STACK_SIZE -
	       bpf_core_type_size(struct pt_regs);
}

/* Where the user-mode registers are while the current task is in the kernel. */
static __always_inline const void *task_saved_regs(struct task_struct *task, bool has_helper)
{
	if (has_helper)
		return (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return task_stack_regs(task);
}

#endif /* KRAIT_BPF_KERNEL_TASK_H */
