/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/sampler/kernel_btf.h"
#include "base/system/error.h"
#include "base/text/log.h"

/* Inode of the first pid namespace, include/linux/proc_ns.h, PROC_PID_INIT_INO. */
#define PID_NAMESPACE_INIT_INO 0xEFFFFFFCU

/* Creating a map is the cheapest operation that needs the right to use BPF. */
static int probe_permission(struct error *err)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "krait_probe", 4, 8, 1, NULL);
	int errnum = errno;

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (errnum == ENOSYS)
		return error_set(err, errnum, EXIT_CODE_KERNEL,
				 "this kernel is built without BPF (CONFIG_BPF_SYSCALL)");
	if (errnum == EPERM && geteuid() != 0)
		return error_set(err, errnum, EXIT_CODE_PERMISSION,
				 "BPF needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE%s",
				 error_sudo());
	if (errnum == EPERM)
		return error_set(err, errnum, EXIT_CODE_PERMISSION,
				 "BPF is refused although this is root: a container without "
				 "CAP_BPF and CAP_PERFMON, or a seccomp filter (docker: "
				 "--privileged --pid=host)");
	return error_set(err, errnum, EXIT_CODE_KERNEL, "cannot create a BPF map: %s",
			 strerror(errnum));
}

/* The programs see host pids; in another pid namespace /proc would show different ones. */
static int probe_pid_namespace(struct error *err)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st))
		return error_set(err, errno, EXIT_CODE_KERNEL, "/proc is not mounted: %s",
				 strerror(errno));
	if (st.st_ino == PID_NAMESPACE_INIT_INO)
		return 0;
	return error_set(err, EPERM, EXIT_CODE_PERMISSION,
			 "krait runs in a pid namespace of its own and would see the wrong "
			 "processes; run it in the host's (docker: --pid=host --privileged)");
}

/*
 * A kernel locked down for confidentiality lets no BPF program read memory. Found by trying:
 * libbpf's probe for a helper (1.1) does not recognise the message with which kernels since 6.8
 * refuse one.
 */
static int probe_lockdown(struct error *err)
{
	/* bpf_probe_read_kernel(fp - 8, 8, NULL) */
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "krait_probe", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (errno == EPERM || errno == EACCES)
		return 0; /* a missing right, which the load error will explain */
	return error_set(
		err, errno, EXIT_CODE_KERNEL,
		"this kernel does not let BPF programs read memory: it is older than 5.5, or "
		"in lockdown (if /sys/kernel/security/lockdown says [confidentiality], boot "
		"with lockdown=integrity or none)");
}

/*
 * Programs with functions of their own that call another program: x86-64 from 5.10 on, arm64 from 6.0 on, and not
 * without the JIT compiler (BPF_FUNC_tail_call in the kernel's check_map_func_compatibility()).
 */
static bool probe_tail_calls(void)
{
	int map = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "krait_probe", 4, 4, 1, NULL);
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1 },
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 7 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 2,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = map >= 0 ? bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "krait_probe", "GPL", insns,
					  sizeof(insns) / sizeof(insns[0]), NULL) :
			    -1;

	if (map >= 0)
		close(map);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* One line; the kernel matrix (scripts/vm) prints it. */
static void log_features(const struct features *f)
{
	static const char *const says[] = { "no", "yes" };

	log_debug("features", "loops %s, bpf_loop %s, tail_calls %s, task_regs %s, cookies %s",
		  says[features_loops(f)], says[f->bpf_loop], says[f->tail_calls],
		  says[f->task_regs], says[f->cookies]);
}

int probe_features(struct features *ret, struct error *err)
{
	int result = probe_pid_namespace(err);

	if (!result)
		result = probe_permission(err);
	if (result)
		return result;
	if (access(KERNEL_BTF, R_OK))
		return error_set(err, ENOENT, EXIT_CODE_KERNEL,
				 "no kernel type information at " KERNEL_BTF
				 " (the kernel needs CONFIG_DEBUG_INFO_BTF; distributions' kernels "
				 "from 5.10 have it)");
	result = probe_lockdown(err);
	if (result)
		return result;
	ret->cookies = libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie,
					       NULL) == 1;
	ret->bpf_loop = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1;
	ret->tail_calls = probe_tail_calls();
	ret->task_regs =
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_task_pt_regs, NULL) == 1;
	log_features(ret);
	return 0;
}
