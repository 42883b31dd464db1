/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/snapshot_time.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "util/units.h"

#define DAY 86400

static int parse_ago(__s64 *ret, const char *text, __s64 now)
{
	__u64 ns;

	if (parse_duration(text, &ns))
		return -EINVAL;
	*ret = now * 1000 - (__s64)(ns / 1000000);
	return 0;
}

/* Tells whether the format matches the whole text. */
static bool fits(const char *text, const char *format, struct tm *ret)
{
	const char *end = strptime(text, format, ret);

	return end && !*end;
}

static int parse_clock(__s64 *ret, const char *text, __s64 now)
{
	time_t seconds = (time_t)now;
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return -EINVAL;
	tm.tm_sec = 0;
	if (!fits(text, "%H:%M", &tm) && !fits(text, "%H:%M:%S", &tm))
		return -EINVAL;
	tm.tm_isdst = -1;
	seconds = mktime(&tm);
	if (seconds > now) {
		tm.tm_mday--;
		tm.tm_isdst = -1;
		seconds = mktime(&tm);
	}
	*ret = (__s64)seconds * 1000;
	return 0;
}

int snapshot_time_parse(__s64 *ret, const char *text, __s64 now)
{
	static const char *const formats[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
					       "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M" };
	struct tm tm = { .tm_isdst = -1 };

	if (text[0] == '-')
		return parse_ago(ret, text + 1, now);
	if (!parse_clock(ret, text, now))
		return 0;
	tm = (struct tm){ 0 };
	if (fits(text, "%Y-%m-%dT%H:%M:%SZ", &tm)) {
		*ret = (__s64)timegm(&tm) * 1000;
		return 0;
	}
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		tm = (struct tm){ .tm_isdst = -1 };
		if (!fits(text, formats[i], &tm))
			continue;
		tm.tm_isdst = -1;
		*ret = (__s64)mktime(&tm) * 1000;
		return 0;
	}
	return -EINVAL;
}

void snapshot_time_format(char *buf, size_t size, __s64 ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm))
		*buf = '\0';
}
