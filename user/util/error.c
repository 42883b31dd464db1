/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/error.h"

#include <stdio.h>

int error_set(struct error *err, int errnum, enum exit_code code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return errnum > 0 ? -errnum : -1;
}
