/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_events.h - what krait record counts, and how often it takes a sample of it. What makes no sense
 * ends krait with the usage (arguments_refuse()).
 */
#ifndef KRAIT_CMD_RECORD_EVENTS_H
#define KRAIT_CMD_RECORD_EVENTS_H

#include <argp.h>

#include "cmd/record_options.h"

/* "page-faults,cycles:u" */
void record_events_add(struct record_options *o, const char *text, struct argp_state *state);
/* "2": counts of suspended tasks a second; NULL the usual. */
void record_events_tasks(struct record_options *o, const char *text, struct argp_state *state);
void record_events_period(struct record_options *o, const char *text, struct argp_state *state);
/*
 * All options are there. A period is meant for what is counted one by one; with clocks among them, these
 * keep a rate. So each event has the one or the other.
 */
void record_events_settle(struct record_options *o, struct argp_state *state);

#endif /* KRAIT_CMD_RECORD_EVENTS_H */
