/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * programs.h - krait's BPF programs: opens, configures and loads them, attaches them to process
 * events, and explains why a kernel refuses them.
 */
#ifndef KRAIT_KERNEL_SAMPLER_PROGRAMS_H
#define KRAIT_KERNEL_SAMPLER_PROGRAMS_H

#include <linux/types.h>
#include <stdbool.h>

struct bpf_program;
struct error;
struct features;
struct krait_bpf;
struct sampler_config;

/*
 * The caller destroys the skeleton. *ret_types_fd: the caller closes it after loading; -1: none.
 * NULL with errno.
 */
struct krait_bpf *programs_open(int *ret_types_fd) __attribute__((warn_unused_result, nonnull));

/* Chooses which programs are loaded, sets their constants and the sizes of their maps. Returns 0, or -1 and errno. */
int programs_configure(struct krait_bpf *skel, const struct sampler_config *config,
		       bool has_switches, const struct features *features)
	__attribute__((warn_unused_result, nonnull));

/*
 * Are programs that were configured without switches and loaded the same as for this configuration, which has no switches
 * either? Whose threads they sample, and the rates of clocks, may differ: programs_settle() sets these.
 */
bool programs_suit(const struct krait_bpf *skel, const struct sampler_config *config,
		   const struct features *features) __attribute__((nonnull));

/* After loading, before anything is attached: what is no constant. */
void programs_settle(struct krait_bpf *skel, const struct sampler_config *config)
	__attribute__((nonnull));

/* After programs_configure(): the program of perf events; of the event touched-memory, if there is one. */
struct bpf_program *programs_sampling(const struct krait_bpf *skel) __attribute__((nonnull));
const struct bpf_program *programs_fault(const struct krait_bpf *skel) __attribute__((nonnull));

/* Can the clocks of threads be compared with samples: does each tick of some event become one? */
bool programs_want_clocks(const struct sampler_config *config) __attribute__((nonnull));

/* Returns 0, or an error that says what to do. */
int programs_load(struct krait_bpf *skel, struct error *err)
	__attribute__((warn_unused_result, nonnull));

/* One function of krait's programs in the kernel. */
typedef void (*programs_code_fn)(void *ctx, __u64 start, __u32 size);

/*
 * Loads the programs that take chains of tasks and greenlets (wants_chains() in bpf/sample.h), if those
 * that are loaded have left them to others. Without them samples have no chains. code: told where they are, as by
 * programs_code(); NULL: nobody asks. Returns 0 or -errno.
 */
int programs_load_chained(const struct krait_bpf *skel, programs_code_fn code, void *ctx)
	__attribute__((warn_unused_result, nonnull(1)));

/* The error if the kernel has no memory for them or their maps. Returns it. */
int programs_no_memory(struct error *err) __attribute__((nonnull));

/*
 * Process events come from here on; mappings: those, too, if this kernel allows it. Returns 0, or a
 * negative result with *err filled.
 */
int programs_attach(struct krait_bpf *skel, bool mappings, struct error *err)
	__attribute__((warn_unused_result, nonnull));

/* What has compiled them, as that compiler calls itself. */
const char *programs_compiler(void);

/*
 * Where the kernel has put the code of krait's programs: once for each of their functions. Never, if
 * it interprets them, or hides its addresses from us.
 */
void programs_code(const struct krait_bpf *skel, programs_code_fn fn, void *ctx)
	__attribute__((nonnull));

#endif /* KRAIT_KERNEL_SAMPLER_PROGRAMS_H */
