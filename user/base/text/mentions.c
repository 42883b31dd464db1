/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text/mentions.h"

#include <stdio.h>

void mentions_add(struct mentions *m, int id, const char *name, __u64 weight)
{
	unsigned at = m->cnt < MENTIONS_NAMED ? m->cnt : MENTIONS_NAMED;

	if (!weight)
		return;
	m->cnt++;
	for (; at && m->most[at - 1].weight < weight; at--)
		m->most[at] = m->most[at - 1];
	m->most[at].id = id;
	m->most[at].weight = weight;
	snprintf(m->most[at].name, sizeof(m->most[at].name), "%s", name);
}

void mentions_join(struct mentions *m, const struct mentions *more)
{
	unsigned named = more->cnt < MENTIONS_NAMED ? more->cnt : MENTIONS_NAMED;

	for (unsigned i = 0; i < named; i++)
		mentions_add(m, more->most[i].id, more->most[i].name, more->most[i].weight);
	m->cnt += more->cnt - named;
}

void mentions_say(const struct mentions *m, char *buf, size_t size)
{
	unsigned named = m->cnt < MENTIONS_NAMED ? m->cnt : MENTIONS_NAMED;
	size_t len = 0;

	*buf = '\0';
	for (unsigned i = 0; i < named && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%d %.40s", i ? ", " : "",
					m->most[i].id, m->most[i].name);
	if (m->cnt > named && len < size)
		snprintf(buf + len, size - len, " and %u more", m->cnt - named);
}
