/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debugger_support.h - where CPython 3.14 and later take a debugger's requests (PEP 768): the part
 * of the table of debug offsets that a profiler does not need.
 *
 * Must hold: every offset handed out lies, with its field's width, within its struct, and no two
 * fields overlap.
 */
#ifndef KRAIT_LOOK_EXEC_DEBUGGER_SUPPORT_H
#define KRAIT_LOOK_EXEC_DEBUGGER_SUPPORT_H

#include <linux/types.h>
#include <stddef.h>

/* Bit of PyThreadState.eval_breaker (Include/internal/pycore_ceval.h, 3.14 and 3.15). */
#define EVAL_PLEASE_STOP_BIT (1ULL << 5)
/* The longest script path, with its NUL, that we write whatever the table allows. */
#define SCRIPT_PATH_MAX 512

struct debugger_support {
	__u32 threads_main, remote_debugging_enabled; /* in PyInterpreterState */
	__u32 eval_breaker, pending_call, script_path; /* in PyThreadState */
	__u32 script_path_size;
};

/*
 * Parses len bytes of a table. Returns 0, or with a sentence in why:
 *  -ENOTSUP  this version has no support, or is a pre-release, whose offsets another one need not
 *  share
 *  -ENODATA  impossible values
 */
int debugger_support_parse(const void *table, size_t len, struct debugger_support *ret, char *why,
			   size_t why_size) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_EXEC_DEBUGGER_SUPPORT_H */
