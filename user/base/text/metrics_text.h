/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics_text.h - numbers in Prometheus's text exposition format 0.0.4.
 *
 * 	metrics_family(out, "krait_samples_total", "counter", "Samples by outcome.");
 * 	metrics_value(out, "krait_samples_total", 17, "outcome", "complete", "event", name, NULL);
 *
 * Must hold: any label value stays within its quotes and its line, and is UTF-8.
 */
#ifndef KRAIT_BASE_TEXT_METRICS_TEXT_H
#define KRAIT_BASE_TEXT_METRICS_TEXT_H

#include <linux/types.h>
#include <stdio.h>

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Call once per name, before its values. type: counter or gauge. */
void metrics_family(FILE *out, const char *name, const char *type, const char *help);
/* Alternating label names and values, up to NULL. */
void metrics_value(FILE *out, const char *name, __u64 value, ...) __attribute__((sentinel));
/* Writes family and value of a metric without labels. */
void metrics_number(FILE *out, const char *name, const char *type, const char *help, __u64 value);
void metrics_seconds(FILE *out, const char *name, __u64 ns, ...) __attribute__((sentinel));

#endif /* KRAIT_BASE_TEXT_METRICS_TEXT_H */
