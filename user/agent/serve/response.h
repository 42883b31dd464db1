/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * response.h - the server's answers, with the headers common to all.
 *
 * Must hold: a body from another process is never longer than SERVER_BODY_MAX.
 */
#ifndef KRAIT_AGENT_SERVE_RESPONSE_H
#define KRAIT_AGENT_SERVE_RESPONSE_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

struct httpd_library;

/* With a body of the server's own: plain text. */
enum MHD_Result response_send(const struct httpd_library *h, struct MHD_Connection *c,
			      unsigned status, const char *text) __attribute__((nonnull));
/* For a method other than POST, or if !post, other than GET and HEAD. */
enum MHD_Result response_refuse_method(const struct httpd_library *h, struct MHD_Connection *c,
				       bool post) __attribute__((nonnull));
/* The first len bytes of a file. NULL: it is shorter, or out of memory. */
struct MHD_Response *response_of_file(const struct httpd_library *h, int fd, size_t len,
				      const char *type) __attribute__((nonnull));

#endif /* KRAIT_AGENT_SERVE_RESPONSE_H */
