/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	double factor;
};

/* The table ends with a unit without a name; an empty name is the default unit. */
static int parse(const char *text, const struct unit *units, __u64 *ret)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	/* strtod() also accepts white space, hexadecimal, "inf" and "nan". */
	if (end == text || errno || !isfinite(value) ||
	    !((*text >= '0' && *text <= '9') || *text == '.') || memchr(text, 'x', end - text) ||
	    memchr(text, 'X', end - text))
		return -EINVAL;
	for (const struct unit *u = units; u->name; u++) {
		if (strcasecmp(end, u->name))
			continue;
		value = round(value * u->factor);
		if (value < 1 || value > 9e18)
			return -ERANGE;
		*ret = (__u64)value;
		return 0;
	}
	return -EINVAL;
}

int parse_duration(const char *text, __u64 *ret_ns)
{
	static const struct unit units[] = {
		{ "", 1e9 },	{ "ns", 1 },   { "us", 1e3 },	{ "ms", 1e6 },	 { "s", 1e9 },
		{ "sec", 1e9 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 }, { 0 },
	};

	return parse(text, units, ret_ns);
}

int parse_rate(const char *text, __u64 *ret)
{
	static const struct unit units[] = {
		{ "", 1 }, { "hz", 1 }, { "k", 1e3 }, { "khz", 1e3 }, { "m", 1e6 }, { 0 },
	};

	return parse(text, units, ret);
}

int parse_size(const char *text, __u64 *ret)
{
	static const struct unit units[] = {
		{ "", 1 },	    { "k", 1 << 10 }, { "kib", 1 << 10 }, { "m", 1 << 20 },
		{ "mib", 1 << 20 }, { "g", 1 << 30 }, { "gib", 1 << 30 }, { 0 },
	};

	return parse(text, units, ret);
}

void format_size(char *buf, size_t size, __u64 bytes)
{
	if (bytes < 10 * 1024)
		snprintf(buf, size, "%llu bytes", bytes);
	else if (bytes < 10 * 1024 * 1024)
		snprintf(buf, size, "%llu KiB", bytes >> 10);
	else
		snprintf(buf, size, "%llu MiB", bytes >> 20);
}

void format_count(char *buf, size_t size, __u64 number)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%llu", number), at = 0;

	for (size_t i = 0; i < len && at + 1 < size; i++) {
		if (i && (len - i) % 3 == 0 && at + 2 < size)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	if (size)
		buf[at] = '\0';
}
