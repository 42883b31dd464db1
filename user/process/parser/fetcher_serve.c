/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/parser/fetcher_serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/worker/channel.h"
#include "base/worker/curl_library.h"
#include "base/worker/sandbox.h"

/* The largest known debug information has 4 GiB, that of an interpreter 30 MiB. */
#define FILE_MAX (512ULL << 20)
/* The default of debuginfod's own client. */
#define SLOW_SECONDS 60L

static const struct sandbox_limits limits = {
	.memory = 1ULL << 30,
	.cpu_seconds = 60,
	.fds = 64,
	.file = FILE_MAX,
};

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

/* Asks one server. Returns 0, or -ENOENT with the file emptied again. */
static int fetch(const struct curl_library *c, const char *server, const char *id, int fd)
{
	cleanup_free char *url = NULL;
	size_t len = strlen(server);
	CURL *h = c->easy_init();
	CURLcode code;

	if (!h || asprintf(&url, "%s%sbuildid/%s/debuginfo", server,
			   len && server[len - 1] == '/' ? "" : "/", id) < 0)
		return -ENOENT;
	curl_library_trust(c, h);
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
	struct curl_library c;
	int result = -ENOENT;

	for (__u32 i = 0; i < r->build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", r->build_id[i]);
	if (!servers || curl_library_load(&c))
		return -ENOSYS;
	if (sandbox_enter_network(&limits, curl_library_reads, curl_library_reads_cnt))
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
	int fd;

	if (channel_take(channel_fd, &request, sizeof(request), &fd, -1) || fd < 0 ||
	    request.build_id_len > sizeof(request.build_id))
		return 1;
	answer.result = ask_servers(&request, fd);
	return channel_send(channel_fd, &answer, sizeof(answer), NULL, 0) ? 1 : 0;
}
