/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pftrace_tables.h - what a Perfetto trace says once and refers to by number: names, files, frames and stacks.
 *
 * A stack's number is that of its node in the dictionary; all others count from 1.
 */
#ifndef KRAIT_EMIT_PFTRACE_TABLES_H
#define KRAIT_EMIT_PFTRACE_TABLES_H

#include "emit/perfetto.pb-c.h"
#include "emit/places.h"
#include "profile/profile.h"
#include "profile/states.h"

/* Numbers of event names: states have their own, then come those of the profile's events, then functions. */
enum {
	PFTRACE_NAME_RECORDING = STATE_CNT,
	PFTRACE_NAME_EVENTS,
	PFTRACE_NAMES = PFTRACE_NAME_EVENTS + PROFILE_MAX_EVENTS
};
/* Of categories: those of states are their own numbers. */
enum { PFTRACE_CATEGORY_FUNCTION = STATE_CNT, PFTRACE_CATEGORY_EVENT, PFTRACE_CATEGORIES };
/* Of the names of annotations. */
enum {
	PFTRACE_NOTE_STACK = 1,
	PFTRACE_NOTE_COMMAND,
	PFTRACE_NOTE_HOST,
	PFTRACE_NOTE_KERNEL,
	PFTRACE_NOTE_ACCOUNTS,
	PFTRACE_NOTES
};

/* Puts a packet into the trace. 0 or -errno. */
typedef int (*pftrace_put_fn)(void *ctx, const Krait__Perfetto__InternedData *data);

/* All zero but the dictionary, until built. */
struct pftrace_tables {
	const struct profile *profile;
	const struct dict *dict; /* its */
	struct places lines, names, files;
	__u32 *line_of; /* by frame: index into lines, PLACE_NONE for what is no code */
	__u8 *used; /* by node: it is the stack of a slice or a sample */
	pftrace_put_fn put;
	void *put_ctx;
};

/* 0 or -ENOMEM; to be freed in any case. */
int pftrace_tables_build(struct pftrace_tables *t) __attribute__((warn_unused_result));
void pftrace_tables_free(struct pftrace_tables *t);
/* All that there is, of the stacks those that are used. 0 or -errno. */
int pftrace_tables_put(struct pftrace_tables *t) __attribute__((warn_unused_result));
/* A text that annotations refer to by a number that no node has. 0 or -errno. */
int pftrace_tables_put_note(struct pftrace_tables *t, __u64 number, const char *text)
	__attribute__((warn_unused_result));

/* The number of the event name of what ran there: the innermost function of Python, or else the leaf; 0: none. */
__u64 pftrace_function(const struct pftrace_tables *t, __u32 node);
/* Has the stack any code in it? */
bool pftrace_has_code(const struct pftrace_tables *t, __u32 node);

#endif /* KRAIT_EMIT_PFTRACE_TABLES_H */
