/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_filter.h - filters of tracepoints in the language of perf's --filter (Documentation/trace/events.rst): comparisons of
 * fields with numbers and texts, joined by &&, || and !.
 *
 * The kernel runs a BPF program before it looks at an event's filter, so krait's program has it as tests (bpf/probe.bpf.c).
 */
#ifndef KRAIT_BASE_SYSTEM_EVENT_FILTER_H
#define KRAIT_BASE_SYSTEM_EVENT_FILTER_H

#include <stddef.h>

#include "bpf/abi.h"

/*
 * Makes a filter of the text for the tracepoint whose fields format describes (the text of its file of that name in tracefs).
 * Returns 0, or -errno with why filled.
 */
int event_filter_parse(struct filter_program *ret, const char *text, const char *format, char *why,
		       size_t why_size) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_BASE_SYSTEM_EVENT_FILTER_H */
