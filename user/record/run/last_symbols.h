/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * last_symbols.h - at the end of a recording, waits for symbols that debuginfod servers have yet to
 * send (late_names.h).
 *
 * Must hold: waits no longer than ten seconds, nor beyond the next signal. Afterwards no server is
 * asked.
 */
#ifndef KRAIT_RECORD_RUN_LAST_SYMBOLS_H
#define KRAIT_RECORD_RUN_LAST_SYMBOLS_H

struct collector;
struct signals;

void last_symbols_await(struct collector *collector, struct signals *signals)
	__attribute__((nonnull));

#endif /* KRAIT_RECORD_RUN_LAST_SYMBOLS_H */
