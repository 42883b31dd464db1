/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text/metrics_text.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/text/printable.h"

/*
 * Control characters and invalid UTF-8 become visible escapes, whose backslash is then escaped like
 * any other.
 */
static void put_label_value(FILE *out, const char *value)
{
	cleanup_free char *text = printable(value);

	for (const char *c = text ? text : ""; *c; c++) {
		if (*c == '\\' || *c == '"')
			fputc('\\', out);
		fputc(*c, out);
	}
}

static void put_labels(FILE *out, va_list labels)
{
	const char *name, *before = "{";

	while ((name = va_arg(labels, const char *))) {
		const char *value = va_arg(labels, const char *);

		fprintf(out, "%s%s=\"", before, name);
		put_label_value(out, value);
		fputc('"', out);
		before = ",";
	}
	if (*before == ',')
		fputc('}', out);
}

void metrics_family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_value(FILE *out, const char *name, __u64 value, ...)
{
	va_list labels;

	fputs(name, out);
	va_start(labels, value);
	put_labels(out, labels);
	va_end(labels);
	fprintf(out, " %" PRIu64 "\n", (uint64_t)value);
}

void metrics_seconds(FILE *out, const char *name, __u64 ns, ...)
{
	va_list labels;

	fputs(name, out);
	va_start(labels, ns);
	put_labels(out, labels);
	va_end(labels);
	fprintf(out, " %" PRIu64 ".%09" PRIu64 "\n", (uint64_t)(ns / NS_PER_SEC),
		(uint64_t)(ns % NS_PER_SEC));
}

void metrics_number(FILE *out, const char *name, const char *type, const char *help, __u64 value)
{
	metrics_family(out, name, type, help);
	metrics_value(out, name, value, NULL);
}
