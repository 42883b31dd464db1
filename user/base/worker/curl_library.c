/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker/curl_library.h"

#include <stddef.h>
#include <unistd.h>

#include "base/system/library.h"

#define AT(function, member) LIBRARY_FUNCTION(function, struct curl_library, member)

/* Where Debian and Alpine, Fedora, SUSE, and others keep them, in one file; some as links. */
#define CERTIFICATES                                                                               \
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",                  \
		"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/pki/tls/cacert.pem",          \
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",                               \
		"/usr/local/share/certs/ca-root-nss.crt"

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
	CERTIFICATES,
};

const unsigned curl_library_reads_cnt = sizeof(curl_library_reads) / sizeof(curl_library_reads[0]);

int curl_library_load(struct curl_library *c)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4", NULL };
	static const struct library_function functions[] = {
		AT(curl_version, version),
		AT(curl_easy_init, easy_init),
		AT(curl_easy_setopt, easy_setopt),
		AT(curl_easy_getinfo, easy_getinfo),
		AT(curl_easy_perform, easy_perform),
		AT(curl_easy_cleanup, easy_cleanup),
		AT(curl_easy_strerror, easy_strerror),
		AT(curl_multi_init, multi_init),
		AT(curl_multi_add_handle, multi_add_handle),
		AT(curl_multi_remove_handle, multi_remove_handle),
		AT(curl_multi_perform, multi_perform),
		AT(curl_multi_poll, multi_poll),
		AT(curl_multi_info_read, multi_info_read),
		AT(curl_multi_cleanup, multi_cleanup),
		AT(curl_slist_append, slist_append),
		AT(curl_slist_free_all, slist_free_all),
	};

	return library_load(c, names, functions, sizeof(functions) / sizeof(functions[0]));
}

void curl_library_trust(const struct curl_library *c, CURL *handle)
{
#ifdef KRAIT_STATIC
	static const char *const files[] = { CERTIFICATES };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (!access(files[i], R_OK)) {
			c->easy_setopt(handle, CURLOPT_CAINFO, files[i]);
			return;
		}
	}
	c->easy_setopt(handle, CURLOPT_CAPATH, "/etc/ssl/certs");
#endif
}
