/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - one line on stderr: "krait: what: why"; with -v also debugging lines, "krait: module:
 * ...".
 *
 * Errors are for the user and say what to do next; log_debug() prints only with -v. Level and
 * format are the only process-wide state; main sets them before anything else runs.
 *
 * Must hold: a message is one line of printable text (printable.h), whatever file and process names
 * it quotes; callers pass them raw.
 */
#ifndef KRAIT_BASE_TEXT_LOG_H
#define KRAIT_BASE_TEXT_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);
/* From now on lines are JSON objects: time, level, module, message. */
void log_as_json(bool json);
void log_line(enum log_level level, const char *module, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define log_error(module, ...) log_line(LOG_LEVEL_ERROR, module, __VA_ARGS__)
#define log_warn(module, ...) log_line(LOG_LEVEL_WARN, module, __VA_ARGS__)
#define log_info(module, ...) log_line(LOG_LEVEL_INFO, module, __VA_ARGS__)
#define log_debug(module, ...) log_line(LOG_LEVEL_DEBUG, module, __VA_ARGS__)

#endif /* KRAIT_BASE_TEXT_LOG_H */
