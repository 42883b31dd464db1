/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/httpd_library.h"

#include <stddef.h>

#include "util/library.h"

#define AT(member) offsetof(struct httpd_library, member)

int httpd_library_load(struct httpd_library *h)
{
	static const char *const names[] = { "libmicrohttpd.so.12", NULL };
	static const struct library_function functions[] = {
		{ "MHD_start_daemon", AT(start_daemon) },
		{ "MHD_stop_daemon", AT(stop_daemon) },
		{ "MHD_run", AT(run) },
		{ "MHD_get_timeout", AT(get_timeout) },
		{ "MHD_get_daemon_info", AT(get_daemon_info) },
		{ "MHD_get_connection_info", AT(get_connection_info) },
		{ "MHD_create_response_from_buffer", AT(create_response_from_buffer) },
		{ "MHD_add_response_header", AT(add_response_header) },
		{ "MHD_queue_response", AT(queue_response) },
		{ "MHD_destroy_response", AT(destroy_response) },
		{ "MHD_lookup_connection_value", AT(lookup_connection_value) },
		{ "MHD_basic_auth_get_username_password", AT(basic_auth_get_username_password) },
		{ "MHD_free", AT(free) },
		{ "MHD_suspend_connection", AT(suspend_connection) },
		{ "MHD_resume_connection", AT(resume_connection) },
	};

	return library_load(h, names, functions, sizeof(functions) / sizeof(functions[0]));
}
