/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exporter_serve.h - the role "exporter" (base/worker/role.h): keeps the spool and sends its content.
 */
#ifndef KRAIT_AGENT_EXPORT_EXPORTER_SERVE_H
#define KRAIT_AGENT_EXPORT_EXPORTER_SERVE_H

/* Runs until the channel closes or EXPORT_STOP is done. Returns the exit code. */
int exporter_serve(int channel_fd);

#endif /* KRAIT_AGENT_EXPORT_EXPORTER_SERVE_H */
