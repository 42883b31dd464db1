/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/log.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/printable.h"

static enum log_level log_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	log_level = level;
}

void log_vline(enum log_level level, const char *module, const char *fmt, va_list ap)
{
	cleanup_free char *raw = NULL, *text = NULL;

	if (level > log_level)
		return;
	if (vasprintf(&raw, fmt, ap) < 0)
		raw = NULL;
	if (raw)
		text = printable(raw);
	fprintf(stderr, "krait: %s%s%s%s\n", module ? module : "", module ? ": " : "",
		level == LOG_LEVEL_WARN ? "warning: " : "", text ? text : "out of memory");
}

void log_line(enum log_level level, const char *module, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(level, module, fmt, ap);
	va_end(ap);
}
