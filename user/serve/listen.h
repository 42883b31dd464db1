/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listen.h - sockets that others may connect to: on loopback, unless an address says otherwise, or in the file system.
 */
#ifndef KRAIT_SERVE_LISTEN_H
#define KRAIT_SERVE_LISTEN_H

#include <stdbool.h>

struct error;

/*
 * "127.0.0.1:9464", "[::1]:9464", "localhost:9464", "9464", "unix:/run/krait/metrics" (mode 0600; a socket of that name
 * that nobody serves any longer is replaced). Port 0: any. A descriptor, or negative with *err filled.
 */
int listen_open(const char *address, bool *ret_in_files, struct error *err)
	__attribute__((warn_unused_result, nonnull));
/* 0: it has none. */
unsigned listen_port(int fd);
/* Closes it; its name in the file system goes, too. */
void listen_close(int fd);

#endif /* KRAIT_SERVE_LISTEN_H */
