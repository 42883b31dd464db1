/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debugger_support.h - where CPython 3.14 and later take requests of a debugger (PEP 768): what the table of
 * debug offsets says beyond what a profiler needs.
 *
 * Must hold: every offset handed out lies, with the width of its field, in the struct that it is of, and no two
 * fields overlap.
 */
#ifndef KRAIT_INJECT_DEBUGGER_SUPPORT_H
#define KRAIT_INJECT_DEBUGGER_SUPPORT_H

#include <linux/types.h>
#include <stddef.h>

/* Bit of PyThreadState.eval_breaker (Include/internal/pycore_ceval.h, 3.14 and 3.15). */
#define EVAL_PLEASE_STOP_BIT (1ULL << 5)
/* Longest script path, with its NUL, that is written whatever the table says. */
#define SCRIPT_PATH_MAX 512

struct debugger_support {
	__u32 threads_main, remote_debugging_enabled; /* in PyInterpreterState */
	__u32 eval_breaker, pending_call, script_path; /* in PyThreadState */
	__u32 script_path_size;
};

/*
 * Of len bytes of a table. 0, or with a sentence in why:
 *  -ENOTSUP  this version has none, or is a pre-release, of which no other one has the same offsets for certain
 *  -ENODATA  values that cannot be
 */
int debugger_support_parse(const void *table, size_t len, struct debugger_support *ret, char *why,
			   size_t why_size) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_INJECT_DEBUGGER_SUPPORT_H */
