/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.h - why a stage failed: one sentence for the user, and the exit code.
 *
 * The stage that knows the cause writes it; main prints it once. The codes are krait's documented
 * contract (docs/RECORDING.md, "Exit codes").
 */
#ifndef KRAIT_BASE_SYSTEM_ERROR_H
#define KRAIT_BASE_SYSTEM_ERROR_H

#include <stdarg.h>

enum exit_code {
	EXIT_CODE_OK = 0,
	EXIT_CODE_LOSSY = 1, /* finished, but lost more than the limit allows */
	EXIT_CODE_USAGE = 2,
	EXIT_CODE_TARGET = 3, /* no such process, or not Python */
	EXIT_CODE_PERMISSION = 4,
	EXIT_CODE_KERNEL = 5, /* the kernel lacks something */
	EXIT_CODE_EMPTY = 6, /* no samples */
	EXIT_CODE_OUTPUT = 7, /* a file could not be read or written */
	EXIT_CODE_TIMEOUT = 8, /* a process did not do in time what it was asked to */
	EXIT_CODE_SLOWER = 9, /* diff --fail-above: something has grown by more */
	EXIT_CODE_CRASH = 10, /* the process that reads a capture did not end by itself */
};

struct error {
	enum exit_code code;
	char text[512];
};

/* Fills *err and returns -errnum, for "return error_set(...)". */
int error_set(struct error *err, int errnum, enum exit_code code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5), nonnull(1)));

/* Returns a hint, with a leading space, for errors that krait doctor can explain; "" for others. */
const char *error_doctor(enum exit_code code);

/*
 * Returns " (try: sudo krait record ...)" with this process's own command line, for someone whose
 * rights do not suffice; "" for root. krait is named by its path where sudo would not find it.
 */
const char *error_sudo(void);
/* From now on it returns "": this process's command line was not typed. */
void error_hide_sudo(void);

#endif /* KRAIT_BASE_SYSTEM_ERROR_H */
