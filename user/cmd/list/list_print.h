/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list_print.h - a process as a row of "krait list" or as JSON.
 *
 * Must hold: text chosen by the process (name, command, container) is made printable; a row fits
 * the terminal.
 */
#ifndef KRAIT_CMD_LIST_LIST_PRINT_H
#define KRAIT_CMD_LIST_LIST_PRINT_H

#include <stdbool.h>

#include "process/identify/py_process.h"
#include "process/proc/process_info.h"
#include "base/text/json.h"

struct list_print {
	struct json writer;
	bool verbose;
	bool header; /* already printed */
	unsigned width; /* of the terminal; 0: no terminal */
};

void list_print_begin(struct list_print *l, bool verbose);
/* good: it can be profiled; otherwise the row says why not. */
void list_print_row(struct list_print *l, const struct py_process *p, const struct process_info *i,
		    bool good);
void list_put_json(struct list_print *l, const struct py_process *p, const struct process_info *i,
		   bool good);

#endif /* KRAIT_CMD_LIST_LIST_PRINT_H */
