/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/losses.h"

#include <string.h>

#include "profile/accounts.h"
#include "base/text/printable.h"

/* The place for a process with that many losses; NULL: all kept ones have more. */
static struct process_loss *find_place(struct losses *l, __u64 lost)
{
	struct process_loss *least = l->list;

	if (l->cnt < LOSSES_MAX)
		return &l->list[l->cnt++];
	for (__u32 i = 1; i < l->cnt; i++) {
		if (l->list[i].lost < least->lost)
			least = &l->list[i];
	}
	if (least->lost >= lost)
		return NULL;
	l->others += least->lost;
	return least;
}

void losses_add(struct losses *l, int pid, const char *comm, const __u64 reasons[REASON_CNT])
{
	struct process_loss new = { .pid = pid }, *place;

	for_each_reason(r) {
		new.interrupts += reasons[r];
		if (reason_outcome(r) == OUTCOME_LOST)
			new.lost += reasons[r];
	}
	if (!new.lost)
		return;
	l->processes++;
	place = find_place(l, new.lost);
	if (!place) {
		l->others += new.lost;
		return;
	}
	printable_into(new.comm, sizeof(new.comm), comm);
	memcpy(new.reasons, reasons, sizeof(new.reasons));
	*place = new;
}

static void print_one(const struct process_loss *p, FILE *out)
{
	const char *separator = "";

	fprintf(out, "lost by %d (%s): %llu of %llu (", p->pid, p->comm, p->lost, p->interrupts);
	for_each_reason(r) {
		if (!p->reasons[r] || reason_outcome(r) != OUTCOME_LOST)
			continue;
		fprintf(out, "%s%s %llu", separator, reason_name(r), p->reasons[r]);
		separator = ", ";
	}
	fputs(")\n", out);
}

void losses_print(const struct losses *l, FILE *out)
{
	for (__u32 i = 0; i < l->cnt; i++)
		print_one(&l->list[i], out);
	if (l->others)
		fprintf(out, "lost by %u others: %llu\n", l->processes - l->cnt, l->others);
}
