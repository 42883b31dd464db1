/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/fetcher_serve.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "worker/channel.h"
#include "worker/sandbox.h"

/* The largest debug information that is known has 4 GiB, that of an interpreter 30 MiB. */
#define FILE_MAX (512ULL << 20)
/* As debuginfod's own client has it. */
#define SLOW_SECONDS 60L

static const struct sandbox_limits limits = {
	.memory = 1ULL << 30,
	.cpu_seconds = 60,
	.fds = 64,
	.file = FILE_MAX,
};

/* To resolve names, to know whom to trust, and the libraries that both are made of. */
static const char *const readable[] = {
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

/* What is taken from libcurl. */
struct curl {
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
	CURLcode (*easy_perform)(CURL *handle);
	void (*easy_cleanup)(CURL *handle);
};

static bool load_curl(struct curl *c)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	void *library = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	*(void **)&c->easy_init = dlsym(library, "curl_easy_init");
	*(void **)&c->easy_setopt = dlsym(library, "curl_easy_setopt");
	*(void **)&c->easy_perform = dlsym(library, "curl_easy_perform");
	*(void **)&c->easy_cleanup = dlsym(library, "curl_easy_cleanup");
	return c->easy_init && c->easy_setopt && c->easy_perform && c->easy_cleanup;
}

static size_t write_out(char *data, size_t size, size_t cnt, void *ctx)
{
	size_t len = size * cnt, done = 0;

	while (done < len) {
		ssize_t n = write(*(int *)ctx, data + done, len - done);

		if (n <= 0)
			return 0;
		done += (size_t)n;
	}
	return len;
}

/* One server: 0 or -ENOENT, and then the file is empty again. */
static int fetch(const struct curl *c, const char *server, const char *id, int fd)
{
	cleanup_free char *url = NULL;
	size_t len = strlen(server);
	CURL *h = c->easy_init();
	CURLcode code;

	if (!h || asprintf(&url, "%s%sbuildid/%s/debuginfo", server,
			   len && server[len - 1] == '/' ? "" : "/", id) < 0)
		return -ENOENT;
	c->easy_setopt(h, CURLOPT_URL, url);
	c->easy_setopt(h, CURLOPT_WRITEFUNCTION, write_out);
	c->easy_setopt(h, CURLOPT_WRITEDATA, &fd);
	c->easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	c->easy_setopt(h, CURLOPT_FOLLOWLOCATION, 1L);
	c->easy_setopt(h, CURLOPT_FAILONERROR, 1L);
	c->easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	c->easy_setopt(h, CURLOPT_LOW_SPEED_TIME, SLOW_SECONDS);
	c->easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
	c->easy_setopt(h, CURLOPT_USERAGENT, "krait/" KRAIT_VERSION);
	code = c->easy_perform(h);
	c->easy_cleanup(h);
	if (code == CURLE_OK)
		return 0;
	return ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) ? -EIO : -ENOENT;
}

static int ask_servers(const struct fetcher_request *r, int fd)
{
	const char *urls = secure_getenv("DEBUGINFOD_URLS");
	cleanup_free char *servers = strdup(urls ? urls : "");
	char id[2 * ELF_BUILD_ID_MAX + 1] = "", *next = NULL;
	struct curl c;
	int result = -ENOENT;

	for (__u32 i = 0; i < r->build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", r->build_id[i]);
	if (!servers || !load_curl(&c))
		return -ENOSYS;
	if (sandbox_enter_network(&limits, readable, sizeof(readable) / sizeof(readable[0])))
		return -EPERM;
	for (char *s = strtok_r(servers, " ", &next); s && result == -ENOENT;
	     s = strtok_r(NULL, " ", &next)) {
		/* "ima:enforcing" and the like are not for us. */
		if (!strncmp(s, "http://", 7) || !strncmp(s, "https://", 8))
			result = fetch(&c, s, id, fd);
	}
	return result;
}

int fetcher_serve(int channel_fd)
{
	struct fetcher_request request;
	struct fetcher_answer answer;
	unsigned fd_cnt = 1;
	int fd = -1;
	ssize_t n = channel_recv(channel_fd, &request, sizeof(request), &fd, &fd_cnt, -1);

	if (n != sizeof(request) || fd_cnt != 1 || request.build_id_len > sizeof(request.build_id))
		return 1;
	answer.result = ask_servers(&request, fd);
	return channel_send(channel_fd, &answer, sizeof(answer), NULL, 0) ? 1 : 0;
}
