/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings.h - the findings of krait doctor, one line each: how good, what it costs, and the one
 * command that fixes it.
 *
 * Must hold: text from elsewhere is stored unchanged; the code that prints it escapes it.
 */
#ifndef KRAIT_CMD_DOCTOR_FINDINGS_H
#define KRAIT_CMD_DOCTOR_FINDINGS_H

#include <stddef.h>

enum finding_level {
	FINDING_OK,
	FINDING_LIMITED, /* krait works, but not completely */
	FINDING_BROKEN, /* krait cannot record */
};

struct finding {
	enum finding_level level;
	const char *name; /* static */
	char what[400];
	const char *cost, *remedy; /* static; NULL if all is well or no fix exists */
};

/* Initially all zero; freed by findings_free(). */
struct findings {
	struct finding *list;
	size_t cnt, cap;
};

/* Drops the finding if memory runs out. */
void findings_add(struct findings *f, enum finding_level level, const char *name, const char *cost,
		  const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 6, 7), nonnull(1, 3, 6)));
void findings_free(struct findings *f) __attribute__((nonnull));

#endif /* KRAIT_CMD_DOCTOR_FINDINGS_H */
