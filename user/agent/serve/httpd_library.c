/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/serve/httpd_library.h"

#include <stddef.h>

#include "base/system/library.h"

#define AT(function, member) LIBRARY_FUNCTION(function, struct httpd_library, member)

int httpd_library_load(struct httpd_library *h)
{
	static const char *const names[] = { "libmicrohttpd.so.12", NULL };
	static const struct library_function functions[] = {
		AT(MHD_get_version, version),
		AT(MHD_start_daemon, start_daemon),
		AT(MHD_stop_daemon, stop_daemon),
		AT(MHD_run, run),
		AT(MHD_get_timeout, get_timeout),
		AT(MHD_get_daemon_info, get_daemon_info),
		AT(MHD_get_connection_info, get_connection_info),
		AT(MHD_create_response_from_buffer, create_response_from_buffer),
		AT(MHD_add_response_header, add_response_header),
		AT(MHD_queue_response, queue_response),
		AT(MHD_destroy_response, destroy_response),
		AT(MHD_lookup_connection_value, lookup_connection_value),
		AT(MHD_basic_auth_get_username_password, basic_auth_get_username_password),
		AT(MHD_free, free),
		AT(MHD_suspend_connection, suspend_connection),
		AT(MHD_resume_connection, resume_connection),
	};

	return library_load(h, names, functions, sizeof(functions) / sizeof(functions[0]));
}
