/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * task.h - what krait needs of the kernel's task_struct, relocated by CO-RE.
 *
 * The only place that knows kernel structures and the machine's architecture.
 */
#ifndef KRAIT_TASK_H
#define KRAIT_TASK_H

#define PF_EXITING 0x00000004 /* include/linux/sched.h */

/* mm->flags is a word, and since 6.18 a bitmap that has the same bits in its first one. */
struct mm_struct___word {
	unsigned long flags;
} __attribute__((preserve_access_index));

struct mm_struct___bitmap {
	struct {
		unsigned long __mm_flags[1];
	} flags;
} __attribute__((preserve_access_index));

#define MM_DUMPABLE_MASK 3 /* include/linux/mm_types.h, sched/coredump.h: its two lowest bits */
#define MM_DUMPABLE_USER 1 /* SUID_DUMP_USER */

/*
 * May the task's own user trace it? Not what has changed its ids, by exec or afterwards, nor who has asked
 * for that. /proc says it by the owner of its files, and there root's look the same in both cases.
 */
static __always_inline bool task_is_dumpable(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	const struct mm_struct___bitmap *bitmap = (const void *)mm;
	const struct mm_struct___word *word = (const void *)mm;
	unsigned long flags = 0;

	if (bpf_core_field_exists(bitmap->flags))
		bpf_core_read(&flags, sizeof(flags), &bitmap->flags);
	else if (bpf_core_field_exists(word->flags))
		bpf_core_read(&flags, sizeof(flags), &word->flags);
	return (flags & MM_DUMPABLE_MASK) == MM_DUMPABLE_USER;
}

/* Its real uid, as the initial user namespace has it. */
static __always_inline __u32 task_uid(struct task_struct *task)
{
	return BPF_CORE_READ(task, real_cred, uid.val);
}

/* What the change time of an inode has been called, up to 6.5 and up to 6.10. */
struct inode___before_6_6 {
	struct timespec64 i_ctime;
} __attribute__((preserve_access_index));
struct inode___before_6_11 {
	struct timespec64 __i_ctime;
} __attribute__((preserve_access_index));

/* From 6.13 on a bit says that somebody has asked for the time (I_CTIME_QUERIED). */
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

/* Start of the task, ns on the boot clock; with the tid it names a thread for ever. */
static __always_inline __u64 task_start_ns(struct task_struct *task)
{
	return BPF_CORE_READ(task, start_boottime);
}

/* Of its process; field 22 of /proc/PID/stat in ticks (fs/proc/array.c, do_task_stat()). */
static __always_inline __u64 process_start_ns(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

/* pthread_self(): fs base, tpidr_el0. */
#if defined(__TARGET_ARCH_x86)
#define THREAD_POINTER thread.fsbase
#elif defined(__TARGET_ARCH_arm64)
#define THREAD_POINTER thread.uw.tp_value
#else
#error "krait knows x86-64 and arm64"
#endif

static __always_inline __u64 task_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, THREAD_POINTER);
}

/* What a sample wants to know of the thread that it is of. */
struct current_task {
	__u64 start_ns, thread_ptr;
	bool is_exiting; /* its memory is gone or on its way */
	bool is_execing; /* between the old image and the new one. The bit is looked up: kernels may lose it */
};

/* in_place: the kernel has bpf_get_current_task_btf() (5.11+), whose members are read without a helper for each. */
static __always_inline void current_task(struct current_task *ret, bool in_place)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if (!in_place) {
		ret->start_ns = task_start_ns(task);
		ret->thread_ptr = task_thread_pointer(task);
		ret->is_exiting = BPF_CORE_READ(task, flags) & PF_EXITING ||
				  !BPF_CORE_READ(task, mm);
		ret->is_execing = bpf_core_field_exists(task->in_execve) &&
				  BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
		return;
	}
	task = bpf_get_current_task_btf();
	ret->start_ns = task->start_boottime;
	ret->thread_ptr = task->THREAD_POINTER;
	ret->is_exiting = task->flags & PF_EXITING || !task->mm;
	ret->is_execing = bpf_core_field_exists(task->in_execve) &&
			  BPF_CORE_READ_BITFIELD(task, in_execve);
}

static __always_inline __u64 current_process_start_ns(bool in_place)
{
	if (in_place)
		return bpf_get_current_task_btf()->group_leader->start_boottime;
	return process_start_ns((struct task_struct *)bpf_get_current_task());
}

/*
 * User registers as the kernel saves them: an array of words whose order is ABI (asm/ptrace.h). By
 * number and not by name: newer kernels have made some members narrower, and a narrow load from the
 * context of a perf event program is refused.
 */
#if defined(__TARGET_ARCH_x86)
#define TASK_REGS_WORDS 21
#define REG_FP 4
#define REG_IP 16
#define REG_MODE 17 /* cs */
#define REG_SP 19
#define REG_SYSCALL 15 /* orig_ax: negative where the kernel was entered otherwise */
#define REG_ARGS                                                                                   \
	{                                                                                          \
		14, 13, 12                                                                         \
	} /* di, si, dx */
#define MODE_IS_USER(mode) (((mode)&3) == 3)
#define REGS_GENERAL 15 /* the first words */
/* Behind a system call, whose number is in orig_ax (of interrupts and faults it is negative) and whose instruction has
 * left ip in rcx, too; where a signal's handler is about to begin ip is another. */
#define REGS_BEHIND_SYSCALL(regs) ((__s64)(regs)[15] >= 0 && (regs)[11] == (regs)[REG_IP])
#elif defined(__TARGET_ARCH_arm64)
#define TASK_REGS_WORDS 36
#define REG_FP 29
#define REG_IP 32
#define REG_MODE 33 /* pstate */
#define REG_SP 31
#define REG_SYSCALL 35 /* syscallno: -1 where the kernel was entered otherwise */
#define REG_ARGS                                                                                   \
	{                                                                                          \
		34, 1, 2                                                                           \
	} /* orig_x0, x1, x2 */
#define MODE_IS_USER(mode) (((mode)&15) == 0)
#define REGS_GENERAL 29
/* struct pt_regs says it behind these words. */
#define REGS_BEHIND_SYSCALL(regs) 0
#endif

_Static_assert(TASK_REGS_WORDS == UNWIND_SAVED_WORDS && REG_IP == UNWIND_WORD_IP,
	       "user space knows where the registers are, too");

/* From the context: in one instruction, as the verifier wants it and the compiler would not do it. */
static __always_inline __u64 context_reg(const void *ctx, const int number)
{
	__u64 value;

	asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(value) : "r"(ctx), "i"(number * 8));
	return value;
}

/* All of them, in the kernel's memory. */
static __always_inline const void *context_regs(const void *ctx)
{
	const struct bpf_perf_event_data_kern *kern = ctx;

	return BPF_CORE_READ(kern, regs);
}

/*
 * The index that user space has given to the perf event: in a member of its attributes that means
 * nothing where there is no ring buffer of perf's own. An attach cookie would need 5.15.
 */
static __always_inline __u32 event_index(const void *ctx)
{
	const struct bpf_perf_event_data_kern *kern = ctx;
	__u32 index = BPF_CORE_READ(kern, event, attr.wakeup_events);

	return index < KRAIT_MAX_EVENTS ? index : 0;
}

/* Kernel stacks are that long where bpf_task_pt_regs() is missing, but in debugging kernels. */
#define TASK_STACK_SIZE 16384

/* Where the registers of user mode are on the task's kernel stack. */
static __always_inline const void *task_stack_regs(struct task_struct *task)
{
	return (const char *)BPF_CORE_READ(task, stack) + TASK_STACK_SIZE -
	       bpf_core_type_size(struct pt_regs);
}

/* Where the registers of user mode are while the current task is in the kernel. */
static __always_inline const void *task_saved_regs(struct task_struct *task, bool has_helper)
{
	if (has_helper)
		return (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return task_stack_regs(task);
}

#endif /* KRAIT_TASK_H */
