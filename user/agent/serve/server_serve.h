/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server_serve.h - the role "server" (base/worker/role.h): speaks HTTP to its clients.
 */
#ifndef KRAIT_AGENT_SERVE_SERVER_SERVE_H
#define KRAIT_AGENT_SERVE_SERVER_SERVE_H

/* Runs until the channel closes. Returns the exit code. */
int server_serve(int channel_fd);

#endif /* KRAIT_AGENT_SERVE_SERVER_SERVE_H */
