/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/refusals.h"

#include <errno.h>
#include <string.h>

#include "base/text/printable.h"

void refusals_note(struct refusals *r, int err, const char *why, pid_t pid, const char *comm)
{
	unsigned i = 0;

	r->process_cnt += err != 0;
	if (err == -EACCES) {
		unread_note(&r->unread, pid, comm, why);
		return;
	}
	while (i < r->cnt && strcmp(r->list[i].why, why))
		i++;
	if (i == REFUSALS_MAX)
		return;
	if (i == r->cnt) {
		snprintf(r->list[i].why, sizeof(r->list[i].why), "%s", why);
		r->list[i].pid = pid;
		r->cnt++;
	}
	r->list[i].cnt++;
}

__u64 refusals_cnt(const struct refusals *r)
{
	return r->process_cnt;
}

void refusals_print(const struct refusals *r, FILE *out)
{
	char why[4 * sizeof(r->list[0].why)], unread[768];

	for (unsigned i = 0; i < r->cnt; i++) {
		printable_into(why, sizeof(why), r->list[i].why);
		fprintf(out, "krait: not sampled: %s (pid %d", why, r->list[i].pid);
		if (r->list[i].cnt > 1)
			fprintf(out, " and %u more", r->list[i].cnt - 1);
		fputs(")\n", out);
	}
	unread_say(&r->unread, unread, sizeof(unread));
	if (*unread)
		fprintf(out, "krait: %s\n", unread);
}
