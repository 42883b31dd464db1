/* SPDX-License-Identifier: BSD-2-Clause */
#include "worker/curl_library.h"

#include <stddef.h>

#include "util/library.h"

const char *const curl_library_reads[] = {
	"/etc/resolv.conf",
	"/etc/hosts",
	"/etc/nsswitch.conf",
	"/etc/host.conf",
	"/etc/gai.conf",
	"/etc/services",
	"/etc/ssl",
	"/etc/pki",
	"/etc/ca-certificates",
	"/etc/ld.so.cache",
	"/lib",
	"/lib64",
	"/usr/lib",
	"/usr/lib64",
	"/usr/share/ca-certificates",
	"/run/systemd/resolve",
	"/usr/share/ssl",
};

const unsigned curl_library_reads_cnt = sizeof(curl_library_reads) / sizeof(curl_library_reads[0]);

int curl_library_load(struct curl_library *c)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4", NULL };
	static const struct library_function functions[] = {
		{ "curl_easy_init", offsetof(struct curl_library, easy_init) },
		{ "curl_easy_setopt", offsetof(struct curl_library, easy_setopt) },
		{ "curl_easy_getinfo", offsetof(struct curl_library, easy_getinfo) },
		{ "curl_easy_perform", offsetof(struct curl_library, easy_perform) },
		{ "curl_easy_cleanup", offsetof(struct curl_library, easy_cleanup) },
		{ "curl_easy_strerror", offsetof(struct curl_library, easy_strerror) },
		{ "curl_multi_init", offsetof(struct curl_library, multi_init) },
		{ "curl_multi_add_handle", offsetof(struct curl_library, multi_add_handle) },
		{ "curl_multi_remove_handle", offsetof(struct curl_library, multi_remove_handle) },
		{ "curl_multi_perform", offsetof(struct curl_library, multi_perform) },
		{ "curl_multi_poll", offsetof(struct curl_library, multi_poll) },
		{ "curl_multi_info_read", offsetof(struct curl_library, multi_info_read) },
		{ "curl_multi_cleanup", offsetof(struct curl_library, multi_cleanup) },
		{ "curl_slist_append", offsetof(struct curl_library, slist_append) },
		{ "curl_slist_free_all", offsetof(struct curl_library, slist_free_all) },
	};

	return library_load(c, names, functions, sizeof(functions) / sizeof(functions[0]));
}
