/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notify.h - tells systemd, in a unit with Type=notify, that krait is ready, alive, or ending.
 * Without systemd it does nothing.
 */
#ifndef KRAIT_AGENT_NOTIFY_H
#define KRAIT_AGENT_NOTIFY_H

#include "agent/sink.h"

struct notify;

/* Warns if somebody wants to listen and cannot be reached. NULL: out of memory. */
struct notify *notify__new(void);
void notify__free(struct notify *n);
/* A line for sd_notify(3), "READY=1". */
void notify__say(struct notify *n, const char *text);
/* Reports readiness when the first window begins, and from then on regularly that krait is alive. */
struct agent_sink notify__sink(struct notify *n);

#endif /* KRAIT_AGENT_NOTIFY_H */
