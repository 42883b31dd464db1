/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * claims.h - what a process says of itself to OpenTelemetry, in its environment: OTEL_SERVICE_NAME and
 * OTEL_RESOURCE_ATTRIBUTES; and what the kernel says of its executable and its control group.
 *
 * Only a prober reads it: the environment is memory of the process.
 *
 * Must hold: of the environment nothing but these two variables leaves the reader; all is cut to fit, and may hold any
 * bytes. What claims_each() hands out has keys of letters, digits, '.', '_', '-' and '/', and values without NUL.
 */
#ifndef KRAIT_TARGET_CLAIMS_H
#define KRAIT_TARGET_CLAIMS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of an environment that are looked at. */
#define CLAIMS_ENVIRON_MAX (1U << 20)
#define CLAIMS_MAX 32
#define CLAIMS_KEY_MAX 128
#define CLAIMS_VALUE_MAX 256

/* Plain data: an answer of a prober. */
struct claims {
	char service_name[CLAIMS_VALUE_MAX]; /* "" none */
	char attributes[4096]; /* as it is there */
	bool attributes_cut; /* it was longer: nothing of it holds */
	char exe[256]; /* "" unknown */
	char cgroup[1024]; /* cgroup_path() */
};

/* 0 or -errno; what cannot be read is empty. dir: of /proc/PID. */
int claims_read_at(int dir, struct claims *ret) __attribute__((warn_unused_result, nonnull));

/* Finds the two variables in an environment that comes piece by piece. All zero is the beginning. */
struct claims_scan {
	char *to; /* where the value of this variable goes; NULL: it is not wanted */
	size_t size, len;
	char name[32]; /* of the variable so far */
	unsigned name_len;
	bool in_value, has_name, has_attributes;
};
void claims_scan(struct claims_scan *s, struct claims *ret, const char *data, size_t len)
	__attribute__((nonnull));
/* The environment is over: a value that has no end is none. */
void claims_scan_end(struct claims_scan *s, struct claims *ret) __attribute__((nonnull));

/*
 * "key=value,key=value", values with %XX. Calls fn for each, CLAIMS_MAX at most. How many; -EINVAL where any of it
 * is not so: then it was called for none.
 */
typedef void (*claims_fn)(void *ctx, const char *key, const char *value);
int claims_each(const char *attributes, claims_fn fn, void *ctx) __attribute__((nonnull(1, 2)));

#endif /* KRAIT_TARGET_CLAIMS_H */
