/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp_tables.h - the dictionary of one OTLP body: each string, function, location, stack and
 * attribute once, numbered on first use and packed immediately, each kind in one piece, where gzip
 * makes most of entries that are alike.
 *
 * Must hold: entry 0 of each table is the empty one. If memory runs out, failed is set and numbers
 * mean nothing.
 */
#ifndef KRAIT_OUTPUT_OTLP_OTLP_TABLES_H
#define KRAIT_OUTPUT_OTLP_OTLP_TABLES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "output/otlp/otlp.h"
#include "output/otlp/otlp.pb-c.h"
#include "output/places.h"
#include "profile/dict.h"
#include "profile/idindex.h"
#include "base/data/bytes.h"

/* Limit on attributes of a profile plus those of samples and locations. */
#define OTLP_KEYS_MAX 128

struct otlp_fact {
	__u32 key; /* string index */
	__u32 text; /* string of the dictionary; 0: a number */
	__s64 number;
};

struct otlp_stack {
	__u32 at, cnt; /* in locations */
};

/* In the order of their numbers in the format. */
enum otlp_table {
	OTLP_MAPPINGS,
	OTLP_LOCATIONS,
	OTLP_FUNCTIONS,
	OTLP_LINKS,
	OTLP_STRINGS,
	OTLP_ATTRIBUTES,
	OTLP_STACKS,
	OTLP_TABLE_CNT
};

struct otlp_tables {
	const struct dict *dict;
	const struct otlp_options *options;
	struct bytes packed[OTLP_TABLE_CNT]; /* parts of a ProfilesDictionary, entry by entry */
	size_t packed_len; /* of all */
	struct places strings, functions, lines, mappings;
	__u32 *string_index; /* by number of strings */
	__u32 string_index_cnt, string_index_cap;
	struct {
		const char *text;
		__u32 index;
	} keys[OTLP_KEYS_MAX];
	unsigned key_cnt;
	__u32 string_cnt, attribute_cnt; /* entries of the tables */
	__u32 frame_types[FRAME_KIND_CNT]; /* attribute indexes; 0: not yet made, or none */
	struct otlp_fact *facts;
	__u32 fact_cnt, fact_cap;
	__u32 *fact_index; /* attribute index by fact */
	__u32 fact_index_cap;
	struct idindex fact_find;
	__s32 *locations;
	__u32 location_cnt, location_cap;
	struct otlp_stack *stacks; /* [0] is the empty one */
	__u32 stack_cnt, stack_cap;
	struct idindex stack_find;
	__u32 *stack_of; /* stack index by node */
	bool failed;
};

/* Returns 0 or -ENOMEM; must be freed in either case. */
int otlp_tables_init(struct otlp_tables *t, const struct dict *dict,
		     const struct otlp_options *options) __attribute__((warn_unused_result));
void otlp_tables_free(struct otlp_tables *t);

/* Appends all of them: a ProfilesDictionary. */
void otlp_tables_put(const struct otlp_tables *t, struct bytes *ret);
/* Returns the index of a string that outlives the tables: names of attributes, types, units. */
__s32 otlp_tables_key(struct otlp_tables *t, const char *text);
/* Returns the index of a node's stack: its code, without process and thread. */
__s32 otlp_tables_stack(struct otlp_tables *t, __u32 node);
/* For attributes that many samples share. */
__s32 otlp_tables_number(struct otlp_tables *t, const char *key, __s64 number);
__s32 otlp_tables_string(struct otlp_tables *t, const char *key, __u32 string);
/* For an attribute that occurs once. */
__s32 otlp_tables_attribute(struct otlp_tables *t, const struct otlp_attribute *a);

#endif /* KRAIT_OUTPUT_OTLP_OTLP_TABLES_H */
