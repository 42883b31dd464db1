/* SPDX-License-Identifier: BSD-2-Clause */
#include "follow/refusals.h"

#include <errno.h>
#include <string.h>

#include "target/proc.h"
#include "util/printable.h"

void refusals_note(struct refusals *r, int err, const char *why, pid_t pid, const char *comm)
{
	char name[sizeof(r->unread.most[0].name)];
	unsigned i = 0;

	if (err == -EACCES) {
		printable_into(name, sizeof(name), comm);
		mentions_add(&r->unread, pid, name, !proc_is_init(pid));
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
	__u64 cnt = r->unread.cnt;

	for (unsigned i = 0; i < r->cnt; i++)
		cnt += r->list[i].cnt;
	return cnt;
}

void refusals_print(const struct refusals *r, FILE *out)
{
	char why[4 * sizeof(r->list[0].why)], there[320];

	for (unsigned i = 0; i < r->cnt; i++) {
		printable_into(why, sizeof(why), r->list[i].why);
		fprintf(out, "krait: not sampled: %s (pid %d", why, r->list[i].pid);
		if (r->list[i].cnt > 1)
			fprintf(out, " and %u more", r->list[i].cnt - 1);
		fputs(")\n", out);
	}
	if (!r->unread.cnt)
		return;
	mentions_say(&r->unread, there, sizeof(there));
	fprintf(out, "krait: %u process%s could not be inspected and may be Python: %s\n",
		r->unread.cnt, r->unread.cnt == 1 ? "" : "es", there);
}
