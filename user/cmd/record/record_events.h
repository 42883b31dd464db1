/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_events.h - what krait record counts and how often it samples. Invalid arguments end krait
 * with the usage message (arguments_refuse()).
 */
#ifndef KRAIT_CMD_RECORD_RECORD_EVENTS_H
#define KRAIT_CMD_RECORD_RECORD_EVENTS_H

#include <argp.h>

#include "cmd/record/record_options.h"

/* Parses "page-faults,cycles:u". */
void record_events_add(struct record_options *o, const char *text, struct argp_state *state);
/* "2": counts suspended tasks twice a second; NULL: at the default rate. */
void record_events_tasks(struct record_options *o, const char *text, struct argp_state *state);
/* Of the last event so far. */
void record_events_filter(struct record_options *o, const char *text, struct argp_state *state);
void record_events_period(struct record_options *o, const char *text, struct argp_state *state);
/*
 * Call after all options. A period applies to countable events; clocks among them keep a rate. So
 * each event has either a period or a rate.
 */
void record_events_settle(struct record_options *o, struct argp_state *state);

#endif /* KRAIT_CMD_RECORD_RECORD_EVENTS_H */
