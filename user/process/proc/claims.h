/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * claims.h - what a process tells OpenTelemetry about itself in its environment (OTEL_SERVICE_NAME
 * and OTEL_RESOURCE_ATTRIBUTES), and what the kernel says about its executable and its control
 * group.
 *
 * Only a prober reads it: the environment is memory of the process.
 *
 * Must hold: only these two variables of the environment leave the reader; everything is truncated
 * to fit, and may contain any bytes. Keys from claims_each() consist of letters, digits, '.', '_',
 * '-' and '/', and its values contain no NUL.
 */
#ifndef KRAIT_PROCESS_PROC_CLAIMS_H
#define KRAIT_PROCESS_PROC_CLAIMS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of an environment to look at. */
#define CLAIMS_ENVIRON_MAX (1U << 20)
#define CLAIMS_MAX 32
#define CLAIMS_KEY_MAX 128
#define CLAIMS_VALUE_MAX 256

/* Plain data: an answer of a prober. */
struct claims {
	char service_name[CLAIMS_VALUE_MAX]; /* "": none */
	char attributes[4096]; /* unchanged */
	bool attributes_cut; /* they were longer: none of them are valid */
	char exe[256]; /* "": unknown */
	char cgroup[1024]; /* cgroup_path() */
};

/* Returns 0 or -errno; what cannot be read stays empty. dir: of /proc/PID. */
int claims_read_at(int dir, struct claims *ret) __attribute__((warn_unused_result, nonnull));

/* Finds the two variables in an environment that arrives in pieces. Initially all zero. */
struct claims_scan {
	char *to; /* where the value of this variable goes; NULL: not wanted */
	size_t size, len;
	char name[32]; /* the variable's name so far */
	unsigned name_len;
	bool in_value, has_name, has_attributes;
};
void claims_scan(struct claims_scan *s, struct claims *ret, const char *data, size_t len)
	__attribute__((nonnull));
/* The environment is over: an unterminated value is dropped. */
void claims_scan_end(struct claims_scan *s, struct claims *ret) __attribute__((nonnull));

/*
 * Calls fn for each of "key=value,key=value" (values may contain %XX), CLAIMS_MAX at most. Returns
 * their number; -EINVAL if anything is malformed: then fn was not called at all.
 */
typedef void (*claims_fn)(void *ctx, const char *key, const char *value);
int claims_each(const char *attributes, claims_fn fn, void *ctx) __attribute__((nonnull(1, 2)));

#endif /* KRAIT_PROCESS_PROC_CLAIMS_H */
