/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/payers.h"

/* Windows for which an owner pays: at first, and at most. Quiet for that long, it begins anew. */
#define WINDOWS_FIRST 3U
#define WINDOWS_MAX 48U

/*
 * One owner may fill so small a part of a place at once, and so much of it if it goes on. Files of
 * names are about twice as large as the names.
 */
#define PART_AT_ONCE 64
#define PART_OF_RATE 4
/* What a program that starts needs, however small the place is. */
#define AT_ONCE_MIN (256U << 10)
#define PER_SEC_MIN 1024U

static void bound(__u32 *limit, __u64 bytes, __u32 least)
{
	if (bytes < least)
		bytes = least;
	if (!*limit || bytes < *limit)
		*limit = bytes < ~0U ? (__u32)bytes : ~0U;
}

/* Of who pays: deeper than stacks usually are. */
#define FRAMES_MAX 128

void payers_bound(struct payers_config *config, __u64 bytes, __u64 ns)
{
	__u64 seconds = ns / NS_PER_SEC;

	bound(&config->bytes_at_once, bytes / PART_AT_ONCE, AT_ONCE_MIN);
	bound(&config->bytes_per_sec, bytes / (seconds ? seconds : 1) / PART_OF_RATE, PER_SEC_MIN);
}

void payers_configure(struct payers *p, const struct payers_config *config)
{
	p->config = *config;
	for (unsigned owner = 0; owner < OWNER_CNT; owner++)
		if (owner != OWNER_ROOT)
			p->list[owner].bytes =
				allowance_of(config->bytes_at_once, config->bytes_per_sec);
}

bool payers_take(struct payers *p, unsigned owner, const struct session_names *names)
{
	struct payer *one = &p->list[owner];
	__u32 depth = one->frames_max;
	bool paid = one->pays;

	one->bytes.left -= (__s64)(names->bytes - one->now.bytes);
	one->now = *names;
	one->pays = one->windows || !allowance_has(&one->bytes);
	one->frames_max = one->windows ? FRAMES_MAX : 0;
	return one->pays != paid || one->frames_max != depth;
}

static __u64 cost_of(const struct payer *one)
{
	return one->now.ns - one->ns_before[0];
}

unsigned payers_costliest(const struct payers *p, __u64 ns_min)
{
	unsigned found = OWNER_ROOT;
	__u64 most = ns_min ? ns_min : 1;

	for (unsigned owner = 0; owner < OWNER_CNT; owner++) {
		if (owner == OWNER_ROOT || p->list[owner].windows ||
		    cost_of(&p->list[owner]) < most)
			continue;
		found = owner;
		most = cost_of(&p->list[owner]);
	}
	return found;
}

unsigned payers_charge(struct payers *p, unsigned owner)
{
	struct payer *one = &p->list[owner];

	if (!one->next || one->quiet >= WINDOWS_MAX)
		one->next = WINDOWS_FIRST;
	one->windows = one->next;
	one->next = 2 * one->next < WINDOWS_MAX ? 2 * one->next : WINDOWS_MAX;
	one->quiet = 0;
	return one->windows;
}

void payers_end_window(struct payers *p)
{
	for (unsigned owner = 0; owner < OWNER_CNT; owner++) {
		struct payer *one = &p->list[owner];

		one->ns_before[0] = one->ns_before[1];
		one->ns_before[1] = one->now.ns;
		if (one->windows)
			one->windows--;
		else if (one->quiet < WINDOWS_MAX)
			one->quiet++;
	}
}
