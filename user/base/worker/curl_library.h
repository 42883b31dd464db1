/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * curl_library.h - libcurl, loaded at run time by the workers that talk to servers, and the files
 * it reads.
 */
#ifndef KRAIT_BASE_WORKER_CURL_LIBRARY_H
#define KRAIT_BASE_WORKER_CURL_LIBRARY_H

#include <curl/curl.h>

/* The functions that we use. */
struct curl_library {
	char *(*version)(void);
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
	CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
	CURLcode (*easy_perform)(CURL *handle);
	void (*easy_cleanup)(CURL *handle);
	const char *(*easy_strerror)(CURLcode code);
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_add_handle)(CURLM *multi, CURL *handle);
	CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *handle);
	CURLMcode (*multi_perform)(CURLM *multi, int *running);
	CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *extra, unsigned cnt,
				int timeout_ms, int *ret);
	CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
	CURLMcode (*multi_cleanup)(CURLM *multi);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
};

/*
 * Loads OpenSSL's libcurl, or else GnuTLS's; never unloads it. Returns 0, or -ENOSYS if there is
 * none or it is too old.
 */
int curl_library_load(struct curl_library *c) __attribute__((warn_unused_result, nonnull));

/* The certificates that this machine trusts, for a new handle: only a static krait has to look for them. */
void curl_library_trust(const struct curl_library *c, CURL *handle) __attribute__((nonnull));

/*
 * Paths for sandbox_enter_network(): name resolution, trusted certificates, and the libraries that
 * both need.
 */
extern const char *const curl_library_reads[];
extern const unsigned curl_library_reads_cnt;

#endif /* KRAIT_BASE_WORKER_CURL_LIBRARY_H */
