/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listen.h - sockets to which others may connect: on loopback, unless an address says otherwise, or
 * in the file system.
 */
#ifndef KRAIT_AGENT_SERVE_LISTEN_H
#define KRAIT_AGENT_SERVE_LISTEN_H

#include <stdbool.h>

struct error;

/*
 * "127.0.0.1:9464", "[::1]:9464", "localhost:9464", "9464", "unix:/run/krait/metrics" (mode 0600;
 * replaces a socket that nobody serves any longer). Port 0: any. Returns a descriptor, or negative
 * with *err filled.
 */
int listen_open(const char *address, bool *ret_in_files, struct error *err)
	__attribute__((warn_unused_result, nonnull));
/* 0: it has none. */
unsigned listen_port(int fd);
/* Closes it and removes its name from the file system. */
void listen_close(int fd);

#endif /* KRAIT_AGENT_SERVE_LISTEN_H */
