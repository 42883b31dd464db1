/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_probes.h - events that are places in the code of a program or library: "uprobe:FILE:FUNCTION+OFFSET",
 * "uretprobe:FILE:FUNCTION", "usdt:FILE:PROVIDER:NAME", and --probe.
 *
 * FILE is a path, or the beginning of a name: "libpython", "libc". Then it is the file of that name in the processes, the
 * command's program, or a library of the system. A parser without rights looks for the place.
 */
#ifndef KRAIT_CMD_RECORD_RECORD_PROBES_H
#define KRAIT_CMD_RECORD_RECORD_PROBES_H

#include <argp.h>

#include "cmd/record/record_options.h"

struct error;

/* Does the text begin with an event of this kind? */
bool record_probes_is(const char *text);
/* Makes *e of it. Invalid text ends krait with the usage message. */
void record_probes_add(struct event_spec *e, const char *text, size_t len,
		       struct argp_state *state);
/* "FILE:FUNCTION+OFFSET", "FILE:FUNCTION%return", or an event as above. */
void record_probes_option(struct record_options *o, const char *text, struct argp_state *state);

/* Call before the recording: finds the places of all. Returns 0, or -errno with *err filled. */
int record_probes_find(struct record_options *o, struct error *err)
	__attribute__((warn_unused_result));
void record_probes_free(struct record_options *o);

#endif /* KRAIT_CMD_RECORD_RECORD_PROBES_H */
