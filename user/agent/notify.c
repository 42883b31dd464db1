/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/notify.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/log.h"

struct notify {
	void *library; /* NULL: nobody listens */
	int (*say)(int unset_environment, const char *state);
	__u64 watchdog_ns; /* between two signs of life; 0: not wanted */
	__u64 next_ns;
	unsigned steps;
};

/* False if that library lacks a function. */
static bool bind_library(struct notify *n)
{
	int (*watchdog)(int unset_environment, uint64_t *usec) = NULL;
	uint64_t usec = 0;

	*(void **)&n->say = dlsym(n->library, "sd_notify");
	*(void **)&watchdog = dlsym(n->library, "sd_watchdog_enabled");
	if (!n->say || !watchdog)
		return false;
	if (watchdog(0, &usec) > 0)
		n->watchdog_ns = usec * 1000 / 3;
	return true;
}

struct notify *notify__new(void)
{
	struct notify *n = calloc(1, sizeof(*n));

	if (!n || !getenv("NOTIFY_SOCKET"))
		return n;
	n->library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
	if (n->library && bind_library(n))
		return n;
	log_warn(NULL, "krait cannot tell systemd that it is ready: libsystemd.so.0 is "
		       "missing (use Type=exec)");
	if (n->library)
		dlclose(n->library);
	n->library = NULL;
	return n;
}

void notify__free(struct notify *n)
{
	if (!n)
		return;
	if (n->library)
		dlclose(n->library);
	free(n);
}

void notify__say(struct notify *n, const char *text)
{
	if (n->library)
		n->say(0, text);
}

/* The first step comes before the first sample. */
static void step(void *ctx, __u64 now_ns)
{
	struct notify *n = ctx;

	if (n->steps < 2 && ++n->steps == 2)
		notify__say(n, "READY=1");
	if (!n->watchdog_ns || now_ns < n->next_ns)
		return;
	n->next_ns = now_ns + n->watchdog_ns;
	notify__say(n, "WATCHDOG=1");
}

static void on_window(void *ctx, const struct window *w)
{
	struct notify *n = ctx;
	char text[128];

	snprintf(text, sizeof(text), "STATUS=window %" PRIu64 ": %u samples, %" PRIu64 " Hz",
		 (uint64_t)w->number, w->cnt, (uint64_t)w->price.frequency);
	notify__say(n, text);
}

struct agent_sink notify__sink(struct notify *n)
{
	return (struct agent_sink){ .name = "notify", .step = step, .window = on_window, .ctx = n };
}
