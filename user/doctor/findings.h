/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings.h - what krait doctor has found, one line each: how good it is, what that costs, and the one
 * command that mends it.
 *
 * Must hold: texts from elsewhere are stored as they came; the code that prints them escapes them.
 */
#ifndef KRAIT_DOCTOR_FINDINGS_H
#define KRAIT_DOCTOR_FINDINGS_H

#include <stddef.h>

enum finding_level {
	FINDING_OK,
	FINDING_LIMITED, /* krait works, but not all of it */
	FINDING_BROKEN, /* nothing can be recorded */
};

struct finding {
	enum finding_level level;
	const char *name; /* static */
	char what[400];
	const char *cost, *remedy; /* static; NULL where all is well, or nothing mends it */
};

/* Whatever it is that is looked at: all zero at first, freed by findings_free(). */
struct findings {
	struct finding *list;
	size_t cnt, cap;
};

/* What finds no memory is left out. */
void findings_add(struct findings *f, enum finding_level level, const char *name, const char *cost,
		  const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 6, 7), nonnull(1, 3, 6)));
void findings_free(struct findings *f) __attribute__((nonnull));

#endif /* KRAIT_DOCTOR_FINDINGS_H */
