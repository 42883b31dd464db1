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

const char *error_doctor(enum exit_code code)
{
	return code == EXIT_CODE_PERMISSION || code == EXIT_CODE_KERNEL ?
		       " (krait doctor checks all that is needed)" :
		       "";
}
