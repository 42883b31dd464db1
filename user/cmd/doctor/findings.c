/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/data/vec.h"

void findings_add(struct findings *f, enum finding_level level, const char *name, const char *cost,
		  const char *remedy, const char *fmt, ...)
{
	struct finding *new;
	va_list ap;

	if (vec_reserve(f->list, f->cap, f->cnt + 1))
		return;
	new = &f->list[f->cnt++];
	*new = (struct finding){ .level = level, .name = name, .cost = cost, .remedy = remedy };
	va_start(ap, fmt);
	vsnprintf(new->what, sizeof(new->what), fmt, ap);
	va_end(ap);
}

void findings_free(struct findings *f)
{
	free(f->list);
	*f = (struct findings){ 0 };
}
