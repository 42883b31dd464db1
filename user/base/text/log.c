/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/data/cleanup.h"
#include "base/text/json.h"
#include "base/text/printable.h"

static enum log_level log_level = LOG_LEVEL_INFO;
static bool log_json;

void log_set_level(enum log_level level)
{
	log_level = level;
}

void log_as_json(bool json)
{
	log_json = json;
}

/* Uses one write, so that lines of several processes do not mix. */
static void put_json(enum log_level level, const char *module, const char *text)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	cleanup_free char *line = NULL;
	char when[32];
	struct timespec now;
	struct tm utc;
	size_t size;
	FILE *f = open_memstream(&line, &size);

	if (!f)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
	fprintf(f, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"module\":\"%s\",\"message\":", when,
		now.tv_nsec / 1000000, names[level], module ? module : "krait");
	if (json_put_text(f, text))
		fputs("\"\"", f);
	fputs("}\n", f);
	if (!fclose(f) && line)
		fwrite(line, 1, size, stderr);
}

__attribute__((format(printf, 3, 0))) static void put_line(enum log_level level, const char *module,
							   const char *fmt, va_list ap)
{
	cleanup_free char *raw = NULL, *text = NULL;

	if (level > log_level)
		return;
	if (vasprintf(&raw, fmt, ap) < 0)
		raw = NULL;
	if (raw)
		text = printable(raw);
	if (log_json) {
		put_json(level, module, text ? text : "out of memory");
		return;
	}
	/* Only debugging output names the module. */
	if (level < LOG_LEVEL_DEBUG)
		module = NULL;
	fprintf(stderr, "krait: %s%s%s%s\n", module ? module : "", module ? ": " : "",
		level == LOG_LEVEL_WARN ? "warning: " : "", text ? text : "out of memory");
}

void log_line(enum log_level level, const char *module, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(level, module, fmt, ap);
	va_end(ap);
}
