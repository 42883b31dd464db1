/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * httpd_library.h - libmicrohttpd, loaded at run time, only by the server's worker.
 */
#ifndef KRAIT_AGENT_SERVE_HTTPD_LIBRARY_H
#define KRAIT_AGENT_SERVE_HTTPD_LIBRARY_H

#include <microhttpd.h>

/* The functions used from it. */
struct httpd_library {
	const char *(*version)(void);
	struct MHD_Daemon *(*start_daemon)(unsigned flags, __UINT16_TYPE__ port,
					   MHD_AcceptPolicyCallback accept, void *accept_ctx,
					   MHD_AccessHandlerCallback handler, void *ctx, ...);
	void (*stop_daemon)(struct MHD_Daemon *daemon);
	enum MHD_Result (*run)(struct MHD_Daemon *daemon);
	enum MHD_Result (*get_timeout)(struct MHD_Daemon *daemon, MHD_UNSIGNED_LONG_LONG *ms);
	const union MHD_DaemonInfo *(*get_daemon_info)(struct MHD_Daemon *daemon,
						       enum MHD_DaemonInfoType type, ...);
	const union MHD_ConnectionInfo *(*get_connection_info)(struct MHD_Connection *connection,
							       enum MHD_ConnectionInfoType type,
							       ...);
	struct MHD_Response *(*create_response_from_buffer)(size_t size, void *buffer,
							    enum MHD_ResponseMemoryMode mode);
	enum MHD_Result (*add_response_header)(struct MHD_Response *response, const char *header,
					       const char *content);
	enum MHD_Result (*queue_response)(struct MHD_Connection *connection, unsigned status,
					  struct MHD_Response *response);
	void (*destroy_response)(struct MHD_Response *response);
	const char *(*lookup_connection_value)(struct MHD_Connection *connection,
					       enum MHD_ValueKind kind, const char *key);
	char *(*basic_auth_get_username_password)(struct MHD_Connection *connection,
						  char **password);
	void (*free)(void *memory);
	void (*suspend_connection)(struct MHD_Connection *connection);
	void (*resume_connection)(struct MHD_Connection *connection);
};

/* Returns 0; -ENOSYS: it is not installed. Never unloaded. */
int httpd_library_load(struct httpd_library *h) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_AGENT_SERVE_HTTPD_LIBRARY_H */
