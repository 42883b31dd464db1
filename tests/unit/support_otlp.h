/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_otlp.h - a window of an agent, and the OTLP requests that are made of it.
 */
#ifndef KRAIT_TESTS_SUPPORT_OTLP_H
#define KRAIT_TESTS_SUPPORT_OTLP_H

#include <linux/types.h>
#include <stddef.h>

#include "output/otlp/otlp.h"
#include "output/otlp/otlp.pb-c.h"
#include "profile/profile.h"
#include "profile/states.h"
#include "profile/window.h"

#define PERIOD_NS 52631578ULL
#define BEGAN_NS 1000000000ULL

typedef Krait__Otlp__ExportProfilesServiceRequest Request;

/* With two events: a clock, and time off the CPU. */
struct profile *otlp_profile_new(void);
/* A stack of main() and the leaf at that line; returns its node. */
__u32 otlp_stack(struct profile *p, int pid, int tid, const char *leaf, int line);
/* Adds a sample of the clock, n microseconds after the begin. */
void otlp_tick(struct window *w, __u32 node, int pid, unsigned n, __u64 period);
/* Adds a wait of so many ns. */
void otlp_wait(struct window *w, __u32 node, int pid, enum state state, __u64 ns);
/* The window lasts 9 s. Nothing is added any more. */
void otlp_window_end(struct window *w);

/* For otlp_options.resource; ctx: an unsigned that counts the calls. */
struct otlp_attributes otlp_resource(void *ctx, int pid, __u32 image);
/* Makes the window's next body and reads it back; *at advances. */
Request *otlp_request(const struct window *w, __u32 *at, size_t bytes_max);
void otlp_request_free(Request *r);

/* What the samples of that type, with that leaf (NULL: any), add up to. */
struct otlp_sum {
	const char *type, *leaf;
	__u64 ticks, weight, samples;
};

struct otlp_sum otlp_sum(const Request *r, const char *type, const char *leaf);

#endif /* KRAIT_TESTS_SUPPORT_OTLP_H */
