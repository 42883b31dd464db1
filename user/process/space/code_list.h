/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_list.h - mappings of code by address, and memory that is not code; processes with the same
 * memory share the lists.
 *
 * Must hold: mappings are in order and do not overlap; shared lists never change; what exceeds an
 * owner's room (base/share/quota.h, in ranges) is cut, code last.
 */
#ifndef KRAIT_PROCESS_SPACE_CODE_LIST_H
#define KRAIT_PROCESS_SPACE_CODE_LIST_H

#include <linux/types.h>
#include <stdbool.h>

#include "process/space/mapping.h"

/*
 * Most ranges of code, and of data; more are left out. A process with a thousand libraries has a
 * thousand.
 */
#define CODE_LIST_MAX 16384

struct quota;

struct code_list_range {
	__u64 start, end;
};

/* All zero: empty. */
struct code_list {
	struct code_list_users *users; /* NULL: nobody has paid for them yet */
	struct mapping *code;
	unsigned code_cnt, code_cap;
	struct code_list_range *data; /* not code; adjacent ones are merged */
	unsigned data_cnt, data_cap;
	bool cut; /* some code is left out */
	bool only_files; /* code without a file is left out, since there is too much of it */
};

/*
 * Builds a list, in the order of addresses, before it is paid for. Once there is too much code,
 * what lies in files stays, since it has names. Returns 0, -E2BIG, -ENOMEM (or no module).
 */
int code_list_add(struct code_list *l, const struct mapping *m) __attribute__((warn_unused_result));
/* Ranges beyond the limit are treated as unknown, not as data. */
void code_list_add_data(struct code_list *l, __u64 start, __u64 end);
/* Makes a copy with a new mapping, which replaces what it overlaps. Returns 0, -E2BIG, -ENOMEM. */
int code_list_with(struct code_list *ret, const struct code_list *old, const struct mapping *new)
	__attribute__((warn_unused_result));
/*
 * Pays for the list; cuts what cannot be paid, data first, then code from its end. Returns 0 or
 * -ENOMEM.
 */
int code_list_pay(struct code_list *l, struct quota *q, unsigned owner)
	__attribute__((warn_unused_result));

/* Adds a user of the list. */
void code_list_share(struct code_list *ret, const struct code_list *l);
/* Removes a user; q: the quota that was charged. */
void code_list_free(struct code_list *l, struct quota *q);

/* NULL: not code. */
const struct mapping *code_list_find(const struct code_list *l, __u64 addr);
/* The memory that is not code around an address; NULL: none. */
const struct code_list_range *code_list_data(const struct code_list *l, __u64 addr);
/* Differs for different mappings of code. */
__u64 code_list_digest(const struct code_list *l);

#endif /* KRAIT_PROCESS_SPACE_CODE_LIST_H */
