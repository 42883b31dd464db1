/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host.h - this machine, described by OpenTelemetry attributes.
 */
#ifndef KRAIT_AGENT_HOST_H
#define KRAIT_AGENT_HOST_H

#include <sys/utsname.h>

struct host {
	struct utsname uts;
	char id[33]; /* from /etc/machine-id; "": none */
};

void host_read(struct host *ret) __attribute__((nonnull));

#endif /* KRAIT_AGENT_HOST_H */
