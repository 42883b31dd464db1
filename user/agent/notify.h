/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notify.h - systemd, of a unit with Type=notify: krait is ready, alive, ends. Without systemd all of it is nothing.
 */
#ifndef KRAIT_AGENT_NOTIFY_H
#define KRAIT_AGENT_NOTIFY_H

#include "agent/sink.h"

struct notify;

/* libsystemd, where it is there and somebody listens. NULL: out of memory. */
struct notify *notify__new(void);
void notify__free(struct notify *n);
/* A line of sd_notify(3), "READY=1". */
void notify__say(struct notify *n, const char *text);
/* Says that krait is ready with the first window's beginning, and from then on, in time, that it is alive. */
struct agent_sink notify__sink(struct notify *n);

#endif /* KRAIT_AGENT_NOTIFY_H */
