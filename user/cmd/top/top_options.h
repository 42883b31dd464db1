/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_options.h - the command line of krait top as a struct.
 */
#ifndef KRAIT_CMD_TOP_TOP_OPTIONS_H
#define KRAIT_CMD_TOP_TOP_OPTIONS_H

#include "cmd/record/record_options.h"
#include "cmd/top/order.h"
#include "cmd/top/rows.h"

struct top_options {
	struct record_options record; /* targets, events, native frames */
	__u64 interval_ns;
	__u64 rounds; /* 0: no limit */
	unsigned limit; /* per round, as plain lines */
	const char *source; /* folder; NULL: none */
	bool batch, json, shares, tree;
	enum rows_view view;
	enum row_sort sort;
};

/* As record_options_parse() does. */
void top_options_parse(struct top_options *ret, int argc, char **argv);

#endif /* KRAIT_CMD_TOP_TOP_OPTIONS_H */
