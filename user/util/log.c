/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/log.h"

#include <stdio.h>

static enum log_level log_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	log_level = level;
}

void log_vline(enum log_level level, const char *module, const char *fmt, va_list ap)
{
	if (level > log_level)
		return;
	flockfile(stderr);
	fprintf(stderr, "krait: %s%s", module ? module : "", module ? ": " : "");
	if (level == LOG_LEVEL_WARN)
		fputs("warning: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void log_line(enum log_level level, const char *module, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(level, module, fmt, ap);
	va_end(ap);
}
