/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/unwanted.h"

#include <stdio.h>

void unwanted_add(struct unwanted *u, int id, const char *name, __u64 samples)
{
	unsigned at = u->cnt < UNWANTED_NAMED ? u->cnt : UNWANTED_NAMED;

	if (!samples)
		return;
	u->cnt++;
	for (; at && u->most[at - 1].samples < samples; at--)
		u->most[at] = u->most[at - 1];
	u->most[at].id = id;
	u->most[at].samples = samples;
	snprintf(u->most[at].name, sizeof(u->most[at].name), "%s", name);
}

void unwanted_join(struct unwanted *u, const struct unwanted *more)
{
	unsigned named = more->cnt < UNWANTED_NAMED ? more->cnt : UNWANTED_NAMED;

	for (unsigned i = 0; i < named; i++)
		unwanted_add(u, more->most[i].id, more->most[i].name, more->most[i].samples);
	u->cnt += more->cnt - named;
}

void unwanted_say(const struct unwanted *u, char *buf, size_t size)
{
	unsigned named = u->cnt < UNWANTED_NAMED ? u->cnt : UNWANTED_NAMED;
	size_t len = 0;

	*buf = '\0';
	for (unsigned i = 0; i < named && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%d %.40s", i ? ", " : "",
					u->most[i].id, u->most[i].name);
	if (u->cnt > named && len < size)
		snprintf(buf + len, size - len, " and %u more", u->cnt - named);
}
