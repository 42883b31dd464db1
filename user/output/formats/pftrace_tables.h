/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pftrace_tables.h - what a Perfetto trace defines once and refers to by number: names, files,
 * frames and stacks.
 *
 * A stack's number is its node in the dictionary; all other numbers start at 1.
 */
#ifndef KRAIT_OUTPUT_FORMATS_PFTRACE_TABLES_H
#define KRAIT_OUTPUT_FORMATS_PFTRACE_TABLES_H

#include "output/formats/perfetto.pb-c.h"
#include "output/places.h"
#include "profile/profile.h"
#include "profile/states.h"

/* Numbers of event names: first the states, then the profile's events, then functions. */
enum {
	PFTRACE_NAME_RECORDING = STATE_CNT,
	PFTRACE_NAME_EVENTS,
	PFTRACE_NAMES = PFTRACE_NAME_EVENTS + PROFILE_MAX_EVENTS
};
/* Category numbers: a state's category is the state's number. */
enum { PFTRACE_CATEGORY_FUNCTION = STATE_CNT, PFTRACE_CATEGORY_EVENT, PFTRACE_CATEGORIES };
/* Numbers of annotation names. */
enum {
	PFTRACE_NOTE_STACK = 1,
	PFTRACE_NOTE_COMMAND,
	PFTRACE_NOTE_HOST,
	PFTRACE_NOTE_KERNEL,
	PFTRACE_NOTE_ACCOUNTS,
	PFTRACE_NOTES
};

/* Appends a packet to the trace. Returns 0 or -errno. */
typedef int (*pftrace_put_fn)(void *ctx, const Krait__Perfetto__InternedData *data);

/* Initially all zero except for the dictionary. */
struct pftrace_tables {
	const struct profile *profile;
	const struct dict *dict; /* of the profile */
	struct places lines, names, files;
	__u32 *line_of; /* by frame: index into lines; PLACE_NONE if it is not code */
	__u8 *used; /* by node: a slice or a sample has this stack */
	pftrace_put_fn put;
	void *put_ctx;
};

/* Returns 0 or -ENOMEM; must be freed in either case. */
int pftrace_tables_build(struct pftrace_tables *t) __attribute__((warn_unused_result));
void pftrace_tables_free(struct pftrace_tables *t);
/* Writes all entries, but only the stacks that are used. Returns 0 or -errno. */
int pftrace_tables_put(struct pftrace_tables *t) __attribute__((warn_unused_result));
/* Adds a text that annotations refer to by a number that no node has. Returns 0 or -errno. */
int pftrace_tables_put_note(struct pftrace_tables *t, __u64 number, const char *text)
	__attribute__((warn_unused_result));

/*
 * Returns the event name's number for what ran there: the innermost Python function, or else the
 * leaf. 0: none.
 */
__u64 pftrace_function(const struct pftrace_tables *t, __u32 node);
/* Tells whether the stack has any code. */
bool pftrace_has_code(const struct pftrace_tables *t, __u32 node);

#endif /* KRAIT_OUTPUT_FORMATS_PFTRACE_TABLES_H */
